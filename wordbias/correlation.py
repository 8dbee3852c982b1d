"""Correlation of two measures over embeddings or runs, and how far it can be trusted."""

from __future__ import annotations

import math
from itertools import permutations
from typing import NamedTuple

import numpy as np

from wordbias.statistics import (
    LEAST_PAIRS,
    Z95,
    Array,
    Interval,
    is_constant,
    p_of_null,
    percentile_interval,
    resampled_cells,
    weighted_spearman,
)

METHODS = ("pearson", "spearman")
DRAWS = 40_000
"""Number of bootstrap samples: over few embeddings r has long tails, whose ends need many."""
_AT_A_TIME = 1000
_EXACT_RANKS = 8  # number of pairs from which Spearman's p is approximate
_ROUNDING = 1e-12  # spread of values of at most 1 that are equal but for rounding


class Correlation(NamedTuple):
    """Correlation of two measures; `r` and `p` are None if undefined, with a `reason`."""

    x: str
    y: str
    r: float | None
    n: int
    p: float | None
    reason: str = ""


class Robustness(NamedTuple):
    """Interval of a correlation, and what it is without each pair."""

    # interval at 95 % over pairs that are drawn again, which need not be normal. It is too narrow
    # for few pairs. Draws in which a side has a single value are left out; None if all do.
    bootstrap: Interval | None
    without: Array  # coefficient without each pair, shape `(n,)`; nan where it is undefined
    driver: int  # pair whose absence changes the coefficient most, or leaves it undefined


def correlation(x: tuple[str, Array], y: tuple[str, Array], method: str) -> Correlation:
    """Correlate two named columns over the rows with both values; nan is a missing value."""
    from scipy import stats

    both = np.isfinite(x[1]) & np.isfinite(y[1])
    n = int(both.sum())
    if n < LEAST_PAIRS:
        reason = f"{n} embeddings have both {x[0]} and {y[0]}, needed are {LEAST_PAIRS}"
        return Correlation(x[0], y[0], None, n, None, reason)
    for name, column in (x, y):
        if is_constant(column[both]):
            reason = f"{name} is constant over the {n} embeddings that have both"
            return Correlation(x[0], y[0], None, n, None, reason)
    a, b = (_scaled(column[both]) for _, column in (x, y))
    test = (stats.pearsonr if method == "pearson" else stats.spearmanr)(a, b)
    r = min(1.0, max(-1.0, float(test.statistic)))
    p = exact_spearman_p(a, b) if method == "spearman" and n < _EXACT_RANKS else float(test.pvalue)
    return Correlation(x[0], y[0], r, n, p)


def _scaled(values: Array) -> Array:
    """Return values divided by the largest: squares of these do not overflow."""
    scaled: Array = values / np.abs(values).max()
    return scaled


def exact_spearman_p(x: Array, y: Array) -> float:
    """Return the two-sided p of ρ: the share of all orders of `y` that correlate as much."""
    # For few pairs only. The t approximation gives 0 where ρ is 1.
    from scipy.stats import rankdata

    centred = [ranks - ranks.mean() for ranks in (rankdata(x), rankdata(y))]
    products = np.abs(np.array(list(permutations(centred[1]))) @ centred[0])
    return p_of_null(products, products[0] - 1e-9, exact=True)


def fisher_interval(r: float, n: int, method: str = "pearson") -> Interval | None:
    """Return the 95 % interval of a correlation of `n` pairs (Fisher 1921); None below four pairs.

    artanh r is nearly normal, with the variance :math:`1/(n-3)` for Pearson's r of normal values
    and :math:`(1+r^2/2)/(n-3)` for Spearman's (Bonett and Wright 2000). None also where Spearman's
    ρ is 1 or −1: ranks of few pairs agree fully by chance.
    """
    if n < 4 or (method == "spearman" and abs(r) == 1):
        return None
    if abs(r) == 1:
        return Interval(r, r)
    variance = (1 + r**2 / 2 if method == "spearman" else 1) / (n - 3)
    half = Z95 * math.sqrt(variance)
    return Interval(math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half))


def robustness(x: Array, y: Array, method: str, seed: int = 0) -> Robustness | None:
    """Draw pairs of finite values (n,) again, and leave out each once; None for three pairs."""
    # Two are left without one of three, and always correlate fully.
    n = len(x)
    if n <= LEAST_PAIRS:
        return None
    weighted = weighted_pearson if method == "pearson" else weighted_spearman
    a, b = _scaled(x), _scaled(y)
    rng, once = np.random.default_rng(seed), np.ones(n, np.intp)
    drawn = np.concatenate(
        [
            weighted(a, b, resampled_cells(once, rng, _AT_A_TIME).astype(np.float64))
            for _ in range(DRAWS // _AT_A_TIME)
        ]
    )
    without = weighted(a, b, 1 - np.eye(n))
    moved = np.abs(without - weighted(a, b, np.ones((1, n))))
    return Robustness(
        None if np.isnan(drawn).all() else percentile_interval(drawn),
        without,
        int(np.nan_to_num(moved, nan=np.inf).argmax()),
    )


def weighted_pearson(x: Array, y: Array, times: Array) -> Array:
    """Return r of samples in which pair `i` occurs ``times[s, i]`` times, shape ``(s,)``."""
    # nan where a sample has a single value of `x` or of `y`. Values are at most 1.
    n = times.sum(axis=1)
    a, b = (values - (np.einsum("sn,n->s", times, values) / n)[:, None] for values in (x, y))
    product = np.einsum("sn,sn,sn->s", times, a, b)
    squares = [np.einsum("sn,sn,sn->s", times, side, side) for side in (a, b)]
    defined = np.logical_and(*(square > n * _ROUNDING**2 for square in squares))
    r = np.full(len(times), np.nan)
    np.divide(product, np.sqrt(squares[0] * squares[1]), out=r, where=defined)
    clipped: Array = np.clip(r, -1, 1)
    return clipped
