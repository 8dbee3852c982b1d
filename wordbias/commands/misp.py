"""`wordbias misp`: the options of `wordbias.misp`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, shell
from wordbias.functions.misp import misp

command: click.Command = shell(
    misp,
    argument("embedding"),
    examples="""
        wordbias misp
        wordbias misp glove.6B.zip::glove.6B.300d.txt -o debiased.txt
        wordbias misp vectors.bin --dims 2 --format json
        wordbias misp glove.txt --as-published
        wordbias misp glove.txt --null 99
        wordbias misp glove.txt --seed-lists 100
        wordbias misp vectors.vec --groups age -o debiased.vec
    """,
)
