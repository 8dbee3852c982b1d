"""`wordbias train-vectors`: the options of `wordbias.train_vectors`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT, FiniteRange
from wordbias.functions.train_vectors import train_vectors

_POSITIVE = FiniteRange(0, min_open=True)

command: click.Command = shell(
    train_vectors,
    argument("corpus", many=True, required=True),
    option("objective", type=click.Choice(("glove", "gn-glove"))),
    option("vector_size", type=COUNT),
    option("window", type=COUNT),
    option("min_count", type=COUNT),
    option("max_vocab", type=COUNT),
    option("x_max", type=_POSITIVE),
    option("exponent", type=FiniteRange(0, 1)),
    option("separation", type=click.Choice(("l1", "l2"))),
    option("lambda_d", type=FiniteRange(0)),
    option("lambda_e", type=FiniteRange(0)),
    option("counts", metavar="FOLDER"),
    option("memory", metavar="SIZE"),
    plot=False,
    examples="""
        wordbias train-vectors wikipedia.txt.gz -o glove.txt --counts counts
        wordbias train-vectors wikipedia.txt.gz -o gn_glove.txt --counts counts
          --objective gn-glove
        wordbias debias gn-glove:drop-last gn_glove.txt -o wa.txt
    """,
)
