"""Choice among many classifiers of the same texts: chosen on some texts, reported on others.

Of hundreds of classifiers, one may treat groups alike on the texts that it is chosen on by luck. So
it is chosen on one half and reported on the other, beside what the same choice among classifiers
without an effect finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from wordbias.errors import UsageError, WordbiasError, listed
from wordbias.outcomes.confusion import Confusion, Counts, Places, Values
from wordbias.outcomes.fairness import ACCURACY, DIVERGENCES, GAPS
from wordbias.outcomes.metrics import Settings, metrics
from wordbias.rendering import how_many
from wordbias.splits import combined, ranks
from wordbias.statistics import SAMPLES, resamples

MACRO_F1 = "macro-f1"
BY = (*GAPS, *DIVERGENCES)
"""Measures to choose by: the sum of absolute gaps, or of distances."""
LEAST = 2
"""Smallest number of texts of a class in a group that a gap is measured on."""
_AT_ONCE = 1 << 22  # cells of counts that are held at one time
Rule = Callable[[float, float, float, float], float | None]
"""A user's rule: accuracy before and after, gap before and after → score; the highest is chosen,
and None never."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Texts' classes and groups, as numbers."""

    classes: tuple[str, ...]  # their names; gaps are those of the first group minus the second
    groups: tuple[str, ...]
    labels: Places  # class and group of each example, shape `(n,)`
    of: Places
    # unit of each example, such as its person; None if each is its own
    units: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, rows: Places) -> Examples:
        """Return some of the examples."""
        units = None if self.units is None else [self.units[i] for i in rows]
        return replace(self, labels=self.labels[rows], of=self.of[rows], units=units)

    def check(self, where: str, least: int = LEAST) -> None:
        """Refuse what no gap can be measured on."""
        counts = np.zeros((len(self.groups), len(self.classes)), np.intp)
        np.add.at(counts, (self.of, self.labels), 1)
        there = counts[:, counts.any(axis=0)]
        if there.shape[1] < 2:
            raise WordbiasError(
                f"{where}: all texts are of one class, {self.classes[self.labels[0]]!r}; expected "
                "two classes or more"
            )
        if ((there > 0).sum(axis=0) < 2).all():
            raise WordbiasError(
                f"{where}: every class has texts of one group only; nothing can be compared "
                "within a class: give texts of both groups in each class"
            )
        for g, c in zip(*np.nonzero((counts < least) & counts.any(axis=0)), strict=True):
            raise WordbiasError(
                f"{where}: {how_many(int(counts[g, c]), 'text')} of class {self.classes[c]!r} in "
                f"group {self.groups[g]!r}, expected {least} at least; give more, leave the class "
                "out, or name other groups with --values"
            )

    def confusion(self, predicted: Places) -> Confusion:
        """Return the counts of one classifier, as those of a file of its predictions."""
        names = np.array(self.classes, object)
        return Confusion.of(
            names[self.labels],
            names[predicted],
            np.array(self.groups, object)[self.of],
            order=self.groups,
            units=self.units,
        )

    def values(self, predicted: Places) -> dict[str, Values]:
        """Measure many classifiers, of predicted classes (n, models): accuracy, macro F1, `BY`."""
        return measured(self._counts(column) for column in predicted.T)

    def resampled(
        self, predicted: Places, rng: np.random.Generator, draws: int = SAMPLES
    ) -> dict[str, Values]:
        """Measure the same bootstrap samples of units for each classifier: (models, draws)."""
        units = list(range(len(self))) if self.units is None else list(self.units)
        number = {unit: i for i, unit in enumerate(dict.fromkeys(units))}
        unit = np.array([number[key] for key in units])
        times = (
            np.bincount(rows, minlength=len(number))[unit]
            for block in resamples(len(number), rng, draws)
            for rows in block
        )
        by_measure = measured(
            self._counts(column, weights) for weights in times for column in predicted.T
        )
        return {
            name: values.reshape(-1, predicted.shape[1]).T for name, values in by_measure.items()
        }

    def _counts(self, predicted: Places, times: Places | None = None) -> Counts:
        """Count the predictions of one classifier, ``(groups, classes, classes)``."""
        shape = (len(self.groups), len(self.classes), len(self.classes))
        cells = np.ravel_multi_index((self.of, self.labels, predicted), shape)
        return np.bincount(cells, times, math.prod(shape)).reshape(shape).astype(np.int64)


def measured(tables: Iterable[Counts]) -> dict[str, Values]:
    """Return accuracy, macro F1 and each of `BY` of tables (groups, classes, classes)."""
    settings, remaining = Settings(), iter(tables)
    by_measure: dict[str, list[Values]] = {}
    for first in remaining:
        more = islice(remaining, _AT_ONCE // first.size)
        counts, classes = np.stack([first, *more]), first.shape[-1]
        distance = settings.distance_between(classes)
        totals = metrics(counts, np.full(classes, np.nan), settings, distance)
        for name in (ACCURACY, *BY):
            by_measure.setdefault(name, []).append(totals[name].total)
        by_measure.setdefault(MACRO_F1, []).append(macro_f1(counts))
    return {name: np.concatenate(blocks) for name, blocks in by_measure.items()}


def macro_f1(counts: Counts) -> Values:
    """Return the mean F1 of the classes that an example or a prediction has, ``(models,)``."""
    whole = counts.sum(axis=1)
    right = np.diagonal(whole, axis1=1, axis2=2)
    either = whole.sum(axis=1) + whole.sum(axis=2)
    f1 = np.divide(2 * right, either, out=np.zeros(right.shape), where=either > 0)
    mean: Values = f1.sum(axis=1) / np.maximum((either > 0).sum(axis=1), 1)
    return mean


def halves(examples: Examples, together: Sequence[Hashable], seed: int) -> tuple[Places, Places]:
    """Divide examples at random in two halves with equal shares of each class and group."""
    # What is `together`, such as the unit of each example, is in one half as a whole.
    cells = combined([examples.labels, examples.of])
    rows: dict[Hashable, list[int]] = {}
    for i, key in enumerate(together):
        rows.setdefault(key, []).append(i)
    kinds = [tuple(sorted(cells[of].tolist())) for of in rows.values()]
    number = {kind: i for i, kind in enumerate(dict.fromkeys(kinds))}
    rng = np.random.default_rng(seed)
    odd = rng.integers(2, size=len(number))  # the half that has one more, if there are so many
    codes = np.array([number[kind] for kind in kinds])
    second = (ranks(codes, rng) + odd[codes]) % 2
    parts = [
        np.sort([i for of, part in zip(rows.values(), second, strict=True) if part == half
                 for i in of])
        for half in (0, 1)
    ]  # fmt: skip
    if min(map(len, parts)) == 0:
        raise WordbiasError(
            f"{how_many(len(rows), 'unit')} of texts: to choose on one half and report on the "
            "other takes more; give --test FILE, or texts of more units"
        )
    return parts[0].astype(np.intp), parts[1].astype(np.intp)


class Limit(NamedTuple):
    """Loss of accuracy that is allowed: in points, or as a share of that before."""

    drop: float
    relative: bool = False

    def least(self, before: float) -> float:
        """Return the least accuracy that is allowed."""
        least = before * (1 - self.drop) if self.relative else before - self.drop
        return least - 1e-9


def choose(values: Mapping[str, Values], by: str, limit: Limit, rule: Rule | None = None) -> int:
    """Return the index of the classifier that is chosen; 0, the one before, if none is better."""
    accuracy, gap = values[ACCURACY], values[by]
    if rule is None:
        allowed = (accuracy >= limit.least(accuracy[0])) & np.isfinite(gap)
        rounded = np.where(allowed, gap, np.inf).round(12)  # sums in another order are ties
        return int(rounded.argmin()) if allowed.any() else 0
    scores = []
    for accuracy_now, other in zip(accuracy.tolist(), gap.tolist(), strict=True):
        score = rule(float(accuracy[0]), accuracy_now, float(gap[0]), other)
        try:
            number = -np.inf if score is None else float(score)
        except (TypeError, ValueError):
            raise WordbiasError(f"rule=: expected a number or None, got {score!r:.60}") from None
        scores.append(-np.inf if np.isnan(number) else number)
    return int(np.argmax(scores))


def check_by(by: str) -> None:
    """Refuse a measure that nothing can be chosen by."""
    if by not in BY:
        raise UsageError(f"--by {by}: expected one of {listed(BY)}")
