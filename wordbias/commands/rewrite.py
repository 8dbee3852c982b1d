"""`wordbias rewrite`: the options of `wordbias.rewrite`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT, NAMES, FiniteRange, split_values, split_where
from wordbias.functions.rewrite import METHODS, rewrite

command: click.Command = shell(
    rewrite,
    argument("methods", required=True),
    argument("data", required=True),
    option("output", "-o", "--output", required=True),
    option("text_column", metavar="COLUMN"),
    option("where", metavar="COLUMN=VALUE", multiple=True, callback=split_where),
    option("words", metavar="FILE"),
    option("names_column", type=NAMES, metavar="COLUMNS"),
    option("label", metavar="COLUMN"),
    option("group", metavar="COLUMN"),
    option("within", metavar="COLUMN"),
    option("rounds", type=COUNT),
    option("words_per_round", type=COUNT),
    option("splits", type=COUNT),
    option("until", type=FiniteRange(0, 1), metavar="ACCURACY"),
    option("swap_values", metavar="COLUMN=A,B", multiple=True, callback=split_values),
    option("spans", type=NAMES, metavar="COLUMNS"),
    option("spacy", metavar="MODEL"),
    option("entities", type=NAMES, metavar="LABELS"),
    listed="METHODS:\n" + "\n".join(f"  {name:12} {summary}" for name, summary in METHODS.items()),
    examples="""
        wordbias rewrite scrub bios.tsv.gz -o scrubbed.tsv.gz --names-column first,last
        wordbias rewrite oversample bios.tsv -o over.tsv --label profession --group gender
        wordbias rewrite anonymise,swap docs.jsonl -o both.jsonl --spans entities --keep-original
        wordbias rewrite swap texts.txt -o other.txt --groups religion:christian,muslim
        wordbias rewrite scrub,extra-scrub bios.tsv -o x.tsv --group gender --within profession
    """,
)
