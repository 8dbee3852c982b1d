"""Independence, separation and sufficiency: distances between distributions (P3, §2.1.1).

Each compares a distribution given the group with the same distribution over all groups. As that
mixture contains every group, all distances here are finite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.optional import need
from wordbias.outcomes.cells import Counts
from wordbias.outcomes.rates import Values, ratio
from wordbias.progress import progress

Distance = Callable[[Values, Values], Values]
"""Of two arrays of distributions, shapes ``(…, n)`` that broadcast, to their distances ``(…,)``."""
Aggregate = Literal["sum", "difference"]


def independence(counts: Counts) -> Values:
    """KL(P(r|z) ‖ P(r)) of each group: how predictions depend on the group.

    Parameters
    ----------
    counts
        Shape ``(…, groups, classes, outcomes)``.

    Returns
    -------
    ndarray
        In nats, shape ``(…, groups)``; nan for a group without examples.
    """
    return kl_from_mixture(counts.sum(axis=-2))


def separation(counts: Counts) -> Values:
    """KL(P(r|y,z) ‖ P(r|y)) of each class and group: how they do, given the gold class.

    Returns
    -------
    ndarray
        In nats, shape ``(…, classes, groups)``; nan where a group has no example of the class.
    """
    return kl_from_mixture(np.swapaxes(counts, -3, -2))


def sufficiency(counts: Counts, distance: Distance) -> Values:
    """D(P(y|r,z), P(y|r)) of each prediction and group: how gold classes do, given the prediction.

    Returns
    -------
    ndarray
        In the unit of `distance`, shape ``(…, outcomes, groups)``; nan where nobody in the group
        has the prediction.
    """
    cells = np.moveaxis(counts, -1, -3)
    n = cells.sum(axis=-1, keepdims=True)
    among = n[..., 0] > 0
    given = np.where(among[..., None], ratio(cells, n), 0)
    overall = ratio(cells.sum(axis=-2, keepdims=True), n.sum(axis=-2, keepdims=True))
    found = distance(given, np.where(np.isnan(overall), 0, overall))
    return np.where(among, found, np.nan)


def by_class(distances: Values, how: Aggregate = "sum") -> Values:
    """Make one number of the distances of the groups in each class.

    Parameters
    ----------
    distances
        Shape ``(…, classes, groups)``.
    how
        ``sum``, as the paper's text: of the groups that are there. ``difference``, as its released
        code: |D(first group) − D(second)|, which is 0 for groups that behave as mirror images,
        however unlike they are, and undefined in a class in which one of them has no example.

    Returns
    -------
    ndarray
        Shape ``(…, classes)``; nan where undefined.

    Raises
    ------
    WordbiasError
        If a difference is asked for, but not of two groups.
    """
    if how == "difference":
        if distances.shape[-1] != 2:
            raise WordbiasError(
                "the published aggregation is a difference of two groups, found "
                f"{distances.shape[-1]}; name two with --groups"
            )
        return np.abs(distances[..., 0] - distances[..., 1])
    return sum_defined(distances)


def sum_defined(values: Values) -> Values:
    """Sum over the last axis what is defined; nan where nothing is."""
    undefined = np.isnan(values)
    return np.where(undefined.all(axis=-1), np.nan, np.where(undefined, 0, values).sum(axis=-1))


def kl_from_mixture(counts: Counts) -> Values:
    """Kullback-Leibler divergence of each group's distribution from that of all groups.

    Parameters
    ----------
    counts
        Shape ``(…, groups, n)``.

    Returns
    -------
    ndarray
        In nats, shape ``(…, groups)``; nan for a group without counts.
    """
    n = counts.sum(axis=-1, keepdims=True)
    overall = counts.sum(axis=-2, keepdims=True)
    expected = n * (overall / np.maximum(overall.sum(axis=-1, keepdims=True), 1))
    there = counts > 0
    logs = np.log(ratio(counts, expected), out=np.zeros(counts.shape), where=there)
    total = np.maximum((counts * logs).sum(axis=-1), 0)  # rounding may leave -1e-17
    return ratio(total, n[..., 0])


def total_variation(p: Values, q: Values) -> Values:
    """½ Σ|p − q|: the Wasserstein distance where every two classes are equally far apart."""
    total: Values = np.abs(p - q).sum(axis=-1) / 2
    return total


def along_positions(positions: Values) -> Distance:
    """Return the Wasserstein-1 distance of classes on a line, as published.

    The released code takes the numbers of the classes in alphabetical order as positions, so that
    it is a matter of spelling how unlike two mistakes are.

    Parameters
    ----------
    positions
        Of the classes, increasing, shape ``(classes,)``.
    """
    steps = np.diff(positions)

    def distance(p: Values, q: Values) -> Values:
        moved: Values = np.abs(np.cumsum(p - q, axis=-1)[..., :-1]) @ steps
        return moved

    return distance


def along_costs(costs: Values) -> Distance:
    """Return the Wasserstein-1 distance under given costs of taking one class for another.

    Solved exactly by POT (``ot.emd2``), one linear program for each pair of distributions.

    Parameters
    ----------
    costs
        Shape ``(classes, classes)``.

    Raises
    ------
    WordbiasError
        If POT is not installed.
    """
    ot = need("ot", extra="fairness", purpose="the Wasserstein distance under given costs")
    costs = np.ascontiguousarray(costs, dtype=np.float64)

    def distance(p: Values, q: Values) -> Values:
        p, q = np.broadcast_arrays(p, q)
        found = np.zeros(p.shape[:-1])
        differs = (np.abs(p - q).sum(axis=-1) > 0) & (p.sum(axis=-1) > 0) & (q.sum(axis=-1) > 0)
        with progress("transport", int(differs.sum()), "pair") as bar:
            for place in np.ndindex(found.shape):
                if differs[place]:
                    found[place] = ot.emd2(p[place].copy(), q[place].copy(), costs)
                    bar.update(1)
        return found

    return distance
