"""A permutation test of two sets of numbers: exact where that is feasible, else sampled."""

from __future__ import annotations

from math import comb
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError

Alternative = Literal["greater", "two-sided"]
Array = NDArray[np.float64]

MAX_EXACT = 200_000
PARTITIONS = 100_000
TIE = 1e-12
_AT_ONCE = 1 << 18


class PValue(NamedTuple):
    """A p-value, of how many partitions, and whether these are all there are."""

    p: float
    partitions: int
    exact: bool


def p_value(
    s_x: ArrayLike,
    s_y: ArrayLike,
    rng: np.random.Generator,
    *,
    alternative: Alternative = "greater",
    max_exact: int = MAX_EXACT,
    samples: int = PARTITIONS,
) -> PValue:
    r"""Permutation test of mean s(X) − mean s(Y), the sets' sizes n and m kept.

    All :math:`\binom{n+m}{n}` partitions are counted if there are at most `max_exact`, the observed
    one among them, so that p is never 0; otherwise `samples` are drawn, each n words without
    replacement, and p = (r + 1)/(N + 1). Two-sided counts \|S*\| ≥ \|S\|. Values that differ by
    less than 1e-12 Σ\|s\| are ties.

    The paper's statistic is the difference of *sums*. For n = m that is the same test; for n ≠ m it
    is not centred at 0, and its two-sided p means nothing.
    """
    x, y = both_sets(s_x, s_y)
    s = np.concatenate([x, y])
    slack = TIE * np.abs(s).sum()
    centred = s - s.mean()  # the difference of means is now (1/n + 1/m) · sum over X
    observed = centred[: len(x)].sum()
    exact = comb(len(s), len(x)) <= max_exact
    sums = subset_sums(centred, len(x)) if exact else _sampled(centred, len(x), rng, samples)
    if alternative == "two-sided":
        sums, observed = np.abs(sums), abs(observed)
    r = int(np.count_nonzero(sums >= observed - slack))
    extra = 0 if exact else 1
    return PValue((r + extra) / (len(sums) + extra), len(sums), exact)


def subset_sums(s: Array, k: int) -> Array:
    """Sum of each subset of `k` of the values: shape ``(comb(n, k),)``, in no useful order.

    Pascal's rule on arrays: the k-subsets of the first i values are those of the first i − 1, and
    its (k − 1)-subsets with the i-th value added. Each is one addition of a whole array; what
    cannot reach size `k` any more is dropped.
    """
    n = len(s)
    sums = {0: np.zeros(1)}
    nothing = np.zeros(0)
    for i, value in enumerate(s):
        sizes = range(max(0, k - (n - i - 1)), min(k, i + 1) + 1)
        sums = {
            j: np.concatenate([sums.get(j, nothing), sums.get(j - 1, nothing) + value])
            for j in sizes
        }
    return sums[k]


def _sampled(s: Array, k: int, rng: np.random.Generator, samples: int) -> Array:
    parts = []
    step = max(1, _AT_ONCE // len(s))
    for start in range(0, samples, step):
        keys = rng.random((min(step, samples - start), len(s)))
        parts.append(s[np.argpartition(keys, k, axis=1)[:, :k]].sum(axis=1))
    return np.concatenate(parts)


def both_sets(s_x: ArrayLike, s_y: ArrayLike) -> tuple[Array, Array]:
    """Return the values of both sets as float64, or refuse another shape."""
    x, y = np.asarray(s_x, np.float64), np.asarray(s_y, np.float64)
    if x.ndim != 1 or y.ndim != 1 or not len(x) or not len(y):
        raise WordbiasError(
            f"expected one association a word for two sets of words, got the shapes {x.shape} and "
            f"{y.shape}; compute them with associations(w, a, b)"
        )
    return x, y
