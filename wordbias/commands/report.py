"""`wordbias report`: the page of saved rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from wordbias.commands.options import common_options
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import check_writable, refuse_same, replacing
from wordbias.pages.cleaning import rows_of
from wordbias.pages.document import Document, read_documents
from wordbias.pages.headline import headline
from wordbias.pages.markdown import render_markdown
from wordbias.pages.page import render_page
from wordbias.pages.telling_apart import told_apart
from wordbias.rendering import as_json, paragraph, terminal_width

OUTPUT = "wordbias-report.html"


@click.command()
@click.argument("rows", nargs=-1, required=True, metavar="ROWS...")
@click.option("-o", "--output", help=f"File to write.  [default: {OUTPUT}; md: stdout]")
@click.option(
    "--format",
    "to",
    type=click.Choice(["html", "md"]),
    help="A page, or the same without pictures.  [default: as -o is named; html]",
)
@common_options
def command(rows: tuple[str, ...], output: str | None, to: str | None, quiet: bool) -> None:
    """Write the page of what any command saved in ROWS.

    ROWS are files that commands printed with --format json, jsonl or csv, or pages of audit and
    report, which hold their data. Measures that the page has no picture for get a plain table.

    \b
    Examples:
      wordbias audit --format json -o audit.json; wordbias report audit.json -o audit.html
      wordbias measure glove.txt hd.txt --format json > m.json; wordbias report m.json
      wordbias report audit.html weat.json fairness.json -o all.html
    """
    target = check_output(output, to or "html", OUTPUT, rows)
    to = to or named_format(output, ("html", "md"))
    found = [(path, one) for path in dict.fromkeys(rows) for one in read_documents(path)]
    publish(told_apart(found), to, target)


def named_format(output: str | None, known: Sequence[str]) -> str:
    """Return the format that the name of a file asks for, by default HTML.

    Raises
    ------
    WordbiasError
        If it asks for another, such as PDF.
    """
    suffix = Path(output or "").suffix.lower()
    if suffix in ("", ".htm"):
        return "html"
    if suffix[1:] not in known:
        names = " or ".join(f".{name}" for name in known)
        raise WordbiasError(f"{output}: no page is written as {suffix}; name it {names}")
    return suffix[1:]


def check_output(
    output: str | None, to: str, default: str, read: Iterable[str | None]
) -> str | None:
    """Return the file to write, or None for stdout, and refuse early one that cannot be."""
    target = default if output is None and to == "html" else output
    if target is not None:
        check_writable(target)
        refuse_same({"the output": target}, {f"an input, {path}": path for path in read})
    return target


def publish(documents: Sequence[Document], to: str, target: str | None) -> None:
    """Write documents as a page, Markdown or JSON; with a file, say on stdout what is in it."""
    if to == "json":
        text = as_json(documents[0].to_dict(), indent=2) + "\n"
    else:
        text = render_page(documents) if to == "html" else render_markdown(documents)
    data = text.encode("utf-8", "backslashreplace")
    if target is None:
        click.echo(data.decode(), nl=False)
        return
    with replacing(target) as file:
        file.write(data)
    said = paragraph(headline(rows_of(documents)), terminal_width())
    click.echo("\n".join([*said, f"Written: {target}"]))
