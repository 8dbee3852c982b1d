"""Metrics of group fairness of samples of counts, by array arithmetic (Orgad et al. 2022, §2.1.1).

Independence, separation and sufficiency compare a distribution given the group with the same
distribution over all groups. As that mixture contains every group, all distances are finite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, need
from wordbias.outcomes.confusion import Cells, Counts, Values, rates_of, ratio
from wordbias.progress import Bar, progress
from wordbias.statistics import SAMPLES

LEAST = 3
"""Two classes always correlate perfectly."""
_CONSTANT = 1e-12
_BY_POT = 1000
"""Number of pairs of distributions up to which POT computes their distances."""
_AT_ONCE = 1 << 21  # cells of whole tables that are held at one time
DISTANCES = ("total-variation", "positions", "costs")
Distance = Callable[[Values, Values], Values]
"""Function from two arrays of distributions ``(…, n)``, which broadcast, to distances ``(…,)``."""
Aggregate = Literal["sum", "difference"]


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings of the metrics."""

    # as the released code of Orgad et al. (2022): precision TP/N, separation and sufficiency as Σ
    # |D(first) − D(second)|, sufficiency over positions, abstentions left out of separation.
    as_published: bool = False
    # distance of sufficiency, one of `DISTANCES`. By default `costs` if they are given, `positions`
    # as published, else `total-variation`, which does not depend on how classes are spelled.
    distance: str | None = None
    # costs of mistaking one class for another, shape `(classes, classes)`
    costs: Values | None = None
    # positions of the classes; by default 0, 1, 2 … in alphabetical order
    positions: Values | None = None
    draws: int = SAMPLES  # number of bootstrap samples of the examples; 0 for no intervals
    seed: int = 0

    @property
    def distance_name(self) -> str:
        """Name of the distance of sufficiency."""
        usual = "positions" if self.as_published else "total-variation"
        return self.distance or ("costs" if self.costs is not None else usual)

    @property
    def aggregate(self) -> Aggregate:
        """Aggregation of the distances of the groups."""
        return "difference" if self.as_published else "sum"

    def distance_between(self, classes: int) -> Distance:
        """Return the distance of sufficiency."""
        if self.distance_name == "total-variation":
            return total_variation
        if self.distance_name == "positions":
            given = np.arange(classes) if self.positions is None else self.positions
            return along_positions(np.asarray(given, dtype=np.float64))
        if self.distance_name != "costs":
            raise WordbiasError(
                f"distance {self.distance_name!r}: expected one of {', '.join(DISTANCES)}"
            )
        shape = None if self.costs is None else np.shape(self.costs)
        if self.costs is None or shape != (classes, classes):
            raise WordbiasError(f"expected costs of shape {(classes, classes)}, found {shape}")
        return along_costs(self.costs)


@dataclass(frozen=True, eq=False)
class Metric:
    """One metric of `b` samples."""

    total: Values  # sum, shape `(b,)`
    parts: Values  # terms of the sum, one for each class or group, shape `(b, n)`
    # correlation with the share of the first group in each class, shape `(b,)`, if the metric has a
    # sign
    correlation: Values | None = None

    def joined(self) -> Values:
        """Return total, correlation and parts side by side, shape ``(b, 2 + n)``."""
        r = np.full(len(self.total), np.nan) if self.correlation is None else self.correlation
        return np.concatenate([self.total[:, None], r[:, None], self.parts], axis=1)


def metrics(
    counts: Cells | Counts, shares: Values, settings: Settings, distance: Distance
) -> dict[str, Metric]:
    """Compute all metrics of samples of counts, `Cells` or (b, groups, classes, outcomes)."""
    cells = counts if isinstance(counts, Cells) else Cells.of(counts)
    published, groups = settings.as_published, cells.counts.shape[1]
    right, positives, called = cells.right(), cells.of_classes(), cells.of_outcomes()
    accuracy, of_groups = _accuracy(right, positives)
    by_name = {"accuracy": Metric(accuracy, of_groups)}
    rates = rates_of(right, positives, called[..., : cells.classes], as_published=published)
    for name, rate in rates.items():
        gap = gaps(rate)
        r = gap_correlation(gap, shares) if groups == 2 else None
        by_name[f"{name}-gap"] = Metric(sum_defined(np.abs(gap)), gap, r)
    divergences = kl_from_mixture(called)
    by_name["independence"] = Metric(sum_defined(divergences), divergences)
    for name, distances in (
        ("separation", _separation(cells.answered() if published else cells)),
        ("sufficiency", _sufficiency(cells, distance)),
    ):
        parts = by_class(distances, settings.aggregate)
        by_name[name] = Metric(sum_defined(parts), parts)
    return by_name


def _separation(cells: Cells) -> Values:
    distances = np.full((len(cells), cells.classes, cells.counts.shape[1]), np.nan)
    for rows, counts in cells.by_class():
        distances[:, rows] = separation(counts)
    return distances


def _sufficiency(cells: Cells, distance: Distance) -> Values:
    """Compare the classes that occur, or whole tables if the distance depends on the classes."""
    distances = np.full((len(cells), cells.outcomes, cells.counts.shape[1]), np.nan)
    if distance is total_variation:
        for rows, counts in cells.by_outcome():
            distances[:, rows] = sufficiency(np.swapaxes(counts, -2, -1), distance)
        return distances
    step = max(1, _AT_ONCE // (cells.counts.shape[1] * cells.classes * cells.outcomes))
    for start in range(0, len(cells), step):
        block = replace(cells, counts=cells.counts[start : start + step])
        distances[start : start + step] = sufficiency(block.dense(), distance)
    return distances


def sampled(
    blocks: Iterable[Cells | Counts],
    shares: Values,
    settings: Settings,
    distance: Distance,
    bar: Bar | None = None,
) -> dict[str, Values]:
    """Compute all metrics of samples that come in blocks, (b, 2 + n) each; a bar counts them."""
    by_name: dict[str, list[Values]] = {}
    for block in blocks:
        for name, metric in metrics(block, shares, settings, distance).items():
            by_name.setdefault(name, []).append(metric.joined())
        if bar is not None:
            bar.update(len(block))
    return {name: np.concatenate(parts) for name, parts in by_name.items()}


def _accuracy(of_classes: Counts, positives: Counts) -> tuple[Values, Values]:
    right, n = of_classes.sum(axis=-1), positives.sum(axis=-1)
    return ratio(right.sum(axis=-1), n.sum(axis=-1)), ratio(right, n)


# gaps


def gaps(rate: Values) -> Values:
    """Return the gap of each class, (…, classes), of rates (…, groups, classes)."""
    # With two groups the first minus the second, such as F − M; with more the largest minus the
    # smallest, which has no sign. Nan where a group has no rate.
    if rate.shape[-2] == 2:
        return np.subtract(rate[..., 0, :], rate[..., 1, :])
    missing: NDArray[np.bool_] = np.isnan(rate)
    known = np.where(missing.any(axis=-2, keepdims=True), 0, rate)
    return np.where(missing.any(axis=-2), np.nan, known.max(axis=-2) - known.min(axis=-2))


def gap_correlation(gap: Values, shares: Values) -> Values:
    """Correlate the gaps of classes (…, classes) with the share of the first group in each: P."""
    # Pearson's r over the classes that have both; nan with fewer than three, or where one of the
    # two is the same for all.
    both = np.isfinite(gap) & np.isfinite(shares)
    x, y = (_centred(np.where(both, values, 0), both) for values in (shares, gap))
    norms = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    defined = (both.sum(axis=-1) >= LEAST) & (norms > 0)
    products = (x * y).sum(axis=-1)
    r = np.divide(products, norms, out=np.full(norms.shape, np.nan), where=defined)
    clipped: Values = np.clip(r, -1, 1)
    return clipped


def _centred(values: Values, among: NDArray[np.bool_]) -> Values:
    """Centre over `among` and scale to at most 1, so that no square underflows; 0 if constant."""
    n = np.maximum(among.sum(axis=-1, keepdims=True), 1)
    largest = np.abs(values).max(axis=-1, keepdims=True)
    centred = np.where(among, values - values.sum(axis=-1, keepdims=True) / n, 0)
    spread = np.abs(centred).max(axis=-1, keepdims=True)
    varies = spread > _CONSTANT * largest
    return np.where(varies, centred / np.where(varies, spread, 1), 0)


def undefined_because(gap: Values, shares: Values, groups: int) -> str:
    """Return why gaps, shape ``(classes,)``, have no correlation with shares, or nothing."""
    if groups > 2:
        return f"{groups} groups have no signed gap; name two with --values"
    both = np.isfinite(gap) & np.isfinite(shares)
    if (n := int(both.sum())) < LEAST:
        have = "class has" if n == 1 else "classes have"
        return f"{n} {have} a gap and a share, needed are {LEAST}"
    if not _centred(shares * both, both).any():
        return "the share is the same in every class; give those of the training data or a file"
    if not _centred(np.where(both, gap, 0), both).any():
        return "the gap is the same in every class"
    return ""


# divergences


def separation(counts: Counts) -> Values:
    """Return KL(P(r|y,z) ‖ P(r|y)) of each class and group, (…, classes, groups), in nats."""
    # nan where a group has no example of the class.
    return kl_from_mixture(np.swapaxes(counts, -3, -2))


def sufficiency(counts: Counts, distance: Distance) -> Values:
    """Return D(P(y|r,z), P(y|r)) of each prediction and group, (…, outcomes, groups)."""
    # nan where nobody in the group has the prediction.
    cells = np.moveaxis(counts, -1, -3)
    n = cells.sum(axis=-1, keepdims=True)
    among = n[..., 0] > 0
    given = np.where(among[..., None], ratio(cells, n), 0)
    overall = ratio(cells.sum(axis=-2, keepdims=True), n.sum(axis=-2, keepdims=True))
    distances = distance(given, np.where(np.isnan(overall), 0, overall))
    return np.where(among, distances, np.nan)


def by_class(distances: Values, how: Aggregate = "sum") -> Values:
    """Aggregate the distances (…, classes, groups) of the groups in each class: (…, classes)."""
    # `sum` is the paper's text: over the groups that have examples. `difference` is its released
    # code: |D(first group) − D(second)|, which is 0 for groups that are mirror images of each
    # other, and undefined in a class in which one of them has no example.
    if how == "difference":
        if distances.shape[-1] != 2:
            raise WordbiasError(
                "the published aggregation is a difference of two groups, found "
                f"{distances.shape[-1]}; name two with --values"
            )
        return np.abs(distances[..., 0] - distances[..., 1])
    return sum_defined(distances)


def sum_defined(values: Values) -> Values:
    """Sum the defined values over the last axis; nan if there is none."""
    undefined = np.isnan(values)
    return np.where(undefined.all(axis=-1), np.nan, np.where(undefined, 0, values).sum(axis=-1))


def kl_from_mixture(counts: Counts) -> Values:
    """Return the KL divergence, in nats, of each group's (…, groups, n) from their mixture."""
    n = counts.sum(axis=-1, keepdims=True)
    overall = counts.sum(axis=-2, keepdims=True)
    expected = n * (overall / np.maximum(overall.sum(axis=-1, keepdims=True), 1))
    there = counts > 0
    logs = np.log(np.where(there, counts / np.where(there, expected, 1), 1))
    total = np.maximum((counts * logs).sum(axis=-1), 0)  # rounding may leave -1e-17
    return ratio(total, n[..., 0])


# distances of sufficiency


def total_variation(p: Values, q: Values) -> Values:
    """Return ½ Σ|p − q|, the Wasserstein distance if all classes are equally distant."""
    total: Values = np.abs(p - q).sum(axis=-1) / 2
    return total


def along_positions(positions: Values) -> Distance:
    """Return the Wasserstein-1 distance of classes on a line, as published."""
    # The released code takes the numbers of the classes in alphabetical order as positions: the
    # cost of a mistake depends on spelling. Values come from POT (ot.wasserstein_1d) where it is
    # installed; without it, and for the draws of intervals, where it is 90 times slower, from the
    # closed form: the area between the cumulative shares, equal to 1e-13.
    steps, has_pot = np.diff(positions), find_spec("ot") is not None

    def distance(p: Values, q: Values) -> Values:
        p, q = np.broadcast_arrays(p, q)
        moved: Values = np.asarray(np.abs(np.cumsum(p - q, axis=-1)[..., :-1]) @ steps)
        there = (p.sum(axis=-1) > 0) & (q.sum(axis=-1) > 0)
        if has_pot and 0 < there.sum() <= _BY_POT:
            ot = need("ot", extra="fairness", purpose="the Wasserstein distance")

            at = np.repeat(positions[:, None], there.sum(), axis=1)
            moved[there] = ot.wasserstein_1d(at, at, p[there].T.copy(), q[there].T.copy(), p=1)
        return moved

    return distance


def along_costs(costs: Values) -> Distance:
    """Return the Wasserstein-1 distance under given costs of mistaking one class for another."""
    # Solved exactly by POT (ot.emd2), one linear program for each pair of distributions.
    ot = need("ot", extra="fairness", purpose="the Wasserstein distance under given costs")
    costs = np.ascontiguousarray(costs, dtype=np.float64)

    def distance(p: Values, q: Values) -> Values:
        p, q = np.broadcast_arrays(p, q)
        distances = np.zeros(p.shape[:-1])
        differs = (np.abs(p - q).sum(axis=-1) > 0) & (p.sum(axis=-1) > 0) & (q.sum(axis=-1) > 0)
        with progress("transport", int(differs.sum()), "pair") as bar:
            for place in np.ndindex(distances.shape):
                if differs[place]:
                    distances[place] = ot.emd2(p[place].copy(), q[place].copy(), costs)
                    bar.update(1)
        return distances

    return distance
