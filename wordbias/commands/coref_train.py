"""`wordbias coref-train`: the options of `wordbias.coref_train`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.coref_train import coref_train

command: click.Command = shell(
    coref_train,
    argument("train", many=True, required=True),
    option("dev", metavar="FILE"),
    option("model", metavar="MODEL"),
    option("output", "-o", "--output", metavar="DIR"),
    option("test", metavar="FILE"),
    plot=False,
    examples="""
        wordbias coref-train train.conll --dev dev.conll --model roberta-base -o coref
        wordbias coref-train ontogum.conll.gz litbank.conll.gz --dev dev.conll --test test.conll
          --model ./minilm --lr 5e-5 --task-lr 1e-3 --epochs 10 -o coref
    """,
)
