"""`wordbias debias`: the options of `wordbias.debias`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT, NAMES, FiniteRange
from wordbias.functions.debias import debias
from wordbias.methods.methods import METHODS

_METHODS = "\n".join(
    f"  {name:18} {method.summary} ({method.paper})" for name, method in METHODS.items()
)

command: click.Command = shell(
    debias,
    argument("methods"),
    argument("embedding"),
    option("only", type=NAMES),
    option("null", type=COUNT),
    option("choose", metavar="METRIC"),
    option("keep", type=FiniteRange(0, 1, min_open=True)),
    option("center", is_flag=True),
    option("means", is_flag=True),
    option("candidates", type=COUNT),
    option("classes", type=click.IntRange(2)),
    option("per_class", type=COUNT),
    option("iterations", type=COUNT),
    option("classifier", type=click.Choice(["svm", "logistic"])),
    option("pretrain_epochs", type=COUNT),
    option("epochs", type=COUNT),
    option("drop_last", is_flag=True),
    option("as_published", is_flag=True),
    listed=f"""METHODS:
{_METHODS}

A setting may follow the name of its method: misp:dims=2,inlp:rounds=10:classifier=logistic.

hard and multi-hard do not neutralise specific words, nor the words of pairs or sets, even if those
are not listed as specific; hard --as-published exempts only the listed words, as spelled.""",
    examples="""
        wordbias debias hard --measure --only midb,direct-bias
        wordbias debias hard,misp glove.txt -o debiased.txt
        wordbias debias hard,misp glove.txt --no-equalise --null 99
        wordbias debias inlp glove.txt --classes 2 --save-transform inlp.safetensors
        wordbias debias gn-glove gn_glove.txt --drop-last -o wa.txt
        wordbias debias glove.txt --choose direct-bias --keep .98 --sets men -o clean.txt
        wordbias debias "misp hard,misp inlp:rounds=4" glove.txt --choose weat
    """,
)
