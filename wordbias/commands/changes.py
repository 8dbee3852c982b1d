"""`wordbias changes`: the arguments of `wordbias.changes`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, shell
from wordbias.functions.changes import changes

command: click.Command = shell(
    changes,
    argument("old", required=True),
    argument("new", required=True),
    examples="""
        wordbias changes old.json new.json
        wordbias measure clean.txt --format json > new.json; wordbias changes old.json new.json
    """,
)
