"""All metrics of group fairness of samples of one table of counts, by array arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.fairness.confusion import Counts
from wordbias.fairness.divergences import (
    Aggregate,
    Distance,
    along_costs,
    along_positions,
    by_class,
    independence,
    separation,
    sufficiency,
    sum_defined,
    total_variation,
)
from wordbias.fairness.gaps import gap_correlation, gaps
from wordbias.fairness.rates import Values, rates, ratio
from wordbias.measures.bootstrap import SAMPLES
from wordbias.progress import Bar

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
    counts: Counts, shares: Values, settings: Settings, distance: Distance
) -> dict[str, Metric]:
    """Compute every metric of samples of counts.

    Parameters
    ----------
    counts
        Shape ``(b, groups, classes, outcomes)``.
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
    accuracy, of_groups = _accuracy(counts)
    found = {"accuracy": Metric(accuracy, of_groups)}
    for name, rate in rates(counts, as_published=settings.as_published).items():
        gap = gaps(rate)
        r = gap_correlation(gap, shares) if counts.shape[-3] == 2 else None
        found[f"{name}-gap"] = Metric(sum_defined(np.abs(gap)), gap, r)
    apart = independence(counts)
    found["independence"] = Metric(sum_defined(apart), apart)
    answered = counts[..., : counts.shape[-2]] if settings.as_published else counts
    for name, distances in (
        ("separation", separation(answered)),
        ("sufficiency", sufficiency(counts, distance)),
    ):
        parts = by_class(distances, settings.aggregate)
        found[name] = Metric(sum_defined(parts), parts)
    return found


def sampled(
    blocks: Iterable[Counts],
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


def _accuracy(counts: Counts) -> tuple[Values, Values]:
    right = np.diagonal(counts, axis1=-2, axis2=-1).sum(axis=-1)
    n = counts.sum(axis=(-2, -1))
    return ratio(right.sum(axis=-1), n.sum(axis=-1)), ratio(right, n)
