"""Labels of rows of vectors that `erase` removes, and the parts of rows that a method is fitted on.

Rows are those of a file, or texts of a model: the functions for both are in two files.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.calls import path_of
from wordbias.columns import Column
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.rows import Rows
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
        return {str(name): column_of(option, one, rows) for name, one in given.items()}
    text = path_of(given)
    if text is not None:
        whole = text in rows.columns or Path(text).exists()
        names = [text] if whole else [one.strip() for one in text.split(",") if one.strip()]
        if not names:
            raise UsageError(f"{option}: expected a column or a file, got {text!r}")
        named = {name if name in rows.columns else Path(name).stem: name for name in names}
        return {name: column_of(option, one, rows) for name, one in named.items()}
    listed = list(given) if isinstance(given, (list, tuple)) else []
    if listed and all(isinstance(one, str) and one in rows.columns for one in listed):
        return {name: Column.of(rows.cells(name)) for name in listed}
    own = getattr(given, "name", None)  # of a column of pandas
    name = own if isinstance(own, str) and own else option.strip("-").removesuffix("s")
    return {name: column_of(option, given, rows)}


def column_of(option: str, given: Any, rows: Rows) -> Column:
    """Return the values of a column, of the lines of a file, or of a sequence."""
    spec, what = path_of(given), option
    if spec is not None and spec in rows.columns:
        return Column.of(rows.cells(spec))
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
        found = Column.of(given)
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
        blank = {name: blank_cells(one) for name, one in columns.items()}
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

    def divided(
        self, rows: Rows, share: float, split: Any, seed: int, groups: Column | None = None
    ) -> NDArray[np.int8]:
        """Divide the rows: 1 is training, 2 held out, 0 neither.

        Of each class, or combination of classes of several labels, the share is held out, rounded,
        but one row at least is for training. Groups are held out whole, drawn until they are the
        share of all rows.
        """
        part = np.zeros(rows.n, np.int8)
        rng = np.random.default_rng(seed)
        if split is not None:
            part[self.there] = _by_column(split, rows)[self.there]
        elif groups is not None:
            _, group, counts = np.unique(
                groups.codes[self.there], return_inverse=True, return_counts=True
            )
            order = rng.permutation(len(counts))
            before = np.cumsum(counts[order]) - counts[order]
            held = order[before < share * len(group)]
            part[self.there] = np.where(np.isin(group, held), 2, 1)
        else:
            group = _combined([one[self.there] for one in self.codes.values()])
            counts = np.bincount(group)
            held = np.minimum(np.round(share * counts), counts - 1)
            part[self.there] = np.where(_ranks(group, rng) < held[group], 2, 1)
        self._check_parts(rows, part)
        return part

    def balanced(
        self, rows: Rows, training: Places, tasks: Mapping[str, Column], seed: int
    ) -> Places:
        """Draw training rows: within each class of the tasks as many of every class of the labels.

        What is read of the task then says nothing of the labels.
        """
        named = ~np.any([blank_cells(one) for one in tasks.values()], axis=0)
        places = np.flatnonzero(training & named)
        task = _combined([one.codes[places].astype(np.intp) for one in tasks.values()])
        label = _combined([one[places] for one in self.codes.values()])
        cell = task * (label.max(initial=0) + 1) + label
        counts = np.bincount(cell, minlength=(task.max(initial=0) + 1) * (label.max(initial=0) + 1))
        fewest = counts.reshape(-1, label.max(initial=0) + 1).min(1)
        chosen = np.zeros(rows.n, bool)
        chosen[places[_ranks(cell, np.random.default_rng(seed)) < fewest[task]]] = True
        if not chosen.any():
            raise WordbiasError(
                f"{rows.name}: no class of {' and '.join(tasks)} has training rows of every class "
                f"of {' and '.join(self.codes)}, so that there are none to balance; leave out "
                "--balance, or name another --also"
            )
        return chosen

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
                    "or more; name another --split-column"
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


def _combined(codes: Sequence[Integers]) -> Integers:
    """Return the combination of several codes of each row, as a number from 0 on."""
    found: Integers = np.unique(np.stack(codes), axis=1, return_inverse=True)[1].reshape(-1)
    return found


def _ranks(codes: Integers, rng: np.random.Generator) -> Integers:
    """Return the place of each row among those of its code, in a random order."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    counts = np.bincount(codes)
    ranks = np.empty(len(codes), np.intp)
    ranks[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks


@dataclass(frozen=True, eq=False)
class Folds:
    """Folds of the rows that a method is fitted on.

    Attributes
    ----------
    k
        Number of folds; 0 without cross-fitting.
    numbers
        Fold of each row, from 1 on, shape ``(n,)``; 0 for a row that is not fitted on.
    groups
        Fold of each row by its group, shape ``(n,)``; by default a row's values decide.
    """

    k: int
    numbers: NDArray[np.int8]
    groups: NDArray[np.int8] | None

    @classmethod
    def of(cls, n: int, k: int, groups: Column | None) -> Folds:
        """Return folds of n rows, which no row has entered yet."""
        by_group = None
        if groups is not None and k:
            by_group = _fold_of((one.encode() for one in groups.values), k)[groups.codes]
        return cls(k, np.zeros(n, np.int8), by_group)

    def enter(self, x: NDArray[Any], places: Integers) -> NDArray[np.int8]:
        """Store and return the folds of rows, of which the places are given."""
        if self.groups is not None:
            self.numbers[places] = self.groups[places]
        elif self.k:
            self.numbers[places] = _fold_of(np.ascontiguousarray(x, np.float64), self.k)
        return self.numbers[places]

    @contextmanager
    def without(self, name: str, fold: int) -> Iterator[None]:
        """Say in the error of a fit which fold it was without."""
        try:
            yield
        except WordbiasError as error:
            if not fold:
                raise
            raise WordbiasError(
                f"{name}: without fold {fold} of {self.k} (--cross-fit): {error}; choose another "
                "number of folds, or more --unit than folds"
            ) from None


def _fold_of(keys: Iterable[Any], k: int) -> NDArray[np.int8]:
    """Return the fold of each key by a hash of its bytes, whatever stands beside it."""
    hashes = (hashlib.blake2b(key, digest_size=8).digest() for key in keys)
    return np.array([int.from_bytes(one, "big") % k + 1 for one in hashes], np.int8)


def alike_in(labelled: Labelled, tasks: Collection[str]) -> str:
    """Say that rows are balanced over tasks; nothing if there are none."""
    if not tasks:
        return ""
    return f", as many of each {' and '.join(labelled.codes)} within each {' and '.join(tasks)}"


def groups_of(given: Any, rows: Rows, labelled: Labelled) -> Column:
    """Return the group of each row, such as a person; refuse labelled rows without one."""
    column = column_of("--unit", given, rows)
    without = blank_cells(column) & labelled.there
    if without.any():
        raise WordbiasError(
            f"{rows.name}: {without.sum():,} of {rows.n:,} rows have no group, the first is row "
            f"{int(without.argmax()) + 1:,}; name it, or leave them out"
        )
    return column


def blank_cells(column: Column) -> Places:
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
    column = column_of("--split-column", split, rows)
    unknown = [one for one in column.values if one.strip() and one.lower() not in _ROLES]
    if unknown:
        raise WordbiasError(
            f"--split-column: {unknown[0]!r:.40} is not train, dev or test; name another column"
        )
    found = np.array([_ROLES.get(one.lower(), 0) for one in column.values], np.int8)[column.codes]
    for role, number in (("train", 1), ("test", 2)):
        if not (found == number).any():
            raise WordbiasError(f"--split-column: no row is {role}; name another column")
    parts: NDArray[np.int8] = found
    return parts
