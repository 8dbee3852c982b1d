"""`wordbias nli-train`: the options of `wordbias.nli_train`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT, SEEDS, FiniteRange
from wordbias.functions.nli_train import nli_train
from wordbias.nli.recipes import RECIPES

command: click.Command = shell(
    nli_train,
    argument("embeddings", many=True),
    option("seed", type=SEEDS),
    option("recipe", type=click.Choice(list(RECIPES))),
    option("dropout", type=FiniteRange(0, 1, max_open=True)),
    option("patience", type=COUNT),
    listed="""
Recipes:
  published  100 epochs of Adagrad, rate .025, decay 1e-5, dropout .2 (Dawkins 2021), batches
             of 32
  fast       up to 30 epochs of Adam, rate .001, dropout .2, batches of 128, early stopping
             after 4 without improvement
""",
    plot=False,
    examples="""
        wordbias nli-train --train snli_train.jsonl --dev snli_dev.jsonl --recipe fast -o m.st
        wordbias nli-train glove.txt hard.txt misp.txt --seed 0,1,2 --train train.tsv.gz
          --dev dev.tsv.gz --test test.tsv.gz -o models
    """,
)
