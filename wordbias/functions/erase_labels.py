"""Labels of rows of vectors that `erase` removes, and the parts of rows that a method is fitted on.

Rows are those of a file, or texts of a model: the functions for both are in two files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.calls import path_of
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.rows import Rows
from wordbias.formats.tables import Column, cell_of
from wordbias.probes.held_out import FEW
from wordbias.probes.inputs import read_labels
from wordbias.resources.hub import fetched

Integers = NDArray[np.intp]
Places = NDArray[np.bool_]
CellsLike = str | os.PathLike[str] | Column | Iterable[object]
"""A column's name, a file with one line for each row, or a value for each row."""
LabelsLike = CellsLike | Mapping[str, object]

MISSING = ("refuse", "drop")
SHOWN = 8
"""Number of classes that a message lists."""
_ROLES = {"train": 1, "training": 1, "test": 2, "testing": 2, "held-out": 2, "dev": 0, "val": 0,
          "valid": 0, "validate": 0, "validation": 0}  # fmt: skip


def columns_of(option: str, given: Any, rows: Rows) -> dict[str, Column]:
    """Return one label or several by name: columns, files with one a line, or values.

    Parameters
    ----------
    option
        Name of the option in messages.
    given
        A column, a file, columns with commas between or as a list, values, or a mapping of names to
        these.
    """
    if isinstance(given, Mapping):
        return {str(name): _column(option, one, rows) for name, one in given.items()}
    text = path_of(given)
    if text is not None:
        whole = text in rows.columns or Path(text).exists()
        names = [text] if whole else [one.strip() for one in text.split(",") if one.strip()]
        named = {name if name in rows.columns else Path(name).stem: name for name in names}
        return {name: _column(option, one, rows) for name, one in named.items()}
    listed = list(given) if isinstance(given, (list, tuple)) else []
    if listed and all(isinstance(one, str) and one in rows.columns for one in listed):
        return {name: rows.column(name) for name in listed}
    own = getattr(given, "name", None)  # of a column of pandas
    name = own if isinstance(own, str) and own else option.strip("-").removesuffix("s")
    return {name: _column(option, given, rows)}


def _column(option: str, given: Any, rows: Rows) -> Column:
    """Return the values of a column, of the lines of a file, or of a sequence."""
    spec, what = path_of(given), option
    if spec is not None and spec in rows.columns:
        return rows.column(spec)
    if spec is not None:
        spec = fetched(spec)
        if not Path(spec).exists():
            known = ", ".join(rows.columns) or "none"
            raise WordbiasError(
                f"{option} {spec!r}: neither a column of {rows.name} (it has {known:.200}) nor a "
                "file"
            )
        found, what = read_labels(spec, blank=True), spec
    elif isinstance(given, Column):
        found = given
    elif isinstance(given, Iterable) and getattr(given, "ndim", 1) == 1:
        found = Column.of(cell_of(value) or "" for value in given)
    else:
        shape = f" of shape {given.shape}" if hasattr(given, "shape") else ""
        raise WordbiasError(
            f"{option}: expected a column's name, a file or a value for each row of {rows.name}, "
            f"got {type(given).__name__}{shape}"
        )
    if len(found.codes) != rows.n:
        raise WordbiasError(
            f"{what}: {len(found.codes):,} values for {rows.n:,} rows of "
            f"{rows.path or rows.name}; give one for each row"
        )
    return found


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labels of rows, as numbers of their classes.

    Attributes
    ----------
    codes
        Numbers of the classes by the name of the label, shape ``(n,)``; −1 where it is missing.
    classes
        Names of the classes, sorted.
    there
        Which rows have all labels, shape ``(n,)``.
    """

    codes: Mapping[str, Integers]
    classes: Mapping[str, tuple[str, ...]]
    there: Places

    @classmethod
    def of(cls, rows: Rows, labels: Any, missing: str) -> Labelled:
        """Read labels, and refuse those that are missing, of one class, or no classes at all."""
        if labels is None:
            known = ", ".join(rows.columns) or "none"
            raise UsageError(
                f"{rows.name}: no labels given: name them with --labels COLUMN or --labels FILE "
                f"(one a line); its columns: {known:.200}"
            )
        columns = columns_of("--labels", labels, rows)
        blank = {name: _blank(one) for name, one in columns.items()}
        there = ~np.any(list(blank.values()), axis=0)
        if missing == MISSING[0] and not there.all():
            name, without = next((name, one) for name, one in blank.items() if one.any())
            raise WordbiasError(
                f"{rows.name}: {without.sum():,} of {rows.n:,} rows have no {name}, the first is "
                f"row {int(without.argmax()) + 1:,}; label them, or --missing=drop: they are then "
                "mapped, but not fitted on"
            )
        codes, classes = {}, {}
        for name, one in columns.items():
            used, places = np.unique(one.codes[there], return_inverse=True)
            classes[name] = tuple(one.values[i] for i in used)
            codes[name] = np.full(rows.n, -1, np.intp)
            codes[name][there] = places
            _check_classes(rows, name, classes[name], int(there.sum()))
        return cls(codes, classes, there)

    @property
    def missing(self) -> int:
        """Number of rows without a label."""
        return int((~self.there).sum())

    def cells(self, name: str, places: Integers) -> NDArray[np.str_]:
        """Return the labels of some rows as text."""
        return np.array(self.classes[name])[self.codes[name][places]]

    def divided(self, rows: Rows, share: float, split: Any, seed: int) -> NDArray[np.int8]:
        """Divide the rows: 1 is training, 2 held out, 0 neither.

        Of each class, or combination of classes of several labels, the share is held out, rounded,
        but one row at least is for training.
        """
        part = np.zeros(rows.n, np.int8)
        if split is not None:
            part[self.there] = _by_column(split, rows)[self.there]
        else:
            rng = np.random.default_rng(seed)
            every = np.stack(list(self.codes.values()))[:, self.there]
            _, group = np.unique(every, axis=1, return_inverse=True)
            order = rng.permutation(len(group))
            order = order[np.argsort(group[order], kind="stable")]
            counts = np.bincount(group)
            rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
            held = np.minimum(np.round(share * counts), counts - 1)
            among = np.ones(len(order), np.int8)
            among[order[rank < np.repeat(held, counts)]] = 2
            part[self.there] = among
        self._check_parts(rows, part)
        return part

    def _check_parts(self, rows: Rows, part: NDArray[np.int8]) -> None:
        if not (part == 2).any():
            raise WordbiasError(
                f"{rows.name}: {(part == 1).sum():,} labelled rows leave none to hold out; give "
                "more rows, or a larger --held-out"
            )
        for name, codes in self.codes.items():
            learned = np.unique(codes[part == 1])
            if len(learned) < 2:
                found = f"only {self.classes[name][learned[0]]!r}" if len(learned) else "no rows"
                raise WordbiasError(
                    f"{rows.name}: the training part has {found} of {name}; expected two classes "
                    "or more; name another --split"
                )

    def rare(self, part: NDArray[np.int8]) -> list[str]:
        """Return notes on the classes with few held-out rows, and on those without training."""
        notes = []
        for name, codes in self.codes.items():
            names = self.classes[name]
            counts = np.bincount(codes[part == 2], minlength=len(names))
            few = [f"{names[i]:.40} ({counts[i]})" for i in np.flatnonzero(counts < FEW)]
            if few:
                more = " …" * (len(few) > SHOWN)
                notes.append(
                    f"{name}: fewer than {FEW} held-out rows of {', '.join(few[:SHOWN])}{more}: "
                    "the figures say little of these classes"
                )
            learned = np.bincount(codes[part == 1], minlength=len(names))
            if lost := [names[i] for i in np.flatnonzero((learned == 0) & (counts > 0))]:
                notes.append(
                    f"{name}: the training part has no {', '.join(lost[:SHOWN])}, which nothing "
                    "was fitted on"
                )
        return notes


def _blank(column: Column) -> Places:
    """Return which cells are blank."""
    found: Places = np.array([not value.strip() for value in column.values], bool)[column.codes]
    return found


def _check_classes(rows: Rows, name: str, classes: Sequence[str], n: int) -> None:
    if len(classes) < 2:
        only = f"all are {classes[0]!r:.40}" if classes else "no row has one"
        raise WordbiasError(f"{rows.name}: {name} needs two classes at least; {only}")
    if len(classes) > n / 2:
        raise WordbiasError(
            f"{rows.name}: {name} has {len(classes):,} classes in {n:,} rows, such as "
            f"{classes[0]!r:.40}: fewer than two rows each; name another column"
        )


def _by_column(split: Any, rows: Rows) -> NDArray[np.int8]:
    """Return the parts that a column names: 1 for train, 2 for test, 0 for others."""
    column = _column("--split", split, rows)
    unknown = [one for one in column.values if one.strip() and one.lower() not in _ROLES]
    if unknown:
        raise WordbiasError(
            f"--split: {unknown[0]!r:.40} is not train, dev or test; name another column"
        )
    found = np.array([_ROLES.get(one.lower(), 0) for one in column.values], np.int8)[column.codes]
    for role, number in (("train", 1), ("test", 2)):
        if not (found == number).any():
            raise WordbiasError(f"--split: no row is {role}; name another column")
    parts: NDArray[np.int8] = found
    return parts
