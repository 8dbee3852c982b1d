"""`wordbias control`: the options of `wordbias.control`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.control import control

command: click.Command = shell(
    control,
    argument("data", required=True),
    option("output", "-o", "--output", metavar="CSV"),
    plot=False,
    examples="""
        wordbias control stereoset/dev.json --groups religion:christian,muslim -o control.csv
        wordbias control stereoset/dev.json --groups race.toml --where bias_type=race -o race.csv
        wordbias control corrected.csv --groups race.toml
        wordbias likelihood bert-base-uncased --data corrected.csv
    """,
)
