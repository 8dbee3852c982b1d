"""`wordbias debias`: the options of `wordbias.debias`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import NAMES
from wordbias.functions.debias import debias
from wordbias.methods.settings import METHODS
from wordbias.settings import listed

command: click.Command = shell(
    debias,
    argument("methods"),
    argument("embedding"),
    option("only", type=NAMES),
    methods=METHODS,
    listed=f"""METHODS:
{listed(METHODS)}

Settings follow the name of their method: inlp:rounds=10:classifier=logistic, hard:equalise=no.
wordbias debias --help inlp shows those of inlp. Put a value with , : @ or a space between
quotation marks: ran:words='my words.txt'.""",
    examples="""
        wordbias debias hard --measure --only midb,direct-bias
        wordbias debias hard,misp:dims=2 glove.txt -o debiased.txt
        wordbias debias hard:equalise=no,misp glove.txt --null 99
        wordbias debias inlp:classes=2 glove.txt --save-transform inlp.safetensors
        wordbias debias gn-glove:drop-last gn_glove.txt -o wa.txt
    """,
)
