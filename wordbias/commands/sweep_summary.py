"""All settings of a sweep, summarised as Dawkins et al. (2024) do in Tables 5 and 6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wordbias.commands.sweep_views import (
    best_rows,
    best_table,
    sentences,
    table7,
    weighting_table,
)
from wordbias.contextual.table5 import best_by_level
from wordbias.contextual.table7 import BASE, Entry
from wordbias.contextual.table7_summaries import (
    attention,
    summary_rows,
    weighting,
)
from wordbias.errors import WordbiasError
from wordbias.rendering import Table
from wordbias.results import Row


@dataclass(frozen=True)
class Summary:
    """Tables 5 to 7 and what is said under them.

    Attributes
    ----------
    tables, rows, closing
        Of a report.
    notes
        What could not be summarised, and why.
    """

    tables: list[Table]
    rows: list[Row]
    closing: list[str]
    notes: list[str]


def summarise(
    entries: Sequence[Entry], subject: str, drop: float, relative: bool, seed: int
) -> Summary:
    """Make tables, rows and sentences of all settings."""
    tables, rows, notes = [table7(entries, drop, relative)], [], []
    if any(one.level == BASE for one in entries):
        best = best_by_level(entries, drop, relative=relative)
        tables.append(best_table(best))
        rows += best_rows(best, subject)
    tables.append(weighting_table(weighting(entries)))
    rho = None
    try:
        rows += summary_rows(entries, subject, seed)
        rho = rows[-1]
    except WordbiasError as error:
        notes.append(str(error))
    return Summary(tables, rows, sentences(attention(entries), rho), notes)
