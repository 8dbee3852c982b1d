"""`wordbias fetch`: the options of `wordbias.fetch`."""

from __future__ import annotations

import click

from wordbias.commands.shell import Made, argument, format_option, option, shell, show
from wordbias.commands.types import FiniteRange
from wordbias.functions.fetch import fetch
from wordbias.reports import Report


def _show(returned: object, to: str, quiet: bool) -> None:
    """Print the paths of ``--paths``, one per line, or the report."""
    if click.get_current_context().params["paths"]:
        for path in returned if isinstance(returned, list) else [returned]:
            click.echo(str(path))
        return
    report = returned.report if isinstance(returned, Made) else returned
    assert isinstance(report, Report)
    show(report, to, quiet=quiet)


command: click.Command = shell(
    fetch,
    argument("names", many=True, metavar="[NAME]..."),
    option("mirror", metavar="URL"),
    option("source", "--from", metavar="FOLDER"),
    option("timeout", type=FiniteRange(0, min_open=True)),
    plot=False,
    examples="""
        wordbias fetch
        wordbias fetch sembias men glove-wiki-gigaword-100
        wordbias measure glove-wiki-gigaword-100 --sembias sembias
        wordbias fetch snli --from ~/Downloads
        wordbias fetch glove.6B.300d --mirror https://mirror.example.org/data
    """,
    shown=_show,
    extra=[format_option()],
)
