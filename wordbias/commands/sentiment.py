"""`wordbias sentiment`: the options of `wordbias.sentiment`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.sentiment import sentiment

command: click.Command = shell(
    sentiment,
    argument("model", required=True),
    option("score", metavar="CLASS"),
    option("output", "-o", "--output", metavar="CSV"),
    option("draws", type=click.IntRange(0)),
    examples="""
        wordbias sentiment my-sentiment-model
        wordbias sentiment stars --score "1 star=1,2 stars=2,3 stars=3,4 stars=4,5 stars=5"
        wordbias sentiment my-sentiment-model --groups religion:christian,muslim -o scores.csv
        wordbias sentiment my-sentiment-model --adapter a.st --setting L12-110
    """,
)
