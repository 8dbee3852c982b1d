"""`wordbias coref-study`: the options of `wordbias.coref_study`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT, NAMES, SEEDS
from wordbias.functions.coref_study import coref_study

command: click.Command = shell(
    coref_study,
    argument("train", many=True, required=True),
    option("dev", metavar="FILE"),
    option("test", metavar="FILE"),
    option("winobias", metavar="FOLDER"),
    option("model", metavar="ENCODER"),
    option("strategies", type=NAMES),
    option("seed", type=SEEDS),
    option("output", "-o", "--output", metavar="FOLDER", required=True),
    option("retrain_epochs", type=COUNT),
    option("draws", type=click.IntRange(2)),
    examples="""
        wordbias coref-study train.conll --dev dev.conll --test test.conll --winobias winobias/
          --model roberta-base -o study --plot study.pdf
        wordbias coref-study train.conll --dev dev.conll --test test.conll --winobias winobias/
          --model ./minilm --strategies none,swap,leace,null:3 --hidden 150 -o small
    """,
)
