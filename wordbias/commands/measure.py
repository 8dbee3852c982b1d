"""`wordbias measure`: the options of `wordbias.measure`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT, NAMES, SEEDS, SHARES
from wordbias.functions.measure import measure

command: click.Command = shell(
    measure,
    argument("embeddings", many=True),
    option("only", type=NAMES),
    option("extremes", type=COUNT),
    option("clustered", type=SEEDS, metavar="NUMBERS"),
    option("theta", type=SHARES, metavar="NUMBERS"),
    option("neighbours", type=COUNT),
    python_only=("isolated_zero", "by_projection"),
    examples="""
        wordbias measure
        wordbias measure glove.txt word2vec.bin --sembias SemBias
        wordbias measure debiased.txt --original glove.txt --only clustering,gipe
        wordbias measure glove.txt --words nurse,doctor --extremes 10
        wordbias measure glove.txt debiased.txt --only midb,direct-bias,same --seed-lists 100
        wordbias measure --groups religion:christian,muslim
        wordbias measure --groups ethnicity:white,black --direction means
        wordbias measure glove.txt --only clustering,gipe --direction subspace --clustered 500,1500
    """,
)
