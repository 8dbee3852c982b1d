"""Markdown of a report, without its pictures.

The file is short because HTML and Markdown share the sections.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from wordbias.errors import printable
from wordbias.pages.answers import answer_parts
from wordbias.pages.document import Document, notes_of, paths_of, rows_of, settings_of
from wordbias.pages.page import page_title
from wordbias.pages.section import Section, answer_table
from wordbias.pages.views import sections
from wordbias.rendering import Table
from wordbias.results import LIMITS

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|])")


def render_markdown(documents: Sequence[Document]) -> str:
    """Write documents as one Markdown document with the tables of the page."""
    rows = rows_of(documents)
    notes = [note for one in documents for note in notes_of(one)]
    found = answer_parts(rows, paths_of(documents), settings_of(documents))
    table = answer_table(found)
    below = [f"{one.question} {text}".strip() for one in found for text in one.below]
    parts = [
        f"# {_plain(page_title(documents))}",
        *([_table(table)] if table else []),
        "\n".join(f"- {_plain(sentence)}" for sentence in below),
        *(part for one in sections(rows) for part in _section(one)),
        "## What these numbers cannot say",
        LIMITS,
        *(["\n".join(f"- {_plain(note)}" for note in dict.fromkeys(notes))] if notes else []),
    ]
    return "\n\n".join(parts) + "\n"


def _section(one: Section) -> Iterator[str]:
    yield f"## {_plain(one.title)}"
    yield from map(_plain, one.lead)
    for grid in one.grids:
        yield _table(grid.table)
    yield from (f"*{_plain(text)}*" for text in one.method)


def _table(table: Table) -> str:
    """Write a table; text of users is neither markup nor the end of a cell."""
    rule = ["---", *["---:"] * (len(table.columns) - 1)]
    cells = [table.columns, *table.cells]
    head, *lines = (_joined(map(_plain, line)) for line in cells)
    parts = [f"**{_plain(table.title)}**", "", head, _joined(rule), *lines]
    return "\n".join([*parts, *(["", _plain(table.note)] if table.note else [])])


def _joined(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))
