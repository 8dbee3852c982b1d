"""Gaps of rates between groups, and what they go along with (P3, §2.1.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordbias.outcomes.rates import Values

LEAST = 3
"""Two classes always correlate perfectly."""
_CONSTANT = 1e-12


def gaps(rate: Values) -> Values:
    """Return the gap of each class.

    Parameters
    ----------
    rate
        Shape ``(…, groups, classes)``.

    Returns
    -------
    ndarray
        Shape ``(…, classes)``: with two groups the first minus the second, such as F − M; with more
        the largest minus the smallest, which has no sign. Nan where a group has no rate.
    """
    if rate.shape[-2] == 2:
        return np.subtract(rate[..., 0, :], rate[..., 1, :])
    missing: NDArray[np.bool_] = np.isnan(rate)
    known = np.where(missing.any(axis=-2, keepdims=True), 0, rate)
    return np.where(missing.any(axis=-2), np.nan, known.max(axis=-2) - known.min(axis=-2))


def gap_correlation(gap: Values, shares: Values) -> Values:
    """Correlate the gaps of classes with the share of the first group in each: P.

    Parameters
    ----------
    gap
        Shape ``(…, classes)``.
    shares
        Shape ``(classes,)``, in any unit, such as the share of women.

    Returns
    -------
    ndarray
        Pearson's r over the classes that have both, shape ``(…,)``; nan with fewer than three of
        them, or where one of the two is the same for all (see `undefined_because`).
    """
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
    """Say why gaps, shape ``(classes,)``, do not correlate with shares; nothing if they do."""
    if groups > 2:
        return f"{groups} groups have no signed gap; name two with --groups"
    both = np.isfinite(gap) & np.isfinite(shares)
    if (n := int(both.sum())) < LEAST:
        have = "class has" if n == 1 else "classes have"
        return f"{n} {have} a gap and a share, needed are {LEAST}"
    if not _centred(shares * both, both).any():
        return "the share is the same in every class; give those of the training data or a file"
    if not _centred(np.where(both, gap, 0), both).any():
        return "the gap is the same in every class"
    return ""
