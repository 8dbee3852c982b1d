"""How far apart classes are: costs for the Wasserstein distance, from a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.tables import kind_of, read_lines
from wordbias.outcomes.confusion import listed


def load_costs(path: str | Path, classes: Sequence[str]) -> NDArray[np.float64]:
    """Read a square table of costs and put it in the order of classes.

    Parameters
    ----------
    path
        CSV or tabbed text. The header has the classes, behind a first cell of any name; each row
        begins with its class. More classes than asked for do no harm.
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
    file = Path(path)
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
    costs = np.array([[table[a][b] for b in classes] for a in classes])
    _check(file, costs, classes)
    return costs


def _cost(text: str, place: str) -> float:
    try:
        cost = float(text)
    except ValueError:
        cost = math.nan
    if not 0 <= cost < math.inf:
        raise WordbiasError(f"{place}: expected a cost, 0 or more; found {text!r}")
    return cost


def _check(file: Path, costs: NDArray[np.float64], classes: Sequence[str]) -> None:
    for i, j in np.argwhere(costs != costs.T).tolist():
        raise WordbiasError(
            f"{file}: {classes[i]} to {classes[j]} costs {costs[i, j]:g}, but {costs[j, i]:g} the "
            "other way; a distance is symmetric"
        )
    for i in np.flatnonzero(np.diag(costs)).tolist():
        raise WordbiasError(f"{file}: {classes[i]} to itself costs {costs[i, i]:g}; expected 0")
