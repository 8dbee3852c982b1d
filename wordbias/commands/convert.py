"""`wordbias convert`: the options of `wordbias.convert`."""

from __future__ import annotations

import click

from wordbias.commands.shell import Made, argument, option, shell
from wordbias.formats import WRITABLE
from wordbias.functions.convert import convert


def _show(returned: object, to: str, quiet: bool) -> None:
    if isinstance(returned, Made):
        click.echo("\n".join(returned.report.heading))


command: click.Command = shell(
    convert,
    argument("source", required=True),
    argument("target", required=True),
    option("to", type=click.Choice((*WRITABLE, "static-model"))),
    plot=False,
    rows=False,
    examples="""
        wordbias convert glove.840B.300d.zip glove.safetensors
        wordbias convert GoogleNews-vectors-negative300.bin.gz news.vec
        wordbias convert --allow-pickle my.kv my.txt
    """,
    shown=_show,
)
