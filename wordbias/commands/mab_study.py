"""`wordbias mab-study`: the options of `wordbias.mab_study`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT, NAMES, SEEDS
from wordbias.functions.mab_study import CHOICES, mab_study
from wordbias.nli.recipes import RECIPES

command: click.Command = shell(
    mab_study,
    argument("embeddings", many=True, required=True),
    option("seed", type=SEEDS),
    option("recipe", type=click.Choice(list(RECIPES))),
    option("average_epochs", type=COUNT),
    option("only", type=NAMES),
    option("set", type=click.Choice(CHOICES)),
    option("outcome", metavar="WORDS"),
    examples="""
        wordbias mab-study glove.txt misp.txt hard.txt --train train.jsonl --dev dev.jsonl -o study
        wordbias mab-study glove.txt misp.txt --train train.tsv --dev dev.tsv --set names -o study
        wordbias mab-study glove.txt --permute-weights --train train.tsv --dev dev.tsv -o study
        wordbias mab-study glove.txt misp.txt --null 6 --train train.tsv --dev dev.tsv -o study
        wordbias mab-study "glove{seed}.txt" "gn{seed}.txt" --train train.tsv --dev dev.tsv -o study
        wordbias mab-study glove.txt misp.txt --seed-lists 6 --train train.tsv --dev dev.tsv -o s
    """,
)
