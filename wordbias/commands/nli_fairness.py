"""`wordbias nli-fairness`: the options of `wordbias.nli_fairness`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import NAMES, FiniteRange
from wordbias.contextual.nli_fairness import PARITIES
from wordbias.functions.nli_fairness import nli_fairness

command: click.Command = shell(
    nli_fairness,
    argument("model"),
    option("snli", metavar="FILE"),
    option("embedding", metavar="FILE"),
    option("labels", type=NAMES),
    option("adapter", metavar="FILE"),
    option("setting", metavar="NAME", multiple=True),
    option("parity", type=click.Choice(PARITIES)),
    option("base_snli", type=FiniteRange(0, 1)),
    option("drop", type=FiniteRange(0, 1)),
    option("lists", metavar="FOLDER"),
    option("output", "-o", "--output", metavar="CSV"),
    examples="""
        wordbias nli-fairness
        wordbias nli-fairness debiased.nli.safetensors --embedding debiased.txt
        wordbias nli-fairness --groups religion:christian,muslim
        wordbias nli-fairness my-bert-nli --snli snli_1.0_test.jsonl
        wordbias nli-fairness my-bert-nli --snli test.tsv --adapter nli.st --setting L11-11101
    """,
)
