"""Rows that no view knows, as plain tables: nothing that a command measured is hidden."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from wordbias.pages.lines import ideal, is_number, value_text
from wordbias.pages.section import Grid, Section
from wordbias.rendering import Table
from wordbias.rows import Found

SHOWN = 200
"""Lines of one table; all rows are in the data of the page."""
_TOLD = {"subject", "measure", "value", "low", "high", "neutral", "better", "reason", "missing"}
_WIDE = 40
_MOST = 6


def build(rows: Sequence[Found]) -> list[Section]:
    """Make one section with a table a measure."""
    if not rows:
        return []
    grids = [
        _grid(measure, [row for row in rows if row["measure"] == measure])
        for measure in dict.fromkeys(str(row["measure"]) for row in rows)
    ]
    lead = "Values as the command gave them; 95 % intervals in brackets where there are any."
    return [Section("rows", "Other values", [lead], (), grids)]


def _grid(measure: str, rows: Sequence[Found]) -> Grid:
    keys = _telling(rows)
    named = ["subject", *keys, "value", "ideal"]
    cells = [
        [
            str(row["subject"]),
            *(_text(row.get(key)) for key in keys),
            value_text(row, 4),
            ideal(row),
        ]
        for row in rows[:SHOWN]
    ]
    notes = [str(row["reason"]) for row in rows if row.get("reason")]
    if len(rows) > SHOWN:
        notes.insert(0, f"The first {SHOWN} of {len(rows):,}; all are in the data of the page.")
    return Grid(Table(measure, named, cells, "; ".join(dict.fromkeys(notes))))


def _telling(rows: Sequence[Found]) -> list[str]:
    """Choose the keys that tell the rows apart, or one that all share if it is a number of them."""
    keys = list(dict.fromkeys(key for row in rows for key in row if key not in _TOLD))
    short = [key for key in keys if all(_is_short(row.get(key)) for row in rows)]
    apart = [key for key in short if len({_text(row.get(key)) for row in rows}) > 1]
    return [*apart, *(["n"] if "n" in short and "n" not in apart else [])][:_MOST]


def _is_short(value: Any) -> bool:
    return len(_text(value)) <= _WIDE


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if is_number(value):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
