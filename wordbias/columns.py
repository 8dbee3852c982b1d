"""Columns of tables: files, frames, data sets and lists, which are all read here."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, listed
from wordbias.formats.rows import Rows
from wordbias.formats.source import Digest
from wordbias.formats.tables import (
    PLAIN,
    Choose,
    Line,
    Picked,
    Wanted,
    cell_of,
    is_parquet,
    kind_of,
    pick_cells,
    read_lines,
    row_line,
)
from wordbias.text_files import Source

USUAL = ("text", "sentence")
"""Names of a column of texts by default."""
MISSING = frozenset((None, "", "null"))
"""Cells without a value; the last is how JSON and databases write it."""


class Frame(Protocol):
    """A frame, as of pandas or polars."""

    columns: Any

    def __getitem__(self, name: Any) -> Any:
        """Return a column."""


TableLike = str | os.PathLike[str] | Mapping[str, Any] | Frame
"""A file, columns by name, a frame, or a data set of Hugging Face."""


@dataclass(frozen=True, eq=False)
class Column:
    """One value for every row: a label, a word, a split."""

    codes: NDArray[np.int32]  # places in `values`, shape `(n,)`, int32
    values: tuple[str, ...]  # the distinct values, sorted

    @classmethod
    def of(cls, values: Iterable[object]) -> Column:
        """Return a column of values as text, numbered in sorted order; a missing one is empty."""
        cells = [value if type(value) is str else cell_of(value) or "" for value in values]
        distinct = tuple(sorted(set(cells)))
        places = {value: i for i, value in enumerate(distinct)}
        return cls(np.array([places[cell] for cell in cells], np.int32), distinct)

    def cells(self) -> list[str]:
        """Return the value of every row."""
        return [self.values[code] for code in self.codes]


class LazyColumns(Mapping[str, Column]):
    """Columns by name, each read when it is asked for."""

    def __init__(self, names: Sequence[str], read: Callable[[str], Column]) -> None:
        self._names, self._read = tuple(names), read

    @classmethod
    def of(cls, rows: Rows) -> LazyColumns:
        """Return the columns of rows that are read in blocks."""
        return cls(rows.columns, lambda name: Column.of(rows.cells(name)))

    def __getitem__(self, name: str) -> Column:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_labels(path: str | Path) -> Column:
    """Read a file with one label a line; a blank line has none."""
    return Column.of(line.cells[PLAIN].strip() for line in read_lines(Path(path), "plain"))


def blank_cells(column: Column) -> NDArray[np.bool_]:
    """Return which cells are blank."""
    is_blank: NDArray[np.bool_] = np.array([not value.strip() for value in column.values], bool)[
        column.codes
    ]
    return is_blank


# whole rows


class Table(NamedTuple):
    """Opened rows of a table."""

    name: str
    lines: Iterator[Line]  # the rows
    plain: str = ""  # reason why there is only one column; empty if there are columns
    unit: str = "line"  # what the number of a row counts: `line` or `row`


def open_table(source: TableLike | Iterable[object], name: str = "the table") -> Table:
    """Open a file, or columns or texts in memory, such as a list or a series of pandas."""
    if isinstance(source, (str, os.PathLike)):
        file = _file(source, name)
        has_columns = kind_of(file) != "plain" or is_parquet(file)
        return Table(str(file), read_lines(file), "" if has_columns else _PLAIN, _unit(file))
    columns = columns_in_memory(source, name)
    if columns is None:
        plain = "is a list, which has no columns; give a dictionary or a frame of columns"
        return Table(name, _rows_of_list(_iterable(source, name)), plain, "row")
    rows = enumerate(zip(*columns.values(), strict=True), 1)
    return Table(name, (row_line(number, columns, cells) for number, cells in rows), "", "row")


_PLAIN = "is plain text, which has no columns; name a .tsv, .csv, .jsonl or .parquet file"


def _file(source: str | os.PathLike[str], name: str) -> Path:
    if isinstance(source, str) and " " in source.strip() and not os.path.exists(source):
        raise WordbiasError(
            f"{name}: there is no file {source!r:.60}; a text stands in a list: [text]"
        )
    return Path(source)


def _unit(file: Path) -> str:
    return "row" if is_parquet(file) else "line"


def _iterable(source: object, name: str) -> Iterable[object]:
    if not isinstance(source, Iterable):
        raise WordbiasError(
            f"{name}: expected a file, a list of texts, or a dictionary or frame of columns; got "
            f"{type(source).__name__}"
        )
    return source


def is_table(given: object) -> TypeGuard[TableLike]:
    """Return whether something has columns: a file, a frame, a data set, or columns by name."""
    by_name = isinstance(given, (str, os.PathLike, Mapping))
    return by_name or hasattr(given, "columns") or hasattr(given, "column_names")


def columns_in_memory(
    source: object, name: str, choose: Choose | None = None
) -> dict[str, list[str | None]] | None:
    """Return columns in memory as text, None for what is missing; None if it has no columns."""
    known = _names_of(source, name)
    if known is None:
        return None
    table: Any = source
    names = list(map(str, known))
    chosen: dict[str, str | None] = dict(zip(names, names, strict=True))
    if choose is not None:
        chosen = choose(names).names_in(name, names)
    by_name = dict(zip(names, known, strict=True))
    columns = {
        column: None if own is None else _values(table, by_name[own], name)
        for column, own in chosen.items()
    }
    sizes = {column: len(values) for column, values in columns.items() if values is not None}
    if len(set(sizes.values())) != 1:
        lengths = ", ".join(f"{column} {size:,}" for column, size in sizes.items()) or "none"
        raise WordbiasError(f"{name}: expected columns of one length, found {lengths}")
    n = next(iter(sizes.values()))
    return {column: [None] * n if cells is None else cells for column, cells in columns.items()}


def _names_of(source: object, name: str) -> list[Any] | None:
    """Return the names of columns in memory; None if there are none."""
    if isinstance(source, Mapping):
        if any(hasattr(split, "column_names") for split in source.values()):  # splits of a data set
            raise WordbiasError(f"{name}: expected one data set, got {', '.join(source)}; name one")
        return list(source)
    known = getattr(source, "columns", None)
    if (named := getattr(source, "column_names", None)) is None:
        return None if known is None else list(known)
    table: Any = source  # of pyarrow, or of Hugging Face: without columns of lists, as of files
    return [column for column in named if not any(map(_is_nested, table[column][:1]))]


def _is_nested(value: Any) -> bool:
    return isinstance(value.as_py() if hasattr(value, "as_py") else value, (list, dict))


def _values(table: Any, column: Any, name: str) -> list[str | None]:
    """Return the values of a column as text; the classes of Hugging Face by their names."""
    values = table[column]
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise WordbiasError(f"{name}: column {column!r}: expected a list of values")
    if getattr(values, "ndim", 1) != 1:
        raise WordbiasError(
            f"{name}: column {column!r}: expected one value for each row, found the shape "
            f"{getattr(values, 'shape', ())}"
        )
    feature = (getattr(table, "features", None) or {}).get(column)
    if (classes := getattr(feature, "names", None)) is not None:
        return [classes[code] if code is not None and code >= 0 else None for code in values]
    values = values.to_pylist() if hasattr(values, "to_pylist") else values
    return [value if type(value) is str else cell_of(value) for value in values]


def _rows_of_list(texts: Iterable[object]) -> Iterator[Line]:
    for number, text in enumerate(texts, 1):
        if isinstance(text, str):
            yield Line(number, {PLAIN: text})
        else:
            yield Line(number, {}, f"expected a text, found {text!r:.40}")


def choose_column(
    name: str,
    names: Sequence[str],
    wanted: str | None,
    usual: Sequence[str] = USUAL,
    *,
    only: bool = True,
    what: str = "the texts",
    option: str = "--text-column",
) -> str:
    """Return the name of a column: the asked one, by name or number from 1, else a usual one."""
    if wanted is None:
        whole = names if only and len(names) == 1 else ()
        known = [column for column in (*usual, *whole) if column in names]
        if not known:
            if not names:
                raise WordbiasError(
                    f"{name}: which column holds {what}? Found none; name one with {option}"
                )
            raise WordbiasError(
                f"{name}: which column holds {what}? Name one of {listed(names)} with {option}"
            )
        return known[0]
    if wanted in names:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    raise WordbiasError(f"{name}: has no column {wanted!r}; it has {listed(names)}")


# rows that cannot be used


@dataclass
class BadRows:
    """Rows that cannot be used: dropped and counted, or the first of them is an error."""

    name: str
    skip: bool | None = None  # drop such rows; None where a command has no option for it
    count: int = 0  # number of dropped rows, and what is wrong with the first
    first: str = ""

    def add(self, where: str, problem: str) -> None:
        """Count a row, or refuse it."""
        reason = f"{where}: {problem}"
        if not self.skip:
            drop = "" if self.skip is None else ", or drop such rows with --skip-bad"
            raise WordbiasError(f"{self.name}: {reason}; mend it{drop}")
        self.count += 1
        self.first = self.first or reason

    def among(self) -> str:
        """Return how many there are, behind a message that nothing is left."""
        return (
            f"; {self.count:,} rows cannot be used, the first: {self.first}" if self.count else ""
        )


# wanted columns


@dataclass(frozen=True, eq=False)
class Columns:
    """Some columns of a table, as texts."""

    name: str
    cells: Mapping[str, Sequence[str]] = field(repr=False)
    numbers: Sequence[int] = field(repr=False)  # line or row of each
    unit: str = "line"  # what these count: `line` or `row`
    # number of rows that were left out because they cannot be used, and the first reason
    dropped: int = 0
    problem: str = ""

    def __len__(self) -> int:
        return len(self.numbers)

    def where(self, row: int) -> str:
        """Return the file and the line of a row, for messages."""
        return f"{self.name}: {self.unit} {self.numbers[row]}"

    def rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the file and line of each row, for messages, and its cells by column."""
        for i, cells in enumerate(zip(*self.cells.values(), strict=True)):
            yield self.where(i), dict(zip(self.cells, cells, strict=True))

    def column(self, name: str) -> Column:
        """Return one column, its distinct values numbered."""
        return Column.of(self.cells[name])


def picked(
    source: TableLike | Source,
    choose: Choose,
    name: str = "the table",
    *,
    kind: str | None = None,
    digest: Digest | None = None,
) -> tuple[str, str, Iterator[Picked]]:
    """Open some columns of a table: its name, the unit of its numbers, and its rows."""
    if isinstance(source, Source):
        return source.path, "line", pick_cells(source, choose, kind)
    if isinstance(source, (str, os.PathLike)):
        file = _file(source, name)
        if kind is None and kind_of(file) == "plain" and not is_parquet(file):
            raise WordbiasError(
                f"{file}: expected a file with columns: .csv, .tsv or .jsonl, compressed or not, "
                "or .parquet; rename it if it is one"
            )
        return str(file), _unit(file), pick_cells(file, choose, kind, digest)
    columns = columns_in_memory(source, name, choose)
    if columns is None:
        raise WordbiasError(
            f"{name}: expected a file, or a dictionary or frame of columns; got "
            f"{type(source).__name__}"
        )
    rows = zip(*columns.values(), strict=True)
    return name, "row", ((number, cells, "") for number, cells in enumerate(rows, 1))


def read(
    source: TableLike | Source,
    columns: Mapping[str, Sequence[str]] | Sequence[str],
    *,
    optional: Collection[str] = (),
    blank: Collection[str] = (),
    unnamed: Sequence[str] = (),
    ragged: bool = False,
    strip: bool = False,
    skip_bad: bool | None = None,
    name: str = "the table",
    kind: str | None = None,
) -> Columns:
    """Read some columns of a table."""
    # `columns` may give for each name in the result its possible names. Columns of `optional` may
    # be missing, cells of `blank` empty. `skip_bad` is None where there is no such option.
    if not isinstance(columns, Mapping):
        columns = {column: (column,) for column in columns}
    wanted = Wanted(columns, optional, unnamed, ragged, strip)
    path, unit, rows = picked(source, wanted, name, kind=kind)
    bad = BadRows(path, skip_bad)
    good_rows: list[Sequence[str | None]] = []
    numbers: list[int] = []
    free = {*blank, *optional}
    needed = [(column, i) for i, column in enumerate(columns) if column not in free]
    for number, cells, problem in rows:
        if not problem and (free or not MISSING.isdisjoint(cells)):
            lacking = [column for column, i in needed if cells[i] in MISSING]
            problem = f"has no {lacking[0]!r}" if lacking else ""
        if problem:
            bad.add(f"{unit} {number}", problem)
        else:
            good_rows.append(cells)
            numbers.append(number)
    if not good_rows:
        raise WordbiasError(f"{path}: holds no rows{bad.among()}")
    cells_by_name = {
        column: [cell or "" for cell in cells]
        for column, cells in zip(columns, zip(*good_rows, strict=True), strict=True)
        if not (column in optional and all(cell is None for cell in cells))
    }
    return Columns(path, cells_by_name, numbers, unit, bad.count, bad.first)
