"""`wordbias fairness`: the options of `wordbias.fairness`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import NAMES
from wordbias.functions.fairness import fairness
from wordbias.outcomes.metrics import DISTANCES

command: click.Command = shell(
    fairness,
    argument("predictions", required=True),
    option("values", type=NAMES, metavar="F,M"),
    option("unit", metavar="COLUMN"),
    option("distance", type=click.Choice(DISTANCES[:2])),
    option("costs", metavar="FILE"),
    option("draws", type=click.IntRange(0)),
    first=("labels",),
    examples="""
        wordbias fairness predictions.csv --labels y --predicted r --sensitive z
        wordbias fairness predictions.jsonl --values F,M --train train.jsonl --by-class
        wordbias fairness predictions.csv --unit person
        wordbias fairness predictions.tsv --shares labour.csv --as-published
        wordbias fairness predictions.tsv --costs distances.csv --format json
    """,
)
