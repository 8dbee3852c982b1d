"""`wordbias weat`: the options of `wordbias.weat`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT
from wordbias.functions.weat import weat

command: click.Command = shell(
    weat,
    argument("embeddings", many=True, metavar="[EMBEDDING]..."),
    option("ddof", type=click.IntRange(0, 1)),
    option("draws", type=COUNT),
    examples="""
        wordbias weat
        wordbias weat glove.txt debiased.txt --query weat7
        wordbias weat --targets male,female --attributes math,arts --only weat,rnd,ect
        wordbias weat --groups religion --attributes pleasant,unpleasant --two-sided --holm
        wordbias weat vectors.bin --queries mine.toml --two-sided --format json
    """,
)
