"""Input of fairness metrics: classes and groups, shares in classes, costs of mistakes."""

from __future__ import annotations

import difflib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.columns import Columns, TableLike, choose_column, open_table, read
from wordbias.errors import WordbiasError, listed
from wordbias.text_files import read_bounded


def load_classes(
    table: TableLike, names: Sequence[str], *, skip_bad: bool = False, what: str = "the table"
) -> Columns:
    """Read columns of classes and groups; see `wordbias.columns.read`."""
    arrays = table if isinstance(table, Mapping) else {}
    for name in names:
        cells = arrays.get(name)
        values = [cell for cell in cells if isinstance(cell, float)] if _many(cells) else []
        if any(math.isfinite(value) and value % 1 for value in values):
            raise WordbiasError(
                f"{what}: expected classes, found numbers such as {values[0]:.4g} as {name}; of "
                "probabilities give the class that is predicted, p > 0.5"
            )
    return read(table, list(dict.fromkeys(names)), skip_bad=skip_bad, name=what)


def _many(cells: object) -> TypeGuard[Iterable[object]]:
    return isinstance(cells, Iterable)


# shares of a group in each class


def load_shares(
    source: str | os.PathLike[str] | Mapping[str, float], column: str | None = None
) -> dict[str, float]:
    """Read the share of a group in each class, such as of women in labour statistics."""
    # In the unit of the file, percent or not: a correlation does not depend on it.
    if isinstance(source, Mapping):
        if column is not None:
            raise WordbiasError("--share-column is of a file, and the shares are given themselves")
        return _not_empty(
            {str(k): _share(v, str(k), "--shares") for k, v in source.items()}, "--shares"
        )
    file = Path(source)
    if file.suffix.lower() == ".json":
        return _from_json(file)
    by_class: dict[str, float] = {}
    for place, cells in _rows(file, "shares"):
        name, *_ = cells.values()
        if name in by_class:
            raise WordbiasError(f"{place}: the class {name!r} comes twice")
        shares = choose_column(str(file), [*cells][1:], column, (), what="the shares",
                               option="--share-column")  # fmt: skip
        by_class[name] = _share(cells[shares], name, place)
    return _not_empty(by_class, file)


def _rows(file: Path, what: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place and the cells of the rows of a table."""
    table = open_table(file)
    if table.plain:
        json = ".json, " if what == "shares" else ""
        raise WordbiasError(f"{file}: expected {what} in a {json}.csv or .tsv file")
    for line in table.lines:
        if line.problem:
            raise WordbiasError(f"{file}: {table.unit} {line.number}: {line.problem}")
        yield f"{file}: {table.unit} {line.number}", line.cells


def _from_json(file: Path) -> dict[str, float]:
    try:
        data = read_bounded(file)
    except OSError as error:
        raise WordbiasError(f"{file}: cannot be read: {error.strerror}") from None
    try:
        shares = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise WordbiasError(f"{file}: is no JSON: {error}") from None
    if not isinstance(shares, dict):
        raise WordbiasError(f'{file}: expected an object such as {{"nurse": 90, "surgeon": 15}}')
    return _not_empty(
        {name: _share(value, name, str(file)) for name, value in shares.items()}, file
    )


def _not_empty(shares: dict[str, float], file: Path | str) -> dict[str, float]:
    if not shares:
        raise WordbiasError(f"{file}: holds no shares")
    return shares


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
    """Return the share of the first group in each class of training data, among two groups."""
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
    """Put shares in the order of classes; return also the names that are no class."""
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
    """Read a square table of costs and put it in the order of classes."""
    if isinstance(source, LabelledFrame):
        if not hasattr(source, "columns"):
            kind = type(source).__name__
            raise WordbiasError(f"--costs: expected a file, a frame or a square array, got {kind}")
        named = source.rename(index=str, columns=str)
        return _checked("--costs", named.reindex(index=classes, columns=classes), classes)
    if not isinstance(source, (str, os.PathLike)):
        return _checked("--costs", source, classes)
    file = Path(source)
    table: dict[str, dict[str, float]] = {}
    for place, cells in _rows(file, "costs"):
        (_, name), *others = cells.items()
        if name in table:
            raise WordbiasError(f"{place}: the class {name!r} comes twice")
        table[name] = {to: _cost(value, place) for to, value in others}
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
