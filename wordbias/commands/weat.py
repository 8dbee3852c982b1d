"""`wordbias weat`: the options of `wordbias.weat`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT
from wordbias.functions.weat import weat


def _unless_none(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> object:
    return value or None


command: click.Command = shell(
    weat,
    argument("embeddings", many=True, metavar="[EMBEDDING]..."),
    option("targets", metavar="X,Y|SET", multiple=True, callback=_unless_none),
    option("attributes", metavar="A,B|SET", multiple=True, callback=_unless_none),
    option("ddof", type=click.IntRange(0, 1)),
    option("draws", type=COUNT),
    examples="""
        wordbias weat
        wordbias weat glove.txt debiased.txt --query weat7
        wordbias weat --targets male,female --attributes math,arts --only weat,rnd,ect
        wordbias weat --targets he,him,his --targets she,her,hers --attributes career,family
        wordbias weat --groups religion --attributes pleasant,unpleasant --two-sided --holm
        wordbias weat vectors.bin --query mine.toml --two-sided --format json
    """,
)
