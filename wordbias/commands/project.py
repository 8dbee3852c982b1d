"""`wordbias project`: the options of `wordbias.project`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.project import project
from wordbias.functions.project_labels import ALL_TOKENS, KNOWN, TAKES
from wordbias.models.targets import HEADS

command: click.Command = shell(
    project,
    argument("model", required=True),
    option("output", "-o", "--output", metavar="ADAPTER"),
    option("labels", metavar="FILE-or-COLUMN"),
    option("methods", metavar="METHOD"),
    option("sites", metavar="SITES"),
    option("tokens", type=click.Choice(ALL_TOKENS)),
    option("head", type=click.Choice(list(HEADS))),
    option("setting", metavar="NAME"),
    methods=KNOWN,
    takes=TAKES,
    examples="""
        wordbias project bert-nli -o nli.adapter
        wordbias project bert-nli -o nli.adapter --pairs mine.toml --tokens word
        wordbias project bert-nli -o nli.adapter --setting L12-110
        wordbias project bert-nsp -o nsp.adapter --sent-debias wikitext.txt --null 10
        wordbias project smollm2 -o smollm2.adapter --texts bios.tsv --labels gender
        wordbias project smollm2 -o smollm2.adapter --methods mhd:dims=2 --sites tokens@-1
    """,
)
