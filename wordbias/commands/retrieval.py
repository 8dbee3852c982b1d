"""`wordbias retrieval`: the options of `wordbias.retrieval`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT
from wordbias.functions.retrieval import retrieval
from wordbias.functions.retrieval_inputs import SIDES
from wordbias.methods.settings import ROW_METHODS, ROW_SETTINGS

command: click.Command = shell(
    retrieval,
    argument("queries", required=True),
    argument("documents", required=True),
    option("changed", type=click.Choice(SIDES)),
    option("counterfactual", metavar="COLUMN|FILE"),
    option("meaningless", metavar="COLUMN|FILE"),
    option("sensitive", metavar="COLUMN"),
    option("relevance", metavar="COLUMN|FILE"),
    option("top", type=COUNT),
    option("methods", metavar="METHOD"),
    option("setting", metavar="NAME"),
    option("draws", type=click.IntRange(2)),
    option("output", "-o", "--output", metavar="PAGE"),
    methods=ROW_METHODS,
    takes=ROW_SETTINGS,
    notes=False,
    examples="""
        wordbias retrieval cvs.txt jobs.txt --model ./minilm
        wordbias retrieval jobs.txt cvs.tsv --model ./minilm --changed documents -o page.html
        wordbias retrieval cvs.tsv jobs.tsv --model ./minilm --methods leace --relevance field
        wordbias retrieval cvs.txt jobs.txt --model ./minilm --adapter adapter.safetensors
        wordbias retrieval q.npy d.npy --counterfactual q2.npy --meaningless q3.npy --format json
    """,
)
