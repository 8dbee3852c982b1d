"""`wordbias project`: the options of `wordbias.project`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT, split_where
from wordbias.contextual.fitting import TOKENS
from wordbias.contextual.loading import HEADS
from wordbias.contextual.scrubbing import METHODS
from wordbias.contextual.scrubbing import TOKENS as LABEL_TOKENS
from wordbias.functions.project import project

command: click.Command = shell(
    project,
    argument("model", required=True),
    option("output", "-o", "--output", metavar="ADAPTER"),
    option("pairs", metavar="FILE"),
    option("texts", metavar="FILE"),
    option("labels", metavar="COLUMN|FILE"),
    option("where", multiple=True, callback=split_where, metavar="COLUMN=VALUE"),
    option("method", type=click.Choice(METHODS)),
    option("sequential", "--sequential/--simultaneous", show_default=False),
    option("tokens", type=click.Choice(list(dict.fromkeys((*TOKENS, *LABEL_TOKENS))))),
    option("dims", type=COUNT),
    option("sent_debias", metavar="TEXT"),
    option("limit", type=click.IntRange(2)),
    option("sites", metavar="SITES"),
    option("head", type=click.Choice(list(HEADS))),
    option("setting", metavar="NAME"),
    option("export", metavar="DIR"),
    option("batch", type=COUNT),
    examples="""
        wordbias project bert-nli -o nli.adapter
        wordbias project bert-nli -o nli.adapter --pairs mine.toml --tokens word
        wordbias project SmolLM2-135M -o scrubbed.adapter --texts bios.tsv --labels gender
        wordbias project bert-nli --setting L12-110 --export bert-nli-debiased
        wordbias project bert-nsp -o nsp.adapter --sent-debias wikitext.txt
    """,
)
