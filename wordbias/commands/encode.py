"""`wordbias encode`: the options of `wordbias.encode`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import NAMES
from wordbias.functions.encode import encode
from wordbias.models.encoding import POOLINGS, SPECIALS, SUBWORDS

command: click.Command = shell(
    encode,
    argument("model", required=True),
    argument("texts", required=True, metavar="DATA"),
    option("output", "-o", "--output", required=True),
    option("pooling", type=click.Choice(POOLINGS)),
    option("subword", type=click.Choice(SUBWORDS)),
    option("special_tokens", type=click.Choice(SPECIALS)),
    option("span_columns", type=NAMES, metavar="START,END"),
    option("columns", type=NAMES, metavar="COLUMNS"),
    option("prompt", metavar="NAME|TEXT"),
    option("setting", metavar="NAME"),
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
