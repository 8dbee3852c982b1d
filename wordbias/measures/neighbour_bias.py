r"""Bias by neighbours: do words lie among words of their side? (Gonen and Goldberg 2019).

.. math:: r\left(\cos(w, g),\ \frac{|\{v \in N_k(w) : \cos(v, g) > 0\}|}{k}\right)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordbias.measures.chance import Key, Null
from wordbias.measures.direction import Direction, projections
from wordbias.measures.gipe import (
    Neighbourhood,
    few_neighbours,
    forget_neighbourhood,
    neighbourhood_of,
)
from wordbias.measures.panel import Panel
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import resampled_means

Float = NDArray[np.float64]

MEASURE = "neighbour-bias"


def lean_and_share(near: Neighbourhood, direction: Direction) -> Float:
    """Return each query's lean, and its neighbours' share that leans to the first group, (q, 2)."""
    # Lean is that of the original.
    lean = projections(near.unit, direction.defined(), direction.towards)
    return np.stack([lean[near.queries], (lean > 0)[near.rows].mean(axis=1)], axis=1)


def moments(pairs: Float) -> Float:
    """Return both values of each pair less their means, squares and product, shape ``(q, 5)``."""
    x, y = (pairs - pairs.mean(axis=0)).T
    return np.stack([x, y, x * x, y * y, x * y], axis=1)


def correlation_of(means: Float) -> Float:
    """Return Pearson's r of means of `moments`, ``(…, 5)``; nan where all of one are equal."""
    x, y, xx, yy, xy = np.moveaxis(means, -1, 0)
    square = np.maximum(xx - x**2, 0) * np.maximum(yy - y**2, 0)
    correlations = np.full(square.shape, np.nan)
    np.divide(xy - x * y, np.sqrt(square), out=correlations, where=square > 0)
    return np.clip(correlations, -1, 1)


def neighbour_bias_rows(panel: Panel) -> list[Row]:
    """Correlate the lean of neutral words in the original with the sides of their neighbours."""
    direction, about = panel.original_direction, panel.against()
    if direction.subspace is None:
        return panel.undefined([MEASURE], direction.reason, **about)
    near = neighbourhood_of(panel)
    if near is None:
        return panel.undefined([MEASURE], few_neighbours(panel), **about)
    about |= {"k": near.rows.shape[1], "among": len(near.unit)}
    products = moments(lean_and_share(near, direction))
    value = float(correlation_of(products.mean(axis=0)))
    if np.isnan(value):
        reason = "undefined: all words have the same lean, or equally many neighbours of each side"
        return panel.undefined([MEASURE], reason, **about)
    samples = correlation_of(resampled_means(products, panel.rng()))
    return [panel.row(MEASURE, value, samples, n=len(products), **ideal(MEASURE), **about)]


def chance_of_neighbour_bias(panel: Panel, nulls: Sequence[Null]) -> dict[Key, Float]:
    """Correlate lean and neighbours along each null; nan without neighbours or a direction."""
    correlations = np.full(len(nulls), np.nan)
    near = None if panel.original_direction.subspace is None else neighbourhood_of(panel)
    forget_neighbourhood()
    for i, null in enumerate(nulls):
        if near is not None and null.direction is not None:
            along = moments(lean_and_share(near, null.direction))
            correlations[i] = correlation_of(along.mean(axis=0))
    return {(MEASURE, ""): correlations}
