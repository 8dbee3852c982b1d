"""`wordbias quality`: the options of `wordbias.quality`."""

from __future__ import annotations

from typing import get_args

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.quality import quality
from wordbias.word_tasks.analogy import Method
from wordbias.word_tasks.similarity import Oov

command: click.Command = shell(
    quality,
    argument("embeddings", many=True, metavar="[EMBEDDING]..."),
    option("oov", type=click.Choice(get_args(Oov))),
    option("analogy", type=click.Choice(get_args(Method))),
    examples="""
        wordbias quality glove.txt --benchmarks test_sets/
        wordbias quality glove.txt debiased.txt --benchmarks test_sets/ --only men,simlex-999
        wordbias quality vectors.bin --benchmarks MSR-syntax.txt --oov mean --standardise --format
        json
    """,
)
