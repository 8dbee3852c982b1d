"""`wordbias sweep`: the options of `wordbias.sweep`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import NAMES, SEEDS, SHARES, FiniteRange
from wordbias.contextual.fitting import TOKENS
from wordbias.functions.sweep import sweep
from wordbias.methods.settings import ROW_METHODS, ROW_SETTINGS

command: click.Command = shell(
    sweep,
    argument("model", required=True),
    option("task", metavar="FILE"),
    option("test", metavar="FILE"),
    option("labels", metavar="COLUMN"),
    option("sensitive", metavar="COLUMN"),
    option("values", type=NAMES, metavar="F,M"),
    option("unit", metavar="COLUMN"),
    option("by", metavar="MEASURE"),
    option("methods", metavar="METHODS"),
    option("retrain", metavar="FILE"),
    option("stereoset", metavar="FILE"),
    option("nli", metavar="MODEL2"),
    option("tokens", type=click.Choice(TOKENS)),
    option("limit", type=click.IntRange(2)),
    option("top", type=SHARES),
    option("drop", type=FiniteRange(0, 1)),
    option("best", metavar="FILE"),
    option("model_seeds", type=SEEDS),
    option("output", "-o", "--output", metavar="CSV"),
    methods=ROW_METHODS,
    takes=ROW_SETTINGS,
    python_only=("next_label", "rounding", "parity", "relative", "rule"),
    examples="""
        wordbias sweep my-classifier --task dev.tsv --labels profession --sensitive gender
        wordbias sweep my-classifier --task dev.tsv --test test.tsv --labels profession
          --sensitive gender --methods "leace inlp:rounds=10" --retrain train.tsv
          --save-transform chosen.adapter -o settings.csv
        wordbias sweep bert-nsp --stereoset gsss/dev.csv --nli bert-nli --snli snli_test.jsonl
        wordbias sweep bert-nsp --stereoset gsss/dev.csv --nli bert-nli --snli snli_test.jsonl
          --sent-debias wikitext.txt -o table7.csv --plot table7.pdf
        wordbias sweep bert-nsp --stereoset gsss/test.csv --nli bert-nli --snli snli_test.jsonl
          --best table7.csv --null 20
        wordbias sweep bert-nsp-{seed} --stereoset gsss/dev.csv --nli bert-nli-{seed}
          --snli snli_test.jsonl --model-seeds 0,1,2
    """,
)
