"""`wordbias winobias`: the options of `wordbias.winobias`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.winobias import winobias
from wordbias.stereotypes.clusters import UNITS

command: click.Command = shell(
    winobias,
    argument("folder", required=True),
    option("clusters", metavar="FILE"),
    option("span_unit", type=click.Choice(UNITS)),
    option("draws", type=click.IntRange(0)),
    option("sentences", metavar="OUT"),
    option("masked", metavar="OUT"),
    examples="""
        wordbias winobias winobias/ --sentences sentences.jsonl
        wordbias winobias winobias/ --clusters found.jsonl
        wordbias winobias winobias/ --clusters found.json --span-unit tokens --inclusive
        wordbias winobias winobias/ --masked masked.tsv
        wordbias encode MODEL masked.tsv --span-columns start,end -o masked.st
        wordbias probe masked.st --labels gender --unit profession
    """,
)
