"""`wordbias apply`: the options of `wordbias.apply`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.apply import apply
from wordbias.models.targets import HEADS

command: click.Command = shell(
    apply,
    argument("transform", required=True),
    argument("vectors", required=True),
    option("output", "-o", "--output", required=True),
    option("setting", metavar="NAME"),
    option("head", type=click.Choice(list(HEADS))),
    plot=False,
    examples="""
        wordbias debias hard,misp glove.50k.txt --save-transform fitted.safetensors
        wordbias apply fitted.safetensors glove.txt -o debiased.txt
        wordbias apply eraser.safetensors sentences.parquet -o clean.parquet
        wordbias apply eraser.safetensors shards -o clean-shards --jobs 2
        wordbias apply nli.adapter bert-nli -o bert-nli-debiased --setting L12-110
    """,
)
