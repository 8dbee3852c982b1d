"""`wordbias mab-eval`: the options of `wordbias.mab_eval`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT, NAMES
from wordbias.functions.mab_eval import CHOICES, mab_eval

command: click.Command = shell(
    mab_eval,
    argument("embedding"),
    option("model", metavar="FILE"),
    option("predictions", metavar="CSV"),
    option("hf", metavar="MODEL"),
    option("labels", type=NAMES),
    option("set", type=click.Choice(CHOICES)),
    option("lists", metavar="FOLDER"),
    option("draws", type=COUNT),
    option("seed_lists", type=COUNT),
    examples="""
        wordbias mab-eval
        wordbias mab-eval --set all --words
        wordbias mab-eval --set names --seed-lists 1000
        wordbias mab-eval debiased.txt --model debiased.nli.safetensors
        wordbias mab-eval --groups ethnicity:white,black --set names
        wordbias mab-eval --predictions predictions.csv --set names
        wordbias mab-eval --hf roberta-large-mnli --device cuda --format json
    """,
)
