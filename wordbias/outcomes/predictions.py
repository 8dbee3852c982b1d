"""The predictions of a classifier: columns of a file of any usual form, of a frame, or arrays."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from numpy.typing import ArrayLike

from wordbias.errors import WordbiasError
from wordbias.formats.source import sha256_of
from wordbias.formats.tables import is_parquet, kind_of, read_lines, read_parquet
from wordbias.outcomes.confusion import listed
from wordbias.outcomes.records import is_missing

_MISSING = frozenset(("", "null"))  # the second is what jsonl calls no value


class Frame(Protocol):
    """A frame of pandas, or what looks like it."""

    columns: Any

    def __getitem__(self, name: str) -> Any:
        """Return a column."""


Examples = str | os.PathLike[str] | Frame | Mapping[str, ArrayLike]
"""A file, a frame, or the columns by name."""


def is_table(given: object) -> TypeGuard[Examples]:
    """Say whether something has columns: a file, a frame, or arrays by name."""
    return isinstance(given, (str, os.PathLike, Mapping)) or hasattr(given, "columns")


@dataclass(frozen=True, eq=False)
class Columns:
    """Some columns of a table, as texts.

    Attributes
    ----------
    path
        Of the file, or ``memory``.
    cells
        By the name of the column.
    sha256
        Of the file; empty where there is none.
    dropped, problem
        How many rows were left out because they cannot be used, and the first reason.
    """

    path: str
    cells: Mapping[str, Sequence[str]]
    sha256: str
    dropped: int = 0
    problem: str = ""

    def __len__(self) -> int:
        return len(next(iter(self.cells.values())))


def load_columns(
    table: Examples, names: Sequence[str], *, skip_bad: bool = False, what: str = "the table"
) -> Columns:
    """Read columns of a CSV, tabbed or jsonl file, compressed or not, of Parquet, or in memory.

    Parameters
    ----------
    names
        Of the columns.
    skip_bad
        Leave out rows that cannot be used, and count them.
    what
        A table in memory, for messages.

    Raises
    ------
    WordbiasError
        If the file cannot be read, has no such columns or no rows; if a row cannot be used and is
        not to be left out; if Parquet is to be read and pandas is missing.
    """
    names = list(dict.fromkeys(names))
    file = Path(table) if isinstance(table, (str, os.PathLike)) else None
    if file is None:
        read = _held(what, table, names)
    else:
        what = str(file)
        read = _frame(what, read_parquet(file), names) if is_parquet(file) else _lines(file, names)
    rows: list[Sequence[str]] = []
    bad: list[str] = []
    for cells, problem in read:
        if not problem:
            rows.append(cells)
            continue
        if not skip_bad:
            raise WordbiasError(f"{what}: {problem}; mend it, or drop such rows with --skip-bad")
        bad.append(problem)
    if not rows:
        among = f" that can be used, of {len(bad):,}; the first: {bad[0]}" if bad else ""
        raise WordbiasError(f"{what}: holds no rows{among}")
    cells_by_name = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    sha256 = "" if file is None else sha256_of(file)
    path = "memory" if file is None else what
    return Columns(path, cells_by_name, sha256, len(bad), bad[0] if bad else "")


Cells = tuple[Sequence[str], str]
"""One row: the cells asked for, and what is wrong with it."""


def _lines(file: Path, names: Sequence[str]) -> Iterator[Cells]:
    if kind_of(file) == "plain":
        raise WordbiasError(
            f"{file}: expected a file with columns: .csv, .tsv or .jsonl, compressed or not, or "
            ".parquet; name it as what it is"
        )
    checked = False
    for line in read_lines(file):
        cells = list(map(line.cells.get, names, repeat("")))
        if not line.problem and _MISSING.isdisjoint(cells):
            checked = True
            yield cells, ""
            continue
        lacking = [n for n, c in zip(names, cells, strict=True) if c in _MISSING]
        if not (checked or line.problem) and lacking[0] not in line.cells:
            raise WordbiasError(_no_column(str(file), lacking[0], list(line.cells)))
        yield cells, f"line {line.number}: {line.problem or f'has no {lacking[0]!r}'}"


def _frame(what: str, frame: Any, names: Sequence[str]) -> Iterator[Cells]:
    _check_columns(what, names, frame.columns)
    missing = frame[list(names)].isna()
    lacking = missing.idxmax(axis=1).where(missing.any(axis=1), "")
    values = (frame[name].map(str) for name in names)
    for i, (lack, *cells) in enumerate(zip(lacking, *values, strict=True), 1):
        yield cells, f"row {i}: has no {lack!r}" if lack else ""


def _held(what: str, table: Any, names: Sequence[str]) -> Iterator[Cells]:
    """Yield the rows of a frame or of arrays."""
    if hasattr(table, "isna"):
        yield from _frame(what, table, names)
        return
    _check_columns(what, names, table if isinstance(table, Mapping) else table.columns)
    if flat := [name for name in names if getattr(table[name], "ndim", 1) != 1]:
        raise WordbiasError(
            f"{what}: expected one value for each example; {flat[0]} has the shape "
            f"{table[flat[0]].shape}"
        )
    for name in names:
        if isinstance(table[name], str) or not isinstance(table[name], Iterable):
            raise WordbiasError(f"{what}: {name}: expected a value for each example")
    columns = [list(table[name]) for name in names]
    for name, column in zip(names, columns, strict=True):
        if any(isinstance(one, float) and math.isfinite(one) and one % 1 for one in column):
            raise WordbiasError(
                f"{what}: expected classes, found numbers such as {column[0]:.4g} as {name}; of "
                "probabilities give the class that is predicted, p > 0.5"
            )
    sizes = [len(column) for column in columns]
    if len(set(sizes)) > 1:
        found = ", ".join(f"{n:,} of {name}" for name, n in zip(names, sizes, strict=True))
        raise WordbiasError(f"{what}: expected one value of each for every example; found {found}")
    for i, row in enumerate(zip(*columns, strict=True), 1):
        lacking = next((n for n, value in zip(names, row, strict=True) if is_missing(value)), "")
        yield list(map(str, row)), f"row {i}: has no {lacking!r}" if lacking else ""


def _check_columns(what: str, names: Sequence[str], known: Any) -> None:
    for name in names:
        if name not in known:
            raise WordbiasError(_no_column(what, name, list(map(str, known))))


def _no_column(what: str, name: str, known: Sequence[str]) -> str:
    return f"{what}: has no column {name!r}; it has {listed(known, 20)}"
