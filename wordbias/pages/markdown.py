"""Markdown of a report, without its pictures.

The file is short because HTML and Markdown share the sections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wordbias.pages.answers import answer_parts
from wordbias.pages.document import Document, for_others, notes_of, paths_of, rows_of, settings_of
from wordbias.pages.page import page_title
from wordbias.pages.section import Section, answer_table
from wordbias.pages.views import sections
from wordbias.rendering import Table, markdown_text
from wordbias.results import LIMITS


def render_markdown(documents: Sequence[Document]) -> str:
    """Write documents as one Markdown document with the tables of the page."""
    documents = for_others(documents)
    rows = rows_of(documents)
    notes = [note for document in documents for note in notes_of(document)]
    answers = answer_parts(rows, paths_of(documents), settings_of(documents))
    table = answer_table(answers)
    below = [f"{answer.question} {text}".strip() for answer in answers for text in answer.below]
    parts = [
        f"# {markdown_text(page_title(documents))}",
        *([_table(table)] if table else []),
        "\n".join(f"- {markdown_text(sentence)}" for sentence in below),
        *(part for section in sections(rows) for part in _section(section)),
        "## What these numbers cannot say",
        LIMITS,
        *(
            ["\n".join(f"- {markdown_text(note)}" for note in dict.fromkeys(notes))]
            if notes
            else []
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {markdown_text(section.title)}"
    yield from map(markdown_text, section.lead)
    for grid in section.grids:
        yield _table(grid.table)
    yield from (f"*{markdown_text(text)}*" for text in section.method)


def _table(table: Table) -> str:
    """Write a table; text of users is neither markup nor the end of a cell."""
    rule = ["---", *["---:"] * (len(table.columns) - 1)]
    cells = [table.columns, *table.cells]
    head, *lines = (_joined(map(markdown_text, line)) for line in cells)
    parts = [f"**{markdown_text(table.title)}**", "", head, _joined(rule), *lines]
    return "\n".join([*parts, *(["", markdown_text(table.note)] if table.note else [])])


def _joined(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
