"""Samples of a table of counts by group, class and prediction, of which most cells are empty.

With thousands of classes a table has millions of cells, but no more than its examples are filled.
Only the pairs of class and prediction that occur are held, so that samples and what is computed of
them take time in proportion to these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Places = NDArray[np.intp]
_SMALL = 1 << 16
"""Tables of so many cells of one group are computed in one piece."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Samples of counts by group, class and prediction.

    Attributes
    ----------
    counts
        Of each pair of class and prediction that occurs, shape ``(samples, groups, pairs)``.
    gold, outcome
        The class and the prediction of each pair, sorted by class and then by prediction.
    classes, outcomes
        How many of them there are; the classes come first among the outcomes.
    """

    counts: Counts
    gold: Places
    outcome: Places
    classes: int
    outcomes: int

    @classmethod
    def of(cls, counts: Counts) -> Cells:
        """Take samples of whole tables, shape ``(samples, groups, classes, outcomes)``."""
        gold, outcome = np.nonzero(counts.any(axis=(0, 1)))
        return cls(counts[:, :, gold, outcome], gold, outcome, *counts.shape[2:])

    def __len__(self) -> int:
        return len(self.counts)

    def dense(self) -> Counts:
        """Return whole tables, shape ``(samples, groups, classes, outcomes)``."""
        whole = np.zeros((*self.counts.shape[:2], self.classes, self.outcomes), np.int64)
        whole[:, :, self.gold, self.outcome] = self.counts
        return whole

    def of_classes(self) -> Counts:
        """Count the examples of each class, shape ``(samples, groups, classes)``."""
        return _sums(self.counts, self.gold, self.classes)

    def of_outcomes(self) -> Counts:
        """Count each prediction, shape ``(samples, groups, outcomes)``."""
        order = np.argsort(self.outcome, kind="stable")
        return _sums(self.counts[..., order], self.outcome[order], self.outcomes)

    def right(self) -> Counts:
        """Count the right predictions of each class, shape ``(samples, groups, classes)``."""
        same = np.flatnonzero(self.gold == self.outcome)
        found = np.zeros((*self.counts.shape[:2], self.classes), np.int64)
        found[..., self.gold[same]] = self.counts[..., same]
        return found

    def answered(self) -> Cells:
        """Leave out predictions that are no class."""
        kept = np.flatnonzero(self.outcome < self.classes)
        return Cells(
            self.counts[..., kept], self.gold[kept], self.outcome[kept], self.classes, self.classes
        )

    def by_class(self) -> Iterator[tuple[Places, Counts]]:
        """Yield classes with as many pairs, about, and their counts.

        The counts have the shape ``(samples, groups, rows, width)``, with 0 where a row is shorter.
        """
        yield from self._rows(np.arange(len(self.gold)), self.gold, self.classes, self.outcomes)

    def by_outcome(self) -> Iterator[tuple[Places, Counts]]:
        """Yield predictions with as many pairs, about, and their counts, as `by_class` does."""
        order = np.argsort(self.outcome, kind="stable")
        yield from self._rows(order, self.outcome[order], self.outcomes, self.classes)

    def _rows(
        self, pairs: Places, row_of: Places, count: int, most: int
    ) -> Iterator[tuple[Places, Counts]]:
        for rows, row, column, width in pieces(row_of, count, most):
            block = np.zeros((*self.counts.shape[:2], len(rows), width), np.int64)
            inside = np.isin(row_of, rows) if len(rows) < count else slice(None)
            block[:, :, row, column] = self.counts[:, :, pairs[inside]]
            yield rows, block


def pieces(row_of: Places, count: int, most: int) -> Iterator[tuple[Places, Places, Places, int]]:
    """Put rows of like lengths together, so that filling them up to one width adds little.

    Parameters
    ----------
    row_of
        The row of each entry, sorted.
    count, most
        How many rows there are, and how many entries a row can have.

    Yields
    ------
    rows, row, column, width
        Which rows; for each of their entries its place among these and in its row; how many
        entries the longest may have. Rows of a small table come at once.
    """
    sizes = np.bincount(row_of, minlength=count)
    column = np.arange(len(row_of)) - (np.cumsum(sizes) - sizes)[row_of]
    if count * most <= _SMALL:
        yield np.arange(count), row_of, column, int(sizes.max(initial=0))
        return
    power = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.intp)
    for one in np.unique(power):
        rows = np.flatnonzero(power == one)
        inside = power[row_of] == one
        place = np.searchsorted(rows, row_of[inside])
        yield rows, place, column[inside], int(sizes[rows].max())


def _sums(counts: Counts, keys: Places, count: int) -> Counts:
    """Sum the counts of each key, of which the last axis has one each, sorted."""
    total = np.zeros((*counts.shape[:-1], len(keys) + 1), np.int64)
    np.cumsum(counts, axis=-1, out=total[..., 1:])
    ends = np.searchsorted(keys, np.arange(count + 1))
    return total[..., ends[1:]] - total[..., ends[:-1]]
