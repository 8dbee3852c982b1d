"""Stability of a direction: how far it depends on the pairs it was fitted to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.statistics import percentile_interval, resamples
from wordbias.threads import blas_threads

Float = NDArray[np.float64]
DRAWS = 200


class Stability(NamedTuple):
    """Cosines, without sign, of a direction with those of pairs drawn again.

    Their mean, and where 2.5 % of them lie below and above.
    """

    mean: float
    low: float
    high: float


def stability(differences: Float, *, center: bool, seed: int, draws: int = DRAWS) -> Stability:
    """Draw pairs again and compare their first component with that of all pairs.

    Parameters
    ----------
    differences
        Shape ``(n, d)``; their sign and scale do not matter.
    center
        Take components of the centred differences, as a one-sided fit does.
    """
    rng = np.random.default_rng(seed)
    with blas_threads(1):
        rows = compressed(differences)
        whole = first_component(rows, center)
        drawn = [
            first_component(rows[chosen], center)
            for block in resamples(len(rows), rng, draws)
            for chosen in block
        ]
    cosines = np.abs(np.array(drawn) @ whole)
    return Stability(float(cosines.mean()), *percentile_interval(cosines))


def compressed(rows: Float) -> Float:
    """Rotate rows into as few dimensions as they span: inner products stay what they are."""
    n, d = rows.shape
    if n >= d:
        return rows
    r: Float = np.asarray(np.linalg.qr(rows.T, mode="r"))
    return r.T


def first_component(rows: Float, center: bool) -> Float:
    """Return the first principal component of rows, shape ``(d,)``."""
    rows = rows - rows.mean(0) if center else rows
    basis: Any = np.linalg.eigh(rows.T @ rows)[1]
    component: Float = basis[:, -1]
    return component
