"""`wordbias cache`: the options of `wordbias.cache`."""

from __future__ import annotations

import click

from wordbias.commands.shell import option, shell
from wordbias.commands.types import SIZE
from wordbias.functions.cache import cache

command: click.Command = shell(
    cache,
    option("max_size", type=SIZE, metavar="SIZE"),
    plot=False,
    examples="""
        wordbias cache
        wordbias cache --max-size 5GB
        wordbias cache --clear
    """,
)
