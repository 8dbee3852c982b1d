"""`wordbias mab-eval`: the options of `wordbias.mab_eval`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT
from wordbias.functions.mab_eval import CHOICES, mab_eval

command: click.Command = shell(
    mab_eval,
    argument("model"),
    option("embedding", metavar="FILE"),
    option("predictions", metavar="CSV"),
    option("set", type=click.Choice(CHOICES)),
    option("write", metavar="DIR"),
    option("draws", type=COUNT),
    option("output", "-o", "--output", metavar="CSV"),
    python_only=("parity",),
    examples="""
        wordbias mab-eval
        wordbias mab-eval --set all --by-word
        wordbias mab-eval --set names --seed-lists 1000
        wordbias mab-eval debiased.nli.safetensors --embedding debiased.txt
        wordbias mab-eval --groups ethnicity:white,black --set names
        wordbias mab-eval roberta-large-mnli --device cuda --format json
        wordbias mab-eval my-bert-nli --set parity --snli snli_1.0_test.jsonl
        wordbias mab-eval my-bert-nli --set parity --adapter nli.st --setting L11-11101
        wordbias mab-eval --set names --write sets/
        wordbias mab-eval --set names --predictions predictions.csv
    """,
)
