"""Balancing: as many examples of every group in every class (Orgad et al. 2022, §2.2).

Within a class, examples of the larger groups are left out (`subsample`), or those of the smaller
ones repeated (`oversample`). Each class is balanced by itself, so that the shares of the classes
change: a class with few women becomes small, or its women are repeated often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.outcomes.records import Record, RecordFile
from wordbias.outcomes.rewrite import Tally, Where

Balance = Literal["subsample", "oversample"]
Codes = NDArray[np.intp]


def balance(
    file: RecordFile, how: Balance, label: str, group: str, *, where: Where | None = None, seed: int
) -> Balanced:
    """Read a file once, and draw the number of copies of each record."""
    chosen, classes, groups = _coded(file, label, group, where or {})
    names, codes = np.unique(np.array(groups), return_inverse=True)
    if len(names) < 2:
        present = f"only {str(names[0])!r}" if len(names) else "no record"
        among = " among the texts of --where" if where else ""
        raise WordbiasError(
            f"{file.path}: column {group!r}: expected two groups or more{among}, found {present}; "
            "there is nothing to balance"
        )
    kinds, labels = np.unique(np.array(classes), return_inverse=True)
    drawn = copies(labels.astype(np.intp), codes.astype(np.intp), how, seed)
    counts = np.ones(len(chosen), np.intp)
    counts[np.array(chosen)] = drawn
    before, after = (_table(labels, codes, n, len(kinds), len(names)) for n in (None, drawn))
    added = int(drawn.sum()) - len(drawn)
    tally = Tally(how, len(drawn), int((drawn != 1).sum()), added=added)
    return Balanced(how, counts, tuple(kinds.tolist()), tuple(names.tolist()), before, after, tally)


@dataclass(frozen=True)
class Balanced:
    """Stage that balances the records of a file."""

    how: Balance  # subsample or oversample
    # number of copies of each record; 1 for those that are not balanced
    copies: Codes = field(repr=False)
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    before: Codes = field(repr=False)  # numbers of records, shape `(classes, groups)`
    after: Codes = field(repr=False)
    tally: Tally

    def __call__(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield the copies of each record, in the order of the file."""
        for record, count in zip(records, self.copies.tolist(), strict=True):
            for _ in range(count):
                yield record

    def empty(self) -> list[str]:
        """Return the classes in which a group has no example, with that group."""
        cells = np.argwhere(self.before == 0)
        return [f"{self.classes[i]} has no {self.groups[j]}" for i, j in cells]


def copies(classes: Codes, groups: Codes, how: Balance, seed: int = 0) -> Codes:
    """Return the number of copies of each example, (n,), in the balanced data."""
    # Subsampling keeps of each group the number of the smallest, drawn without replacement.
    # Oversampling keeps all, and draws with replacement from a smaller group until it is as large
    # as the largest. A group without an example in a class cannot be balanced: subsampling leaves
    # nothing of that class; oversampling leaves that group empty and the others as they are.
    rng = np.random.default_rng(seed)
    taken = np.full(len(classes), how == "oversample", np.intp)
    for members in _members(classes, groups):
        sizes = [len(rows) for rows in members]
        for rows in members:
            if how == "subsample":
                taken[rng.choice(rows, min(sizes), replace=False)] = 1
            elif len(rows):
                np.add.at(taken, rng.choice(rows, max(sizes) - len(rows)), 1)
    return taken


def _members(classes: Codes, groups: Codes) -> Iterator[list[Codes]]:
    """Yield the examples of each group in each class, from one sort of all of them."""
    kinds, of_class = np.unique(classes, return_inverse=True)
    known, of_group = np.unique(groups, return_inverse=True)
    cells = of_class * len(known) + of_group
    order = np.argsort(cells, kind="stable")
    ends = np.searchsorted(cells[order], np.arange(1, len(kinds) * len(known)))
    rows = np.split(order, ends)
    for start in range(0, len(rows), len(known)):
        yield rows[start : start + len(known)]


def _coded(
    file: RecordFile, label: str, group: str, where: Where
) -> tuple[list[bool], list[str], list[str]]:
    """Return which records are to be balanced, and the class and group of those."""
    chosen: list[bool] = []
    classes: list[str] = []
    groups: list[str] = []
    known: dict[str, str] = {}  # one object for each distinct value, whatever the file's size
    for record in file:
        chosen.append(record.has(where))
        if chosen[-1]:
            for cells, column in ((classes, label), (groups, group)):
                value = record[column]
                cells.append(known.setdefault(value, value))
    return chosen, classes, groups


def _table(labels: Codes, codes: Codes, weights: Codes | None, kinds: int, groups: int) -> Codes:
    cells = np.bincount(labels * groups + codes, weights, kinds * groups)
    return cells.astype(np.intp).reshape(kinds, groups)
