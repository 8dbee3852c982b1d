"""Spearman's correlation and its bootstrap, from the ranks of few distinct values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordbias.measures.bootstrap import SAMPLES, Interval, percentile_interval

_AT_ONCE = 1 << 21


def spearman(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Spearman's ρ of two samples of shape ``(n,)``, ties at their mean rank.

    nan where it is undefined: below two values, or where one side has only one.
    """
    return float(_weighted_spearman(x, y, np.ones((1, len(x))))[0]) if len(x) else float("nan")


def spearman_interval(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    rng: np.random.Generator,
    samples: int = SAMPLES,
) -> Interval | None:
    """95 % interval of ρ: pairs are drawn again with replacement, and ranked again.

    Samples in which ρ is undefined are left out; None if none remains.
    """
    n = len(x)
    step = max(1, _AT_ONCE // max(n, 1))
    found = []
    for start in range(0, samples if n else 0, step):
        size = min(step, samples - start)
        drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        found.append(_weighted_spearman(x, y, times.astype(np.float64)))
    values = np.concatenate([np.zeros(0), *found])
    values = values[~np.isnan(values)]
    return percentile_interval(values) if len(values) else None


def _weighted_spearman(
    x: NDArray[np.float64], y: NDArray[np.float64], times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """ρ of samples in which pair `i` stands ``times[s, i]`` times, shape ``(s,)``."""
    n = times.sum(axis=1, keepdims=True)
    a, b = (_ranks(values, times) - (n + 1) / 2 for values in (x, y))
    weighted = times * a
    product = np.einsum("sn,sn->s", weighted, b)
    square = np.einsum("sn,sn->s", weighted, a) * np.einsum("sn,sn,sn->s", times, b, b)
    rho = np.full(len(times), np.nan)
    np.divide(product, np.sqrt(square), out=rho, where=square > 0)
    clipped: NDArray[np.float64] = np.clip(rho, -1, 1)
    return clipped


def _ranks(values: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean rank, from 1, of every value in every sample, shape ``(s, n)``."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    counts = np.add.reduceat(times[:, order], first, axis=1)
    rank = np.cumsum(counts, axis=1) - (counts - 1) / 2
    group = np.empty(len(values), np.intp)
    group[order] = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(values))))
    return rank[:, group]
