"""`wordbias env`: the options of `wordbias.env`."""

from __future__ import annotations

import click

from wordbias.commands.shell import shell
from wordbias.functions.env import env

command: click.Command = shell(
    env,
    examples="""
        wordbias env
        wordbias env --devices
        wordbias env --format json
    """,
)
