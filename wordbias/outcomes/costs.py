"""How far apart classes are: costs for the Wasserstein distance, from a file or an array."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.tables import kind_of, read_lines
from wordbias.outcomes.confusion import listed


@runtime_checkable
class LabelledFrame(Protocol):
    """A frame of pandas."""

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
        begins with its class. More classes than asked for do no harm. Or a frame with classes as
        its index and columns, or an array in the order of `classes`.
    classes
        In the order of the result.

    Returns
    -------
    ndarray
        Shape ``(classes, classes)``: not negative, symmetric, 0 from a class to itself.

    Raises
    ------
    WordbiasError
        If the file is anything else, or lacks a class.
    """
    if isinstance(source, LabelledFrame):
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
