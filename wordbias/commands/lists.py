"""`wordbias lists`: the options of `wordbias.lists`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, shell
from wordbias.functions.lists import lists

command: click.Command = shell(
    lists,
    argument("measures", many=True, metavar="[MEASURE]..."),
    plot=False,
    examples="""
        wordbias lists
        wordbias lists --lists word_lists/ --format json
        wordbias lists --groups religion
        wordbias lists measures
        wordbias lists gipe weat --format json
    """,
)
