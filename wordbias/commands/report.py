"""`wordbias report`: the options of `wordbias.report`; and how pages are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from wordbias.commands.gate import JUNIT
from wordbias.commands.shell import argument, note, option, shell, show
from wordbias.functions.report import FORMATS, Page, report
from wordbias.rendering import paragraph, terminal_width
from wordbias.reports import Report

_OUTPUT = "wordbias-report.html"


def page_format(formats: Sequence[str], help: str) -> click.Option:
    """Return --format of a command that writes a page."""
    return click.Option(["to", "--format"], type=click.Choice([*formats, JUNIT]), help=help)


def unless_printed(name: str) -> Callable[[], str | None]:
    """Return a function that gives the default name of a page; other formats go to stdout."""

    def default() -> str | None:
        to = click.get_current_context().params.get("to")
        return name if to in (None, "html") else None

    return default


def show_page(page: object, to: str, quiet: bool) -> None:
    """Print a summary of a page that was written, or the page itself; of a sweep its tables."""
    assert isinstance(page, Report)
    if not isinstance(page, Page):
        show(page, "md" if to == "md" else "table", quiet=quiet)
        return
    target = click.get_current_context().params["output"]
    if target is None:
        text = page.render(to)
        click.echo(text.encode("utf-8", "backslashreplace").decode(), nl=False)
    else:
        click.echo("\n".join([*paragraph(page.heading, terminal_width()), f"Written: {target}"]))


def show_page_and_notes(page: object, to: str, quiet: bool) -> None:
    """Print the same, and the notes of the measurement."""
    show_page(page, to, quiet)
    for text in page.notes if isinstance(page, Page) else ():
        note(text, quiet)


command: click.Command = shell(
    report,
    argument("rows", many=True, required=True, metavar="ROWS..."),
    option(
        "output",
        "-o",
        "--output",
        default=unless_printed(_OUTPUT),
        help=f"File to write.  [default: {_OUTPUT}; md: stdout]",
    ),
    examples="""
        wordbias audit --format json -o audit.json; wordbias report audit.json -o audit.html
        wordbias measure glove.txt hd.txt --format json > m.json; wordbias report m.json
        wordbias report audit.html weat.json fairness.json -o all.html
        wordbias report table7.csv
    """,
    shown=show_page,
    extra=[
        page_format(
            FORMATS,
            "Format: a page, the same without pictures, or junit, the conditions of --fail-if.  "
            "[default: by -o's suffix; html]",
        )
    ],
)
