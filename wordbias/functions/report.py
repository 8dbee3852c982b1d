"""Pages of saved rows and of reports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wordbias.calls import current, is_given, public
from wordbias.contextual.table7 import is_table
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.files import check_outputs
from wordbias.functions.inputs import path_of
from wordbias.functions.sweep_summary import report_of_table
from wordbias.pages.answers import answers
from wordbias.pages.document import (
    Document,
    notes_of,
    paths_of,
    read_documents,
    rows_of,
    settings_of,
    with_distinct_subjects,
)
from wordbias.pages.markdown import render_markdown
from wordbias.pages.page import render_page
from wordbias.pages.trade_off import has_trade_off, plot_trade_off
from wordbias.pages.views import sections
from wordbias.rendering import FIGURES
from wordbias.reports import SUFFIXES, Report
from wordbias.results import Row

FORMATS = ("html", "md")


@dataclass(frozen=True, eq=False, repr=False)
class Page(Report):
    """A report that is one page: in HTML with pictures, in Markdown and in a notebook without.

    Attributes
    ----------
    documents
        The results that the page shows and contains; by default only this report.
    """

    documents: Sequence[Document] = ()

    def __post_init__(self) -> None:
        documents = self.documents or [Document.of(super().to_dict())]
        rows = rows_of(documents)
        tables = [
            replace(grid.table, title=f"{section.title.partition(':')[0]}: {grid.table.title}")
            for section in sections(rows)
            for grid in section.grids
        ]
        picture = self.picture or (plot_trade_off if has_trade_off(rows) else None)
        attributes = {
            "documents": documents,
            "heading": answers(rows, paths_of(documents), settings_of(documents)),
            "tables": tables,
            "picture": picture,
        }
        for name, value in attributes.items():
            object.__setattr__(self, name, value)
        super().__post_init__()

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the tables; infinities, which JSON cannot hold, are undefined."""
        document = super().to_dict()
        draws = {"row_draws": document["row_draws"]} if "row_draws" in document else {}
        return {**Document.of(document).to_dict(), **draws}

    def render(self, to: str, width: int | None = None) -> str:
        """Return the report in one of `wordbias.results.FORMATS`, ending in a line feed."""
        return render_markdown(self.documents) if to == "md" else super().render(to, width)

    def page(self) -> str:
        """Return the HTML page."""
        return render_page(self.documents)


@public
def report(
    *rows: str | os.PathLike[str] | Report, output: str | os.PathLike[str] | None = None
) -> Page | Report:
    """Write a page of saved results, which may come from any command.

    ``rows`` are files that commands printed with --format json, jsonl or csv, or pages of audit and
    report, which contain their data. Measures without a picture get a plain table.

    A table that sweep -o wrote must be the only argument. It is summarised as by sweep, and the
    tables are printed. A page is then written only if ``output`` is given.

    Parameters
    ----------
    *rows : Report or path
        Results to show; in Python also reports, and objects with a report.
    output : path, optional
        File to write: a page (.html), or the same without pictures (.md).

    Returns
    -------
    Report
        Page of all rows, which ``save("page.html")`` writes. Or the summary of a sweep's table; its
        ``plot()`` draws η against S.

    Raises
    ------
    WordbiasError
        If results cannot be read, or the file cannot be written.

    Examples
    --------
    >>> import wordbias as wb
    >>> page = wb.report(wb.measure(only=["midb"], chance=False))
    >>> page.page()[:15]
    '<!DOCTYPE html>'
    """
    if not rows:
        raise WordbiasError("report: name results, or give reports")
    to = check_output(output, FORMATS, map(path_of, rows))
    tables = [path for path in map(path_of, rows) if path is not None and is_table(path)]
    if tables:
        return _of_sweep(tables[0], output, to, alone=len(rows) == 1)
    named: list[tuple[str, Document]] = []
    for i, source in enumerate(rows, 1):
        path = path_of(source)
        if isinstance(given := report_of(source), Page):
            named += [(f"report {i}", document) for document in given.documents]
        elif given is not None:
            named.append((f"report {i}", Document.of(given.to_dict())))
        elif path is not None:
            if path not in dict(named):
                named += [(path, document) for document in read_documents(path)]
        else:
            raise WordbiasError(
                f"report: expected reports and files of results, got {type(source).__name__}"
            )
    documents = with_distinct_subjects(named)
    page = Page(
        inputs={
            name: facts
            for document in documents
            if isinstance(read := document.about.get("inputs"), dict)
            for name, facts in read.items()
        },
        rows=[Row.from_dict(row) for document in documents for row in document.rows],
        notes=list(dict.fromkeys(note for document in documents for note in notes_of(document))),
        documents=documents,
    )
    if output is not None:
        page.write(output, to)
    return page


def _of_sweep(path: str, output: str | os.PathLike[str] | None, to: str, *, alone: bool) -> Report:
    """Summarise the table of a sweep, and write that if a file or a page was asked for."""
    if not alone:
        raise UsageError(f"{path}: is the table of a sweep, which is summarised alone")
    summary = report_of_table(path)
    if output is not None and (is_given("output") or current().format == "html"):
        summary.write(output, to)
        summary = replace(summary, closing=[*summary.closing, f"Written: {os.fspath(output)}."])
    return summary


def report_of(value: object) -> Report | None:
    """Return a report, or that of an object with a report; None for anything else."""
    candidate = value if isinstance(value, Report) else getattr(value, "report", None)
    return candidate if isinstance(candidate, Report) else None


def check_output(
    output: str | os.PathLike[str] | None, known: Sequence[str], read: Iterable[str | None]
) -> str:
    """Return the format of a page, by ``--format`` or the file's suffix."""
    if output is not None:
        check_outputs({"the output": output}, {f"an input, {path}": path for path in read})
    chosen, suffix = current().format, Path(output or "").suffix.lower()
    named = SUFFIXES.get(suffix, suffix[1:] if suffix in FIGURES else None)
    if chosen is not None:
        if named not in (None, chosen, "table"):
            end = f".{chosen}"
            raise UsageError(f"-o {output}: is not {chosen}, which --format names; end it in {end}")
        return chosen
    if suffix == "" or named == "html":
        return "html"
    if suffix[1:] not in known:
        names = " or ".join(f".{name}" for name in known)
        raise WordbiasError(f"{output}: a page cannot be written as {suffix}; name it {names}")
    return suffix[1:]
