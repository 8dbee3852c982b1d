"""`wordbias coref-score`: the options of `wordbias.coref_score`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.coref_score import coref_score

command: click.Command = shell(
    coref_score,
    argument("data", required=True),
    option("clusters", metavar="FILE"),
    option("draws", type=click.IntRange(0)),
    option("sentences", metavar="OUT"),
    option("password", metavar="TEXT"),
    examples="""
        wordbias coref-score gold.conll --clusters found.conll
        wordbias coref-score gap-test.tsv --sentences texts.jsonl
        wordbias coref-predict coref texts.jsonl -o found.jsonl
        wordbias coref-score gap-test.tsv --clusters found.jsonl
        wordbias coref-score winogender/ --clusters found.jsonl
        wordbias coref-score winopron.zip --password TEXT --sentences sentences.jsonl
    """,
)
