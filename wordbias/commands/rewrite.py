"""`wordbias rewrite`: the options of `wordbias.rewrite`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.rewrite import rewrite
from wordbias.outcomes.settings import METHODS
from wordbias.settings import listed

command: click.Command = shell(
    rewrite,
    argument("methods", required=True),
    argument("data", required=True),
    option("output", "-o", "--output", required=True),
    methods=METHODS,
    listed=f"""METHODS:
{listed(METHODS)}

Settings follow the name of their method: scrub:mask=*:first-names. wordbias rewrite --help scrub
shows those of scrub. Put a value with a comma between quotation marks that the shell keeps.""",
    plot=False,
    examples="""
        wordbias rewrite "scrub:names-column='first,last'" bios.tsv.gz -o scrubbed.tsv.gz
        wordbias rewrite oversample:labels=profession:sensitive=gender bios.tsv -o over.tsv
        wordbias rewrite anonymise:spans=entities,swap:keep-original docs.jsonl -o both.jsonl
        wordbias rewrite swap texts.txt -o other.txt --groups religion:christian,muslim
        wordbias rewrite scrub,extra-scrub:sensitive=gender:within=profession bios.tsv -o x.tsv
    """,
)
