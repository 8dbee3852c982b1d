"""`wordbias predict`: the options of `wordbias.predict`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.predict import predict

command: click.Command = shell(
    predict,
    argument("model", required=True),
    argument("texts", required=True),
    option("setting", metavar="NAME"),
    plot=False,
    rows=False,
    examples="""
        wordbias predict my-classifier test.tsv -o predictions.tsv
        wordbias predict my-classifier test.tsv --adapter chosen.adapter -o after.tsv
        wordbias fairness after.tsv --labels profession --sensitive gender
    """,
)
