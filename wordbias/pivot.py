"""Tables of values, made from rows: lines by what identifies them, a column for each value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from wordbias.rendering import Table
from wordbias.results import Row

Cell = Callable[[Row], str]
"""Function that writes one thing about a row, as those of `wordbias.cells`."""
_NOTHING = ("", "–")


class Column(NamedTuple):
    """A column of a table of values.

    Attributes
    ----------
    head, cell
        Head of the column, and the function that writes its cells.
    where
        Keys and values of the rows that stand in it, a tuple for one of several values; without
        any, the first of a line's rows of which the cell says something.
    part
        Columns of one part stay beside each other if a table is too wide; those of no part stand
        in each piece.
    """

    head: str
    cell: Cell
    where: Mapping[str, Any]
    part: str = ""

    def takes(self, row: Row) -> bool:
        """Return whether a row stands in the column."""
        return all(
            entry(row, key) in value if isinstance(value, tuple) else entry(row, key) == value
            for key, value in self.where.items()
        )


def column(head: str, cell: Cell, /, *, part: str = "", **where: Any) -> Column:
    """Return a column of the rows that have these values."""
    return Column(head, cell, where, part)


def entry(row: Row, key: str) -> Any:
    """Return what a row has under a key; None if it has none."""
    return getattr(row, key) if key in ("subject", "measure") else row.details.get(key)


def pivot(
    title: str,
    rows: Sequence[Row],
    by: Mapping[str, str | Cell],
    columns: Sequence[Column],
    note: str = "",
) -> Table:
    """Return a table of rows.

    Columns in which nothing stands are left out. Reasons of undefined values are noted, if the
    note does not have them yet. A second row with the same names and columns begins a line of its
    own; a row that stands in no column is not shown.

    Parameters
    ----------
    by
        What identifies a line, by the heads of the first columns: a key of the rows, or a function.
    """
    lines: dict[tuple[Any, ...], list[Row]] = {}
    before: Counter[tuple[Any, ...]] = Counter()
    some_where = any(one.where for one in columns)
    for row in rows:
        places = tuple(i for i, one in enumerate(columns) if one.where and one.takes(row))
        if some_where and not places:
            continue
        names = tuple(_name(row, key) for key in by.values())
        lines.setdefault((names, before[names, places]), []).append(row)
        before[names, places] += 1
    cells = [
        [*names, *(_cell(one, found) for one in columns)] for (names, _), found in lines.items()
    ]
    shown = [row for found in lines.values() for row in found]
    undefined = any(row.value is None for row in shown)
    empty = _NOTHING[: 1 if undefined else 2]
    kept = [i for i in range(len(by) + len(columns)) if any(line[i] not in empty for line in cells)]
    heads = [*by, *(one.head for one in columns)]
    parts = [*("" for _ in by), *(one.part for one in columns)]
    heads, parts, *cells = ([line[i] for i in kept] for line in (heads, parts, *cells))
    return Table(title, heads, cells, with_reasons(note, shown), parts=parts)


def with_reasons(note: str, rows: Sequence[Row]) -> str:
    """Add the reasons of undefined values to a note, each once, but those that it has."""
    reasons = dict.fromkeys(str(row.details["reason"]) for row in rows if "reason" in row.details)
    added = [why for why in reasons if why.removeprefix("undefined: ").split("; ")[0] not in note]
    if not added:
        return note
    if note.endswith("."):
        return " ".join([note, *(f"–: {why.rstrip('.')}." for why in added)])
    return "; ".join(filter(None, [note, *added]))


def _name(row: Row, key: str | Cell) -> str:
    if callable(key):
        return key(row)
    found = entry(row, key)
    return "" if found is None else str(found)


def _cell(one: Column, rows: Sequence[Row]) -> str:
    return next(filter(None, (one.cell(row) for row in rows if one.takes(row))), "")
