"""The share of women in each class: of a file, such as labour statistics, or of training data."""

from __future__ import annotations

import difflib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.tables import kind_of, read_lines
from wordbias.lines import read_bounded
from wordbias.outcomes.confusion import listed


def load_shares(
    source: str | os.PathLike[str] | Mapping[str, float], column: str | None = None
) -> dict[str, float]:
    """Read a share for each class.

    Parameters
    ----------
    source
        JSON, an object of numbers by class; or a CSV or tabbed file with a header, whose first
        column is the class; or the shares themselves.
    column
        Of the shares; by default the only other one.

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
    """Count the share of a group in each class of training data; others than two do not count.

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
        Shape ``(classes,)``, and the names that are no class.

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
