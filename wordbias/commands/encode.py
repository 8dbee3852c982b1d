"""`wordbias encode`: the options of `wordbias.encode`."""

from __future__ import annotations

import click

from wordbias.commands.encoders import COMPUTING
from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT, LAYERS, NAMES, TEMPLATE, split_where
from wordbias.functions.encode import encode
from wordbias.models.encoding import POOLINGS, SPECIALS, SUBWORDS

command: click.Command = shell(
    encode,
    argument("model", required=True),
    argument("texts", required=True, metavar="DATA"),
    option("output", "-o", "--output", required=True),
    option("layers", type=LAYERS),
    option("pooling", type=click.Choice(POOLINGS)),
    option("template", type=TEMPLATE, metavar="TEXT|chat"),
    option("subword", type=click.Choice(SUBWORDS)),
    option("special_tokens", type=click.Choice(SPECIALS)),
    option("word_column", metavar="COLUMN"),
    option("span_columns", type=NAMES, metavar="START,END"),
    option("text_column", metavar="COLUMN"),
    option("columns", type=NAMES, metavar="COLUMNS"),
    option("where", multiple=True, callback=split_where, metavar="COLUMN=VALUE"),
    option("limit", type=COUNT),
    option("prompt", metavar="NAME|TEXT"),
    option("adapter", metavar="FILE"),
    option("setting", metavar="NAME"),
    option("batch_tokens", type=COUNT),
    *COMPUTING,
    plot=False,
    examples="""
        wordbias encode roberta-base bios.tsv.gz -o bios.safetensors
        wordbias encode ./minilm bios.tsv.gz --where split=test --pooling mean -o test.safetensors
        wordbias encode ./minilm winobias.tsv --word-column occupation -o words.safetensors
        wordbias encode roberta-base bios.tsv.gz --random-init 0 -o untrained.safetensors
        wordbias encode gpt2 bios.tsv.gz --template "{} This person is a" -o asked.safetensors
        wordbias encode ./minilm bios.tsv.gz --adapter a.st --setting tokens@3 -o after.safetensors
    """,
)
