"""The one table every fairness metric is computed from: counts by group, gold class and prediction.

With 28 professions and two genders it has 1,568 cells, however many predictions there are; so a
thousand bootstrap samples are one multinomial draw over cells, those that are filled.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.outcomes.cells import Cells, Counts, pieces
from wordbias.statistics import resampled_cells

_AT_ONCE = 1 << 21  # cells of bootstrap samples that are held at one time


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often each group's examples of each class were predicted as what.

    Attributes
    ----------
    classes
        Labels in sorted order: as numbers if all are whole numbers.
    outcomes
        What can be predicted: the classes in the same order and then, where there is such a
        thing, answers that are no class, such as *None*.
    groups
        In the order of differences: the first minus the second.
    counts
        Shape ``(groups, classes, outcomes)``.
    left_out
        How many examples are in none of the groups.
    """

    classes: tuple[str, ...]
    outcomes: tuple[str, ...]
    groups: tuple[str, ...]
    counts: Counts
    left_out: int = 0

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
    ) -> Confusion:
        """Count examples.

        Parameters
        ----------
        labels, predicted, groups
            Gold class, prediction and group of each example; compared as text.
        order
            The groups to compare; by default all there are, sorted. Examples of other groups are
            left out and counted.
        classes
            Classes to have even if no example has them.
        abstentions
            Predictions that are no class. They are never right, and have no rates of their own.

        Raises
        ------
        WordbiasError
            If the three differ in length, fewer than two groups or classes are there, a group that
            is asked for is not, or an abstention is a label.
        """
        y, r, z = (list(map(str, values)) for values in (labels, predicted, groups))
        if not len(y) == len(r) == len(z):
            raise WordbiasError(
                "expected a label, a prediction and a group of each example; found "
                f"{len(y):,} labels, {len(r):,} predictions and {len(z):,} groups"
            )
        chosen = _chosen(set(z), order)
        everyone = len(z)
        if order is not None:
            kept = [i for i, group in enumerate(z) if group in chosen]
            y, r, z = ([values[i] for i in kept] for values in (y, r, z))
        known = _classes({*y, *r, *classes}, set(y), abstentions)
        outcomes = (*known, *abstentions)
        shape = (len(chosen), len(known), len(outcomes))
        places = (_codes(z, chosen), _codes(y, known), _codes(r, outcomes))
        cells = np.ravel_multi_index(places, shape)
        counts = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64)
        return cls(known, outcomes, chosen, counts, everyone - len(y))

    def resampled(self, draws: int, rng: np.random.Generator) -> Iterator[Cells]:
        """Yield bootstrap samples of the examples, in blocks."""
        cells = Cells.of(self.counts[None])
        filled = np.flatnonzero(self.counts)
        # the last cell takes what rounding leaves of the others' probabilities
        drawn_of = np.union1d(filled, self.counts.size - 1)
        group, pair = np.divmod(filled, self.counts[0].size)
        known = cells.gold * cells.outcomes + cells.outcome
        place = np.searchsorted(known, pair)
        for size in _blocks(draws, cells):
            found = resampled_cells(self.counts.ravel()[drawn_of], rng, size)
            counts = np.zeros((size, *cells.counts.shape[1:]), np.int64)
            counts[:, group, place] = found[:, : len(filled)]
            yield replace(cells, counts=counts)

    def alike(self, draws: int, rng: np.random.Generator) -> Iterator[Cells]:
        """Yield samples of a classifier that treats the groups alike, in blocks as `resampled`.

        Every group has as many examples of each class as here, and their predictions are drawn
        from P(r|y) of all groups.
        """
        cells = Cells.of(self.counts[None])
        n = self.counts.sum(axis=2)
        of_pair = cells.counts.sum(axis=(0, 1))
        p = of_pair / np.maximum(n.sum(axis=0), 1)[cells.gold]
        parts = list(pieces(cells.gold, cells.classes, cells.outcomes))
        rngs = [rng] if len(parts) == 1 else rng.spawn(len(parts))
        for size in _blocks(draws, cells):
            counts = np.zeros((size, *cells.counts.shape[1:]), np.int64)
            for (rows, row, column, width), of_part in zip(parts, rngs, strict=True):
                inside = np.isin(cells.gold, rows)
                last = cells.outcome[inside] == cells.outcomes - 1
                place = np.where(last, width, column)
                shares = np.zeros((len(rows), width + 1))
                shares[row, place] = p[inside]
                found = of_part.multinomial(n[:, rows], shares, (size, len(n), len(rows)))
                counts[:, :, inside] = found[:, :, row, place]
            yield replace(cells, counts=counts)

    def empty(self) -> dict[str, list[str]]:
        """Return the classes of which a group has no example, by group, where there are any."""
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
        """Return the share of the first group among the examples of each class, ``(classes,)``.

        Nan where a class has no example.
        """
        n = self.counts.sum(axis=2)
        total = n.sum(axis=0)
        shares: NDArray[np.float64] = np.divide(
            n[0], total, out=np.full(len(total), np.nan), where=total > 0
        )
        return shares


def _blocks(draws: int, cells: Cells) -> Iterator[int]:
    """Yield how many samples to hold at one time."""
    step = max(1, _AT_ONCE // cells.counts.size)
    for start in range(0, draws, step):
        yield min(step, draws - start)


def listed(names: Collection[str], most: int = 8) -> str:
    """List names in a message."""
    shown = ", ".join(list(names)[:most])
    return f"{shown} … ({len(names)} in all)" if len(names) > most else shown


def in_order(names: Collection[str]) -> tuple[str, ...]:
    """Sort names, as numbers if all are whole numbers."""
    numbers = all(name.isascii() and name.isdecimal() for name in names)
    return tuple(sorted(names, key=(lambda name: (int(name), name)) if numbers else None))


def _chosen(found: set[str], order: Sequence[str] | None) -> tuple[str, ...]:
    chosen = in_order(found) if order is None else tuple(dict.fromkeys(order))
    for group in chosen:
        if group not in found:
            raise WordbiasError(
                f"no example is of the group {group!r}; groups there are: {listed(in_order(found))}"
            )
    if len(chosen) < 2:
        only = f"only {chosen[0]!r}" if chosen else "none"
        raise WordbiasError(f"expected examples of two groups at least, found {only}")
    return chosen


def _classes(found: set[str], gold: set[str], abstentions: Sequence[str]) -> tuple[str, ...]:
    both = gold.intersection(abstentions)
    if both:
        raise WordbiasError(f"{listed(in_order(both))}: is both a label and no answer")
    known = in_order(found.difference(abstentions))
    if len(known) < 2:
        raise WordbiasError(
            f"all labels and predictions are {listed(known or abstentions)}; "
            "to classify takes two classes"
        )
    return known


def _codes(values: Sequence[str], names: Sequence[str]) -> NDArray[np.intp]:
    places = {name: i for i, name in enumerate(names)}
    return np.fromiter((places[value] for value in values), np.intp, len(values))
