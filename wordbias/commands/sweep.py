"""`wordbias sweep`: the options of `wordbias.sweep`."""

from __future__ import annotations

import click

from wordbias.commands.encoders import FITTING
from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT, NAMES, SEEDS, FiniteRange
from wordbias.functions.sweep import sweep

command: click.Command = shell(
    sweep,
    argument("model", required=True),
    option("stereoset", metavar="FILE"),
    option("nli", metavar="MODEL2"),
    option("snli", metavar="FILE"),
    *FITTING,
    option("label_order", type=NAMES),
    option("top", type=FiniteRange(0, 1, min_open=True)),
    option("drop", type=FiniteRange(0, 1)),
    option("null", type=COUNT, metavar="K"),
    option("seed_lists", type=COUNT, metavar="N"),
    option("best", metavar="CSV"),
    option("model_seeds", type=SEEDS),
    option("lists", metavar="FOLDER"),
    option("output", "-o", "--output", metavar="CSV"),
    python_only=("next_label", "rounding", "parity", "relative"),
    examples="""
        wordbias sweep bert-nsp --stereoset gsss/dev.csv --nli bert-nli --snli snli_test.jsonl
        wordbias sweep bert-nsp --stereoset gsss/dev.csv --nli bert-nli --snli snli_test.jsonl
          --sent-debias wikitext.txt -o table7.csv --plot table7.pdf
        wordbias sweep bert-nsp --stereoset gsss/test.csv --nli bert-nli --snli snli_test.jsonl
          --best table7.csv --null 20
        wordbias sweep bert-nsp-{seed} --stereoset gsss/dev.csv --nli bert-nli-{seed}
          --snli snli_test.jsonl --model-seeds 0,1,2
    """,
)
