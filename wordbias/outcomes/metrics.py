"""All metrics of group fairness of samples of one table of counts, by array arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.outcomes.cells import Cells, Counts
from wordbias.outcomes.divergences import (
    Aggregate,
    Distance,
    along_costs,
    along_positions,
    by_class,
    kl_from_mixture,
    separation,
    sufficiency,
    sum_defined,
    total_variation,
)
from wordbias.outcomes.gaps import gap_correlation, gaps
from wordbias.outcomes.rates import Values, rates_of, ratio
from wordbias.progress import Bar
from wordbias.statistics import SAMPLES

_AT_ONCE = 1 << 21  # cells of whole tables that are held at one time
DISTANCES = ("total-variation", "positions", "costs")


@dataclass(frozen=True, eq=False)
class Settings:
    """How to measure.

    Attributes
    ----------
    as_published
        As the released code of Orgad et al. (2022): precision TP/N, separation and sufficiency as
        Σ |D(first) − D(second)|, sufficiency over positions, abstentions left out of separation.
    distance
        Of sufficiency, one of `DISTANCES`. By default `costs` if there are such, `positions` as
        published, and else `total-variation`, which does not depend on how classes are spelled.
    costs
        Of taking one class for another, shape ``(classes, classes)``.
    positions
        Of the classes; by default 0, 1, 2 … in alphabetical order.
    draws
        Bootstrap samples of the examples; 0 for no intervals.
    """

    as_published: bool = False
    distance: str | None = None
    costs: Values | None = None
    positions: Values | None = None
    draws: int = SAMPLES
    seed: int = 0

    @property
    def distance_name(self) -> str:
        """Return which distance sufficiency takes."""
        usual = "positions" if self.as_published else "total-variation"
        return self.distance or ("costs" if self.costs is not None else usual)

    @property
    def aggregate(self) -> Aggregate:
        """Return how the distances of the groups are made one number."""
        return "difference" if self.as_published else "sum"

    def distance_between(self, classes: int) -> Distance:
        """Return the distance of sufficiency.

        Raises
        ------
        WordbiasError
            If it is unknown, lacks its costs, or needs a package that is missing.
        """
        if self.distance_name == "total-variation":
            return total_variation
        if self.distance_name == "positions":
            given = np.arange(classes) if self.positions is None else self.positions
            return along_positions(np.asarray(given, dtype=np.float64))
        if self.distance_name != "costs":
            raise WordbiasError(
                f"distance {self.distance_name!r}: expected one of {', '.join(DISTANCES)}"
            )
        found = None if self.costs is None else np.shape(self.costs)
        if self.costs is None or found != (classes, classes):
            raise WordbiasError(f"expected costs of shape {(classes, classes)}, found {found}")
        return along_costs(self.costs)


@dataclass(frozen=True, eq=False)
class Metric:
    """One metric of `b` samples.

    Attributes
    ----------
    total
        Shape ``(b,)``.
    parts
        What the total is of: one for each class or group, shape ``(b, n)``.
    correlation
        With the share of the first group in each class, shape ``(b,)``, where it has a sign.
    """

    total: Values
    parts: Values
    correlation: Values | None = None

    def joined(self) -> Values:
        """Return total, correlation and parts side by side, shape ``(b, 2 + n)``."""
        r = np.full(len(self.total), np.nan) if self.correlation is None else self.correlation
        return np.concatenate([self.total[:, None], r[:, None], self.parts], axis=1)


def metrics(
    counts: Cells | Counts, shares: Values, settings: Settings, distance: Distance
) -> dict[str, Metric]:
    """Compute every metric of samples of counts.

    Parameters
    ----------
    counts
        Cells, or whole tables of the shape ``(b, groups, classes, outcomes)``.
    shares
        Of the first group in each class, shape ``(classes,)``.
    distance
        Of sufficiency.

    Returns
    -------
    dict
        `accuracy` with that of each group; four gaps with those of each class; `independence`
        with that of each group; `separation` of each class; `sufficiency` of each prediction.
    """
    cells = counts if isinstance(counts, Cells) else Cells.of(counts)
    published, groups = settings.as_published, cells.counts.shape[1]
    right, positives, called = cells.right(), cells.of_classes(), cells.of_outcomes()
    accuracy, of_groups = _accuracy(right, positives)
    found = {"accuracy": Metric(accuracy, of_groups)}
    rates = rates_of(right, positives, called[..., : cells.classes], as_published=published)
    for name, rate in rates.items():
        gap = gaps(rate)
        r = gap_correlation(gap, shares) if groups == 2 else None
        found[f"{name}-gap"] = Metric(sum_defined(np.abs(gap)), gap, r)
    apart = kl_from_mixture(called)
    found["independence"] = Metric(sum_defined(apart), apart)
    for name, distances in (
        ("separation", _separation(cells.answered() if published else cells)),
        ("sufficiency", _sufficiency(cells, distance)),
    ):
        parts = by_class(distances, settings.aggregate)
        found[name] = Metric(sum_defined(parts), parts)
    return found


def _separation(cells: Cells) -> Values:
    found = np.full((len(cells), cells.classes, cells.counts.shape[1]), np.nan)
    for rows, counts in cells.by_class():
        found[:, rows] = separation(counts)
    return found


def _sufficiency(cells: Cells, distance: Distance) -> Values:
    """Compare within the classes that occur, unless it matters which these are."""
    found = np.full((len(cells), cells.outcomes, cells.counts.shape[1]), np.nan)
    if distance is total_variation:
        for rows, counts in cells.by_outcome():
            found[:, rows] = sufficiency(np.swapaxes(counts, -2, -1), distance)
        return found
    step = max(1, _AT_ONCE // (cells.counts.shape[1] * cells.classes * cells.outcomes))
    for start in range(0, len(cells), step):
        some = replace(cells, counts=cells.counts[start : start + step])
        found[start : start + step] = sufficiency(some.dense(), distance)
    return found


def sampled(
    blocks: Iterable[Cells | Counts],
    shares: Values,
    settings: Settings,
    distance: Distance,
    bar: Bar | None = None,
) -> dict[str, Values]:
    """Compute every metric of samples that come in blocks; a bar is moved by each sample.

    Returns
    -------
    dict
        For each metric `Metric.joined` of all samples, shape ``(b, 2 + n)``.
    """
    found: dict[str, list[Values]] = {}
    for block in blocks:
        for name, metric in metrics(block, shares, settings, distance).items():
            found.setdefault(name, []).append(metric.joined())
        if bar is not None:
            bar.update(len(block))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _accuracy(of_classes: Counts, positives: Counts) -> tuple[Values, Values]:
    right, n = of_classes.sum(axis=-1), positives.sum(axis=-1)
    return ratio(right.sum(axis=-1), n.sum(axis=-1)), ratio(right, n)
