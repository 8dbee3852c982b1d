"""Counts by group, gold class and prediction, from which all fairness metrics are computed.

Bootstrap samples draw examples one by one. Two classifiers of the same examples have the same
draws, and a change between them is paired. Examples that belong together, such as the two sentences
of a pair, are drawn together.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import items_of
from wordbias.errors import WordbiasError, listed
from wordbias.statistics import resamples

Counts = NDArray[np.int64]
Places = NDArray[np.intp]
Values = NDArray[np.float64]
RATES = ("tpr", "fpr", "precision", "f1")
_SMALL = 1 << 11
"""Cells of one group up to which a table is computed in one piece, padded to its longest row."""
_AT_ONCE = 1 << 20  # cells of bootstrap samples that are held at one time, within a cache


@dataclass(frozen=True, eq=False)
class Confusion:
    """Counts of examples by group, gold class and prediction."""

    classes: tuple[str, ...]  # labels in sorted order: as numbers if all are whole numbers
    # possible predictions: the classes in the same order and then, if there are any, answers that
    # are no class, such as *None*
    outcomes: tuple[str, ...]
    groups: tuple[str, ...]  # groups in the order of differences: the first minus the second
    counts: Counts  # numbers of examples, shape `(groups, classes, outcomes)`
    cells: Places  # cell of `counts`, flattened, of each example, shape `(n,)`
    left_out: int = 0  # number of examples in none of the groups
    # number of the unit of each example, shape `(n,)`; None if every example is a unit of its own
    units: Places | None = None

    def __len__(self) -> int:
        return int(self.counts.sum())

    @classmethod
    def of(
        cls,
        labels: Iterable[Hashable],
        predicted: Iterable[Hashable],
        groups: Iterable[Hashable],
        *,
        order: Sequence[str] | None = None,
        classes: Iterable[str] = (),
        abstentions: Sequence[str] = (),
        units: Iterable[Hashable] | None = None,
    ) -> Confusion:
        """Count examples by group, gold class and prediction, all compared as text."""
        # Abstentions are never right, and have no rates of their own.
        y, r, z = (list(map(str, values)) for values in (labels, predicted, groups))
        if not len(y) == len(r) == len(z):
            raise WordbiasError(
                "expected a label, a prediction and a group of each example; found "
                f"{len(y):,} labels, {len(r):,} predictions and {len(z):,} groups"
            )
        chosen = _chosen(set(z), order)
        everyone = len(z)
        of = None if units is None else list(units)
        if of is not None and len(of) != everyone:
            raise WordbiasError(
                f"expected a unit of each of {everyone:,} examples, found {len(of):,}"
            )
        if order is not None:
            indices = [i for i, group in enumerate(z) if group in chosen]
            y, r, z = ([values[i] for i in indices] for values in (y, r, z))
            of = None if of is None else [of[i] for i in indices]
        known = _classes({*y, *r, *classes}, set(y), abstentions)
        outcomes = (*known, *abstentions)
        shape = (len(chosen), len(known), len(outcomes))
        places = (_codes(z, chosen), _codes(y, known), _codes(r, outcomes))
        cells = np.ravel_multi_index(places, shape)
        counts = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64)
        numbers = None if of is None else _codes(of, list(dict.fromkeys(of)))
        return cls(known, outcomes, chosen, counts, cells, everyone - len(y), numbers)

    @property
    def items(self) -> str:
        """Hash of the examples without their predictions."""
        group, gold, _ = np.unravel_index(self.cells, self.counts.shape)
        named = [self.groups[i] for i in group], [self.classes[i] for i in gold]
        return items_of(*named, self.groups, None if self.units is None else self.units.tolist())

    @property
    def _units(self) -> int:
        return len(self) if self.units is None else int(self.units.max()) + 1

    def resampled(self, draws: int, rng: np.random.Generator) -> Iterator[Cells]:
        """Yield bootstrap samples of the units, in blocks."""
        cells = Cells.of(self.counts[None])
        group, pair = np.divmod(self.cells, cells.whole)
        place = group * len(cells.gold) + cells.place(pair)
        shape, number = cells.counts.shape[1:], cells.counts.size
        rows = (row for block in resamples(self._units, rng, draws) for row in block)
        for size in _blocks(draws, number):
            counts = np.empty((size, number), np.int64)
            for sample, row in zip(counts, islice(rows, size), strict=True):
                if self.units is None:
                    sample[:] = np.bincount(place[row], minlength=number)
                else:
                    times = np.bincount(row, minlength=self._units)
                    sample[:] = np.bincount(place, times[self.units], number)
            yield replace(cells, counts=counts.reshape(size, *shape))

    def _of_units(self) -> list[Places]:
        """Return the examples of each unit, in the order of their cells."""
        assert self.units is not None
        order = np.lexsort((self.cells, self.units))
        return np.split(order, np.flatnonzero(np.diff(self.units[order])) + 1)

    def alike(self, draws: int, rng: np.random.Generator) -> Iterator[Cells]:
        """Yield samples of a classifier that treats the groups alike, in blocks as `resampled`."""
        # The groups are permuted where they are exchangeable: among the examples of one class; with
        # units among those of one unit and class, such as the two sentences of a pair, and, of
        # units of one group such as persons, among whole units of the same classes. Every group
        # keeps its number of examples of each class. Nothing is yielded if that can change nothing.
        cells = Cells.of(self.counts[None])
        every = np.sort(self.cells) if self.units is None else self.cells
        group, pair = np.divmod(every, cells.whole)
        gold = pair // cells.outcomes
        # what is exchanged, with its group, and among what: examples, or whole units of one group
        exchanged, of_each, among = np.arange(len(gold)), group, gold
        if self.units is not None:
            of, blocks = list[int](), list[Hashable]()
            for i, rows in enumerate(self._of_units()):
                several = np.ptp(group[rows]) > 0
                for part in rows[:, None] if several else rows[None]:
                    exchanged[part] = len(of)
                    of.append(int(group[part[0]]))
                    blocks.append((i if several else None, *np.sort(gold[part]).tolist()))
            of_each, among = np.array(of), _codes(blocks, list(dict.fromkeys(blocks)))
        order = np.lexsort((of_each, among))
        if not ((np.diff(among[order]) == 0) & (np.diff(of_each[order]) != 0)).any():
            return
        place, drawn = cells.place(pair), np.empty_like(of_each)
        shape, n = cells.counts.shape[1:], len(order)
        for size in _blocks(draws, max(cells.counts.size, n)):
            counts = np.zeros((size, *shape), np.int64)
            for i in range(size):
                drawn[order] = of_each[np.argsort(among + rng.random(n))]
                drawn_cells = np.ravel_multi_index((drawn[exchanged], place), shape)
                counts[i] = np.bincount(drawn_cells, minlength=counts[i].size).reshape(shape)
            yield replace(cells, counts=counts)

    def empty(self) -> dict[str, list[str]]:
        """Return the classes without an example, for each group that has such."""
        lacking = self.counts.sum(axis=2) == 0
        return {
            group: [name for name, none in zip(self.classes, row, strict=True) if none]
            for group, row in zip(self.groups, lacking, strict=True)
            if row.any()
        }

    def unpredicted(self) -> list[str]:
        """Return the classes that nobody predicted."""
        never = self.counts.sum(axis=(0, 1)) == 0
        return [name for name, none in zip(self.outcomes, never, strict=True) if none]

    def first_shares(self) -> NDArray[np.float64]:
        """Return the share of the first group among the examples of each class, ``(classes,)``."""
        n = self.counts.sum(axis=2)
        total = n.sum(axis=0)
        shares: NDArray[np.float64] = np.divide(
            n[0], total, out=np.full(len(total), np.nan), where=total > 0
        )
        return shares


def _blocks(draws: int, each: int) -> Iterator[int]:
    """Yield the numbers of samples, of so many numbers each, to hold in memory at one time."""
    step = max(1, _AT_ONCE // each)
    for start in range(0, draws, step):
        yield min(step, draws - start)


def _chosen(groups: set[str], order: Sequence[str] | None) -> tuple[str, ...]:
    chosen = in_order(groups) if order is None else tuple(dict.fromkeys(order))
    for group in chosen:
        if group not in groups:
            raise WordbiasError(
                f"--values: no example is of the group {group!r}; groups there are: "
                f"{listed(in_order(groups))}"
            )
    if len(chosen) < 2:
        only = f"only {chosen[0]!r}" if chosen else "none"
        raise WordbiasError(f"expected examples of two groups at least, found {only}")
    return chosen


def _classes(outcomes: set[str], gold: set[str], abstentions: Sequence[str]) -> tuple[str, ...]:
    both = gold.intersection(abstentions)
    if both:
        raise WordbiasError(f"{listed(in_order(both))}: is both a label and no answer")
    known = in_order(outcomes.difference(abstentions))
    if len(known) < 2:
        raise WordbiasError(
            f"all labels and predictions are {listed(known or abstentions)}; "
            "to classify takes two classes"
        )
    return known


def _codes(values: Sequence[Hashable], names: Sequence[Hashable]) -> Places:
    places = {name: i for i, name in enumerate(names)}
    return np.fromiter((places[value] for value in values), np.intp, len(values))


def in_order(names: Collection[str]) -> tuple[str, ...]:
    """Sort names, as numbers if all are whole numbers."""
    numbers = all(name.isascii() and name.isdecimal() for name in names)
    return tuple(sorted(names, key=(lambda name: (int(name), name)) if numbers else None))


# samples of a table, most of whose cells are empty


@dataclass(frozen=True, eq=False)
class Cells:
    """Samples of a table of counts by group, class and prediction."""

    # With thousands of classes a table has millions of cells, but no more than its examples are
    # filled. Only the pairs of class and prediction that occur are held: time is proportional to
    # their number.

    # counts of each pair of class and prediction that occurs, shape `(samples, groups, pairs)`
    counts: Counts
    gold: Places  # class and prediction of each pair, sorted by class and then by prediction
    outcome: Places
    classes: int  # numbers of classes and of predictions; the classes come first among the outcomes
    outcomes: int

    @classmethod
    def of(cls, counts: Counts) -> Cells:
        """Take samples of whole tables, shape ``(samples, groups, classes, outcomes)``."""
        gold, outcome = np.nonzero(counts.any(axis=(0, 1)))
        return cls(counts[:, :, gold, outcome], gold, outcome, *counts.shape[2:])

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def whole(self) -> int:
        """Number of cells of one group in a whole table."""
        return self.classes * self.outcomes

    def place(self, pair: Places) -> Places:
        """Return the place here of pairs, numbered class · outcomes + outcome."""
        return np.searchsorted(self.gold * self.outcomes + self.outcome, pair)

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
        return _sums(np.take(self.counts, order, axis=-1), self.outcome[order], self.outcomes)

    def right(self) -> Counts:
        """Count the right predictions of each class, shape ``(samples, groups, classes)``."""
        same = np.flatnonzero(self.gold == self.outcome)
        right = np.zeros((*self.counts.shape[:2], self.classes), np.int64)
        right[..., self.gold[same]] = self.counts[..., same]
        return right

    def answered(self) -> Cells:
        """Leave out predictions that are no class."""
        places = np.flatnonzero(self.outcome < self.classes)
        return Cells(
            self.counts[..., places],
            self.gold[places],
            self.outcome[places],
            self.classes,
            self.classes,
        )

    def by_class(self) -> Iterator[tuple[Places, Counts]]:
        """Yield classes with similar numbers of pairs, and their counts."""
        # The counts have the shape (samples, groups, rows, width), with 0 where a row is shorter.
        yield from self._rows(np.arange(len(self.gold)), self.gold, self.classes, self.outcomes)

    def by_outcome(self) -> Iterator[tuple[Places, Counts]]:
        """Yield predictions with similar numbers of pairs, and their counts, as `by_class` does."""
        order = np.argsort(self.outcome, kind="stable")
        yield from self._rows(order, self.outcome[order], self.outcomes, self.classes)

    def _rows(
        self, pairs: Places, row_of: Places, count: int, most: int
    ) -> Iterator[tuple[Places, Counts]]:
        padded = np.concatenate([self.counts, np.zeros_like(self.counts[..., :1])], axis=-1)
        for rows, row, column, width in pieces(row_of, count, most):
            place = np.full((len(rows), width), len(pairs))  # that of the 0 where a row is shorter
            inside = np.isin(row_of, rows) if len(rows) < count else slice(None)
            place[row, column] = pairs[inside]
            yield rows, np.take(padded, place, axis=-1)


def pieces(row_of: Places, count: int, most: int) -> Iterator[tuple[Places, Places, Places, int]]:
    """Group rows of similar lengths, to pad them to one width: rows, row, column, width."""
    # `row` and `column` are the position of each entry among these rows and within its row. All
    # rows of a small table form one group.
    sizes = np.bincount(row_of, minlength=count)
    column = np.arange(len(row_of)) - (np.cumsum(sizes) - sizes)[row_of]
    if count * most <= _SMALL:
        yield np.arange(count), row_of, column, int(sizes.max(initial=0))
        return
    power = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.intp)
    for exponent in np.unique(power):
        rows = np.flatnonzero(power == exponent)
        inside = power[row_of] == exponent
        place = np.searchsorted(rows, row_of[inside])
        yield rows, place, column[inside], int(sizes[rows].max())


def _sums(counts: Counts, keys: Places, count: int) -> Counts:
    """Sum the counts of each key; the last axis has one key for each entry, sorted."""
    total = np.zeros((*counts.shape[:-1], len(keys) + 1), np.int64)
    np.cumsum(counts, axis=-1, out=total[..., 1:])
    ends = np.searchsorted(keys, np.arange(count + 1))
    return total[..., ends[1:]] - total[..., ends[:-1]]


# rates


def rates_of(
    tp: Counts, positives: Counts, called: Counts, *, as_published: bool = False
) -> dict[str, Values]:
    """Compute the four rates of every class, one class against all others.

    TPR = TP/(TP+FN), FPR = FP/(FP+TN), precision = TP/(TP+FP), F1 = 2·TP/(2·TP+FP+FN).
    """
    # As in the released code of Orgad et al. (2022, bio/Trainer.py) precision is TP divided by the
    # number of all examples, of every group and class, and F1 = 2pr/(p+r) of it. Such numbers are
    # near 0 and cannot give the tables of the paper, which fit TP/(TP+FP), the default.
    n = positives.sum(axis=-1, keepdims=True)
    fp = called - tp
    rates = {"tpr": ratio(tp, positives), "fpr": ratio(fp, n - positives)}
    if as_published:
        p = ratio(tp, n.sum(axis=-2, keepdims=True))
        total = p + rates["tpr"]
        f1 = np.where(total == 0, 0.0, ratio(2 * p * rates["tpr"], total))
        return {**rates, "precision": p, "f1": f1}
    return {**rates, "precision": ratio(tp, called), "f1": ratio(2 * tp, positives + called)}


def ratio(a: NDArray[Any], b: NDArray[Any]) -> Values:
    """Divide, broadcasting; nan where `b` is 0 or nan."""
    # in one layout, so that sums over it are equal to the last digit
    quotient: Values = np.divide(a, np.where(b > 0, b, np.nan), order="C")
    return quotient
