"""95 % intervals: of words that are drawn again with replacement, and of shares."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.threads import blas_threads

SAMPLES = 1000
Z95 = 1.959963984540054
"""Of a normal distribution, 95 % lie within so many standard deviations of the mean."""
_AT_ONCE = 1 << 21


class Interval(NamedTuple):
    """Interval at 95 %."""

    low: float
    high: float


def percentile_interval(samples: NDArray[np.float64]) -> Interval:
    """Return the middle 95 % of bootstrap values, shape ``(b,)``."""
    low, high = np.percentile(samples, [2.5, 97.5])
    return Interval(float(low), float(high))


def wilson(share: float, n: int) -> Interval:
    """Return Wilson's interval of a share of `n` (Wilson 1927)."""
    inflated = 1 + Z95**2 / n
    middle = (share + Z95**2 / (2 * n)) / inflated
    half = Z95 / inflated * math.sqrt(share * (1 - share) / n + (Z95 / (2 * n)) ** 2)
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def resampled_means(
    values: NDArray[np.float64], rng: np.random.Generator, samples: int = SAMPLES
) -> NDArray[np.float64]:
    """Means of bootstrap samples of the rows.

    Parameters
    ----------
    values
        One row a word, shape ``(n, m)``: `m` quantities drawn together.

    Returns
    -------
    ndarray
        Shape ``(samples, m)``.
    """
    n = len(values)
    step = max(1, _AT_ONCE // n)
    means = np.empty((samples, values.shape[1]))
    with blas_threads(1):  # so that the last bit does not depend on where it is computed
        for start in range(0, samples, step):
            rows = min(step, samples - start)
            drawn = rng.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
            means[start : start + rows] = counts @ values / n
    return means


def resampled_cells(
    counts: NDArray[np.intp], rng: np.random.Generator, samples: int = SAMPLES
) -> NDArray[np.intp]:
    """Bootstrap samples of words that fall into few cells, shape ``(samples, cells)``.

    What depends on words only through how many fall into each cell needs no word to be drawn.
    """
    return rng.multinomial(int(counts.sum()), counts / counts.sum(), samples)
