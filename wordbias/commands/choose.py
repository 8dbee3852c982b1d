"""`wordbias choose`: the options of `wordbias.choose`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import FiniteRange
from wordbias.functions.choose import choose
from wordbias.methods.settings import METHODS

command: click.Command = shell(
    choose,
    argument("methods"),
    argument("embedding"),
    option("by", metavar="MEASURE"),
    option("keep", type=FiniteRange(0, 1, min_open=True)),
    methods=METHODS,
    examples="""
        wordbias choose glove.txt --by direct-bias --keep .98 --benchmarks men -o clean.txt
        wordbias choose "misp hard,misp inlp:rounds=4" glove.txt --by weat
    """,
)
