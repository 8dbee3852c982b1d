"""`wordbias mab-build`: the options of `wordbias.mab_build`."""

from __future__ import annotations

import click

from wordbias.commands.shell import option, shell
from wordbias.functions.mab_build import CHOICES, mab_build

command: click.Command = shell(
    mab_build,
    option("set", type=click.Choice(CHOICES)),
    option("output", "-o", "--output", metavar="DIR"),
    option("lists", metavar="FOLDER"),
    examples="""
        wordbias mab-build -o sets/
        wordbias mab-build --set explicit -o sets/ --lists word_lists/ --as-published
        wordbias mab-build --set dev -o sets/
        wordbias mab-build --groups religion:christian,muslim -o sets/
    """,
)
