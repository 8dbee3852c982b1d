"""`wordbias fine-tune`: the options of `wordbias.fine_tune`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import FiniteRange
from wordbias.contextual.labelled_pairs import TASKS
from wordbias.functions.fine_tune import fine_tune, tells

command: click.Command = shell(
    fine_tune,
    argument("model", required=True),
    option("head", type=click.Choice(TASKS)),
    option("dev", metavar="FILE"),
    option("output", "-o", "--output", metavar="DIR"),
    option("warmup", type=FiniteRange(0, 1)),
    option("weight_decay", type=FiniteRange(0)),
    tells=tells,
    plot=False,
    examples="""
        wordbias fine-tune bert-base-uncased --head nli --train snli_train.jsonl
          --dev snli_dev.jsonl -o bert-nli
        wordbias fine-tune ./minilm --head nsp --train wiki.txt --dev wiki_dev.txt
          --head-only -o minilm-nsp
        accelerate launch --multi_gpu -m wordbias fine-tune bert-base-uncased --head nli …
    """,
)
