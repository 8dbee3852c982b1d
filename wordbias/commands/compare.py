"""`wordbias compare`: the options of `wordbias.compare`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.correlation import METHODS
from wordbias.functions.compare import compare

command: click.Command = shell(
    compare,
    argument("rows", many=True, required=True, metavar="ROWS..."),
    option("correlation", type=click.Choice(METHODS)),
    option("only", multiple=True),
    examples="""
        wordbias compare glove.json glove-hd.json glove-misp.json
        wordbias compare table.csv --only MIDB,GIPE,E --plot compare.pdf
        wordbias compare table.csv --x MIDB --y E --plot compare.png
        wordbias compare --measure glove.txt misp.txt hard.txt --original glove.txt --jobs 2
    """,
)
