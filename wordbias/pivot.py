"""Tables of values, made from rows: lines by what identifies them, a column for each value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from wordbias.cells import OF_HEAD, Cell, entry, value
from wordbias.rendering import Table
from wordbias.results import Row


class Column(NamedTuple):
    """A column of a table of values."""

    head: str  # head of the column, and the function that writes its cells
    cell: Cell
    # keys and values of the rows that stand in it, a tuple for one of several values; without any,
    # the first of a line's rows about which the cell says something
    where: Mapping[str, Any]
    # columns of one part stay beside each other if a table is too wide; those of no part stand in
    # each piece
    part: str = ""

    def takes(self, row: Row) -> bool:
        """Return whether a row stands in the column."""
        return all(
            entry(row, key) in wanted if isinstance(wanted, tuple) else entry(row, key) == wanted
            for key, wanted in self.where.items()
        )


def values(*heads: str | tuple[str, Cell], part: str = "", **where: Any) -> list[Column]:
    """Return the columns of the rows that have these values, by their heads."""
    # Without a cell the values of the rows stand below a head, or what `wordbias.cells.OF_HEAD`
    # says.
    pairs = ((head, OF_HEAD.get(head, value)) if isinstance(head, str) else head for head in heads)
    return [Column(head, cell, where, part) for head, cell in pairs]


def pivot(
    title: str,
    rows: Sequence[Row],
    by: str | Cell | Mapping[str, Any],
    columns: Sequence[Column],
    note: str = "",
) -> Table:
    """Return a table of rows, whose lines are identified by keys or functions of a row."""
    # Columns in which nothing stands are left out. An undefined value has a dash for all that it
    # lacks; where no row stands, nothing is written. Reasons of undefined values are noted. A
    # second row with the same names and columns begins a line of its own; a row that stands in no
    # column is not shown.
    named = by if isinstance(by, Mapping) else {"": by}
    some_where = any(column.where for column in columns)
    lines: dict[tuple[Any, ...], list[Row]] = {}
    before: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        places = tuple(i for i, column in enumerate(columns) if column.where and column.takes(row))
        if places or not some_where:
            line = (*(_name(row, key) for key in named.values()), places)
            lines.setdefault((*line[:-1], before[line]), []).append(row)
            before[line] += 1
    cells = [
        [*names, *(_cell(column, line_rows) for column in columns)]
        for (*names, _), line_rows in lines.items()
    ]
    placed = [row for line_rows in lines.values() for row in line_rows]
    empty = ("",) if any(row.value is None for row in placed) else ("", "–")
    heads = [*named, *(column.head for column in columns)]
    parts = [*("" for _ in named), *(column.part for column in columns)]
    filled = [i for i in range(len(heads)) if any(line[i] not in empty for line in cells)]
    for texts, own_rows in zip(cells, lines.values(), strict=True):
        for i, target in enumerate(columns, len(named)):
            undefined = (row.value is None and target.takes(row) for row in own_rows)
            texts[i] = texts[i] or ("–" if any(undefined) else "")
    heads, parts, *cells = ([line[i] for i in filled] for line in (heads, parts, *cells))
    return Table(title, heads, cells, with_reasons(note, placed), parts=parts)


def with_reasons(note: str, rows: Sequence[Row]) -> str:
    """Add the reasons of undefined values to a note, each once, but those that it has."""
    undefined = (row.details for row in rows if row.value is None and "reason" in row.details)
    reasons = dict.fromkeys(str(about["reason"]) for about in undefined)
    added = [why for why in reasons if why.removeprefix("undefined: ").split("; ")[0] not in note]
    if note.endswith("."):
        return " ".join([note, *(f"–: {why.rstrip('.')}." for why in added)])
    return "; ".join(filter(None, [note, *added]))


def _name(row: Row, key: str | Cell) -> str:
    name = key(row) if callable(key) else entry(row, key)
    return "" if name is None else str(name)


def _cell(column: Column, rows: Sequence[Row]) -> str:
    return next(filter(None, (column.cell(row) for row in rows if column.takes(row))), "")
