"""Input of fairness metrics: columns of predictions, shares in classes, costs of mistakes."""

from __future__ import annotations

import difflib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.source import sha256_of
from wordbias.formats.tables import is_parquet, kind_of, read_lines
from wordbias.outcomes.confusion import listed
from wordbias.outcomes.records import is_missing
from wordbias.text_files import read_bounded


class ColumnsFrame(Protocol):
    """Frame of pandas, or an object with the same interface."""

    columns: Any

    def __getitem__(self, name: str) -> Any:
        """Return a column."""


Examples = str | os.PathLike[str] | ColumnsFrame | Mapping[str, ArrayLike]
"""File, frame, or columns by name."""
Cells = tuple[Sequence[str], str]
"""One row: the requested cells, and what is wrong with it."""
_MISSING = frozenset(("", "null"))  # the second is what jsonl calls no value

# columns of predictions


@dataclass(frozen=True, eq=False)
class Columns:
    """Some columns of a table, as texts.

    Attributes
    ----------
    path
        Path of the file, or ``memory``.
    cells
        Cells by the name of the column.
    sha256
        Hash of the file; empty if there is none.
    dropped, problem
        Number of rows that were left out because they cannot be used, and the first reason.
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
        Names of the columns.
    skip_bad
        Leave out rows that cannot be used, and count them.
    what
        Name of a table in memory, for messages.

    Raises
    ------
    WordbiasError
        If the file cannot be read, has no such columns or no rows; if a row cannot be used and is
        not to be left out; if Parquet is to be read and pyarrow is missing.
    """
    names = list(dict.fromkeys(names))
    file = Path(table) if isinstance(table, (str, os.PathLike)) else None
    if file is None:
        read = _held(what, table, names)
    else:
        what = str(file)
        read = _lines(file, names)
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


def is_table(given: object) -> TypeGuard[Examples]:
    """Return whether something has columns: a file, a frame, or arrays by name."""
    return isinstance(given, (str, os.PathLike, Mapping)) or hasattr(given, "columns")


def _lines(file: Path, names: Sequence[str]) -> Iterator[Cells]:
    where = "row" if is_parquet(file) else "line"
    if kind_of(file) == "plain" and where == "line":
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
        yield cells, f"{where} {line.number}: {line.problem or f'has no {lacking[0]!r}'}"


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


# shares of a group in each class


def load_shares(
    source: str | os.PathLike[str] | Mapping[str, float], column: str | None = None
) -> dict[str, float]:
    """Read the share of a group in each class, such as of women in labour statistics.

    Parameters
    ----------
    source
        JSON, an object of numbers by class; or a CSV or tabbed file with a header, whose first
        column is the class; or the shares themselves.
    column
        Column of the shares; by default the only other one.

    Returns
    -------
    dict
        In the unit of the file, percent or not: a correlation does not depend on it.

    Raises
    ------
    WordbiasError
        If the file cannot be read, a share is no number from 0 to 100, or a class comes twice.
    """
    if isinstance(source, Mapping):
        if column is not None:
            raise WordbiasError("--share-column is of a file, and the shares are given themselves")
        return _some({str(k): _share(v, str(k), "--shares") for k, v in source.items()}, "--shares")
    file = Path(source)
    if file.suffix.lower() == ".json":
        return _from_json(file)
    if kind_of(file) not in ("csv", "tsv"):
        raise WordbiasError(f"{file}: expected shares in a .json, .csv or .tsv file")
    found: dict[str, float] = {}
    for line in read_lines(file):
        place = f"{file}: line {line.number}"
        if line.problem:
            raise WordbiasError(f"{place}: {line.problem}")
        name, *_ = line.cells.values()
        if name in found:
            raise WordbiasError(f"{place}: the class {name!r} comes twice")
        found[name] = _share(line.cells[_column(file, list(line.cells), column)], name, place)
    return _some(found, file)


def _from_json(file: Path) -> dict[str, float]:
    try:
        data = read_bounded(file)
    except OSError as error:
        raise WordbiasError(f"{file}: cannot be read: {error.strerror}") from None
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise WordbiasError(f"{file}: is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise WordbiasError(f'{file}: expected an object such as {{"nurse": 90, "surgeon": 15}}')
    return _some({name: _share(value, name, str(file)) for name, value in found.items()}, file)


def _some(found: dict[str, float], file: Path | str) -> dict[str, float]:
    if not found:
        raise WordbiasError(f"{file}: holds no shares")
    return found


def _column(file: Path, names: Sequence[str], asked: str | None) -> str:
    others = names[1:]
    if asked is None and len(others) == 1:
        return others[0]
    if asked is None or asked not in others:
        what = f"has no column {asked!r}" if asked else "which column holds the shares"
        raise WordbiasError(
            f"{file}: {what}; name one of {listed(others) or 'them, there is only the class'} "
            "with --share-column"
        )
    return asked


def _share(value: object, name: str, place: str) -> float:
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number <= 100:
        raise WordbiasError(
            f"{place}: the share of {name!r} is {value!r}; expected 0 to 1, or 0 to 100"
        )
    return number


def shares_of(
    labels: Iterable[str], groups: Iterable[str], first: str, second: str
) -> dict[str, float]:
    """Return the share of the first group in each class of training data, among two groups.

    Raises
    ------
    WordbiasError
        If nobody is in either group.
    """
    counts: dict[str, list[int]] = {}
    for label, group in zip(labels, groups, strict=True):
        if group in (first, second):
            counts.setdefault(label, [0, 0])[group == second] += 1
    if not counts:
        raise WordbiasError(f"the training data have nobody of the groups {first!r} and {second!r}")
    return {label: n / (n + m) for label, (n, m) in counts.items()}


def shares_for(
    classes: Sequence[str], shares: Mapping[str, float], source: str
) -> tuple[NDArray[np.float64], list[str]]:
    """Put shares in the order of classes.

    Returns
    -------
    shares, beside
        Shares, shape ``(classes,)``, and the names that are no class.

    Raises
    ------
    WordbiasError
        If a class has no share.
    """
    unknown = [name for name in classes if name not in shares]
    if unknown:
        alike = difflib.get_close_matches(unknown[0], list(shares), 1)
        meant = f" (is it {alike[0]!r}?)" if alike else ""
        raise WordbiasError(
            f"{source}: has no share of {listed(unknown)}{meant}; it has {listed(list(shares))}"
        )
    beside = [name for name in shares if name not in classes]
    return np.array([shares[name] for name in classes], dtype=np.float64), beside


# costs of mistakes


@runtime_checkable
class LabelledFrame(Protocol):
    """Frame of pandas with labels of rows and columns."""

    def rename(self, *, index: type, columns: type) -> Any:
        """Return it with other labels."""

    def reindex(self, *, index: Sequence[str], columns: Sequence[str]) -> Any:
        """Return it in another order."""


def load_costs(
    source: str | os.PathLike[str] | LabelledFrame | ArrayLike, classes: Sequence[str]
) -> NDArray[np.float64]:
    """Read a square table of costs and put it in the order of classes.

    Parameters
    ----------
    source
        CSV or tabbed text. The header has the classes, behind a first cell of any name; each row
        begins with its class. Further classes are ignored. Or a frame with classes as
        its index and columns, or an array in the order of `classes`.
    classes
        Classes in the order of the result.

    Returns
    -------
    ndarray
        Shape ``(classes, classes)``: not negative, symmetric, 0 from a class to itself.

    Raises
    ------
    WordbiasError
        If the costs are anything else, or lack a class.
    """
    if isinstance(source, LabelledFrame):
        if not hasattr(source, "columns"):
            kind = type(source).__name__
            raise WordbiasError(f"--costs: expected a file, a frame or a square array, got {kind}")
        named = source.rename(index=str, columns=str)
        return _checked("--costs", named.reindex(index=classes, columns=classes), classes)
    if not isinstance(source, (str, os.PathLike)):
        return _checked("--costs", source, classes)
    file = Path(source)
    if kind_of(file) not in ("csv", "tsv"):
        raise WordbiasError(f"{file}: expected costs in a .csv or .tsv file")
    table: dict[str, dict[str, float]] = {}
    for line in read_lines(file):
        if line.problem:
            raise WordbiasError(f"{file}: line {line.number}: {line.problem}")
        (_, name), *others = line.cells.items()
        if name in table:
            raise WordbiasError(f"{file}: line {line.number}: the class {name!r} comes twice")
        table[name] = {to: _cost(value, f"{file}: line {line.number}") for to, value in others}
    lacking = [name for name in classes if name not in table or name not in table[name]]
    if lacking:
        raise WordbiasError(
            f"{file}: expected a row and a column for each class; found none for {listed(lacking)}"
        )
    return _checked(str(file), [[table[a][b] for b in classes] for a in classes], classes)


def _cost(text: str, place: str) -> float:
    try:
        cost = float(text)
    except ValueError:
        cost = math.nan
    if not 0 <= cost < math.inf:
        raise WordbiasError(f"{place}: expected a cost, 0 or more; found {text!r}")
    return cost


def _checked(what: str, given: ArrayLike, classes: Sequence[str]) -> NDArray[np.float64]:
    try:
        if np.iscomplexobj(given):
            raise TypeError
        costs = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise WordbiasError(f"{what}: expected numbers, found {given!r:.80}") from None
    if costs.shape != (len(classes), len(classes)):
        raise WordbiasError(
            f"{what}: expected a cost for each two of {listed(classes)}, in this order; found the "
            f"shape {costs.shape}"
        )
    for cost in costs[~((costs >= 0) & (costs < math.inf))].tolist():
        raise WordbiasError(f"{what}: expected costs, 0 or more; found {cost}")
    for i, j in np.argwhere(costs != costs.T).tolist():
        raise WordbiasError(
            f"{what}: {classes[i]} to {classes[j]} costs {costs[i, j]:g}, but {costs[j, i]:g} the "
            "other way; a distance is symmetric"
        )
    for i in np.flatnonzero(np.diag(costs)).tolist():
        raise WordbiasError(f"{what}: {classes[i]} to itself costs {costs[i, i]:g}; expected 0")
    return costs
