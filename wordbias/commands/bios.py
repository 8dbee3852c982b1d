"""`wordbias bios`: the options of `wordbias.bios`."""

from __future__ import annotations

import click

from wordbias.commands.shell import option, shell
from wordbias.commands.types import COUNT, NAMES, SEEDS, FiniteRange
from wordbias.functions.bios import POOLINGS, bios

command: click.Command = shell(
    bios,
    option("data", metavar="FILE"),
    option("model", metavar="ENCODER"),
    option("strategies", type=NAMES),
    option("seed", type=SEEDS),
    option("output", "-o", "--output", metavar="FOLDER", required=True),
    option("retrain_epochs", type=COUNT),
    option("retrain_lr", type=FiniteRange(0, min_open=True)),
    option("max_length", type=click.IntRange(3)),
    option("pooling", type=click.Choice(POOLINGS)),
    option("draws", type=click.IntRange(2)),
    option("labels", metavar="COLUMN"),
    option("sensitive", metavar="COLUMN"),
    option("female", metavar="VALUE"),
    examples="""
        wordbias bios --model roberta-base --data bios.jsonl -o study --plot study.pdf
        wordbias bios --model ./minilm --data bios.tsv.gz --head-only -o frozen
        wordbias bios --model ./minilm --seed 0,1,2,3,4,5 --epochs 1 --max-length 96
          --precision bfloat16 -o quick
    """,
)
