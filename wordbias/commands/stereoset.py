"""`wordbias stereoset`: the options of `wordbias.stereoset`."""

from __future__ import annotations

import click

from wordbias.commands.encoders import ADAPTER, EXTREMES
from wordbias.commands.shell import argument, option, shell
from wordbias.functions.stereoset import stereoset

command: click.Command = shell(
    stereoset,
    argument("model", required=True),
    *ADAPTER,
    *EXTREMES,
    option("next_label", metavar="NAME"),
    option("output", "-o", "--output", metavar="CSV"),
    examples="""
        wordbias stereoset bert-base-uncased --data gsss/dev.csv
        wordbias stereoset bert-base-uncased --data dev.csv --adapter a.st --setting L11-11101
        wordbias stereoset roberta-base --data stereoset/dev.json -o scores.csv
        wordbias stereoset roberta-base --data crows_pairs_anonymized.csv --format json
    """,
)
