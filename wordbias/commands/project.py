"""`wordbias project`: the options of `wordbias.project`."""

from __future__ import annotations

import click

from wordbias.commands.encoders import FITTING
from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT
from wordbias.contextual.loading import HEADS
from wordbias.functions.project import project

command: click.Command = shell(
    project,
    argument("model", required=True),
    option("output", "-o", "--output", metavar="ADAPTER"),
    *FITTING,
    option("sites", metavar="SITES"),
    option("head", type=click.Choice(list(HEADS))),
    option("setting", metavar="NAME"),
    option("export", metavar="DIR"),
    option("batch", type=COUNT),
    examples="""
        wordbias project bert-nli -o nli.adapter
        wordbias project bert-nli -o nli.adapter --pairs mine.toml --tokens word
        wordbias project bert-nli --setting L12-110 --export bert-nli-debiased
        wordbias project bert-nsp -o nsp.adapter --sent-debias wikitext.txt
    """,
)
