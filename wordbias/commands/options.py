"""Options of every command, and printing of reports."""

from __future__ import annotations

import sys

import click

from wordbias.commands.types import SIZE
from wordbias.devices import set_threads
from wordbias.errors import printable, shortened
from wordbias.progress import set_quiet
from wordbias.rendering import paragraph, terminal_width
from wordbias.results import FORMATS, Report
from wordbias.text_files import set_longest_line


def _threads(ctx: click.Context, param: click.Parameter, value: int | None) -> None:
    set_threads(value)


def _longest_line(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    set_longest_line(None if value is None else SIZE.convert(value, param, ctx))


def _quiet(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    set_quiet(value)
    return value


def process_options() -> list[click.Parameter]:
    """Return the options that every command has after its own."""
    return [
        click.Option(
            ["--threads"],
            type=click.IntRange(1),
            callback=_threads,
            expose_value=False,
            help="Number of threads.  [default: what the machine allows]",
        ),
        click.Option(
            ["--longest-line"],
            metavar="SIZE",
            callback=_longest_line,
            expose_value=False,
            help="Longest line of a table, a text or JSON lines.  [default: 64MB]",
        ),
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            callback=_quiet,
            help="Show no progress and no notes on stderr.",
        ),
        click.Option(["--debug"], is_flag=True, expose_value=False, help="Show tracebacks."),
    ]


def format_option() -> click.Option:
    """Return --format."""
    return click.Option(
        ["to", "--format"],
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="Output format.",
    )


def show(report: Report, to: str, *, quiet: bool = True) -> None:
    """Print a report on stdout, and unless `quiet` its notes on stderr."""
    text = report.render(to)
    click.echo(text.encode("utf-8", "backslashreplace").decode(), nl=False)
    for text in report.notes:
        note(text, quiet)


def note(text: str, quiet: bool) -> None:
    """Print one line on stderr, wrapped on a terminal."""
    if not quiet:
        lines = [f"note: {shortened(printable(text))}"]
        lines = paragraph(lines, terminal_width()) if sys.stderr.isatty() else lines
        click.echo("\n".join(lines), err=True)
