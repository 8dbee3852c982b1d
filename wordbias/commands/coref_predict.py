"""`wordbias coref-predict`: the options of `wordbias.coref_predict`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.coref_predict import coref_predict

command: click.Command = shell(
    coref_predict,
    argument("model", required=True),
    argument("documents", many=True, required=True),
    option("setting", metavar="NAME"),
    plot=False,
    rows=False,
    examples="""
        wordbias coref-predict coref test.conll -o found.conll
        wordbias winobias winobias/ --sentences sentences.jsonl
        wordbias coref-predict coref sentences.jsonl -o found.jsonl
        wordbias project coref -o coref.adapter
        wordbias coref-predict coref sentences.jsonl --adapter coref.adapter -o after.jsonl
    """,
)
