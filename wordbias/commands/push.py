"""`wordbias push`: the options of `wordbias.push`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.functions.push import push

command: click.Command = shell(
    push,
    argument("source", required=True),
    argument("repo", required=True),
    option("revision", metavar="BRANCH"),
    option("report", metavar="FILE"),
    plot=False,
    examples="""
        wordbias push gender.safetensors me/gender-leace
        wordbias push clean.parquet datasets/me/clean --private
        wordbias push debiased-model/ me/debiased-model --report effect.json
    """,
)
