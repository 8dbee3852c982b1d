"""`wordbias seat`: the options of `wordbias.seat`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.seat import seat

command: click.Command = shell(
    seat,
    argument("model", required=True, metavar="MODEL"),
    option("template", multiple=True, metavar="TEXT"),
    examples="""
        wordbias seat all-MiniLM-L6-v2
        wordbias seat gpt2/ --query 6-8,angry-black-woman
        wordbias seat bert-base-cased --query 3 --template "This is {}." --template "{} is here."
        wordbias seat all-MiniLM-L6-v2 --query mine.toml --format json
    """,
)
