"""`wordbias likelihood`: the options of `wordbias.likelihood`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.likelihood import likelihood

command: click.Command = shell(
    likelihood,
    argument("model", required=True),
    option("data", metavar="PATH", multiple=True),
    option("perplexity", metavar="TEXT"),
    option("output", "-o", "--output", metavar="CSV"),
    python_only=("rounding", "absolute", "next_label"),
    examples="""
        wordbias likelihood bert-base-uncased --data gsss/dev.csv
        wordbias likelihood bert-nsp --data gsss/dev.csv --adapter a.st --setting L11-11101
        wordbias likelihood roberta-base --data stereoset/dev.json -o scores.csv
        wordbias likelihood gpt2 --data crows_pairs_anonymized.csv
        wordbias likelihood gpt2 --data stereoset/dev.json --as-published
        wordbias likelihood gpt2 --data winobias/ --data winogender/ -o scores.csv
        wordbias likelihood gpt2 --data BBQ/data/Gender_identity.jsonl
        wordbias likelihood gpt2 --pairs pairs.tsv --perplexity text.txt
        wordbias likelihood gpt2 --data crows_pairs_anonymized.csv --adapter a.st --perplexity a.txt
    """,
)
