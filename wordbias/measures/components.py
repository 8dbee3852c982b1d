"""Components of a fitted subspace: their meaning, and whether their signs can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import blas_threads
from wordbias.statistics import resampled_cells
from wordbias.subspace import Subspace

STABLE = 0.95
"""Bootstrap stability below which a component's sign, and signed MIDB with it, is noise."""
DESCRIBES_DIFFERENCE = 0.5
"""Share of the difference between the groups below which the components describe something else."""
ALIKE = 0.9
"""Mean |cos| below which the first component depends on the choice of words in the groups."""
_SMALL = 80
_REFITS = 200


@dataclass(frozen=True)
class Components:
    """Diagnosis of `k` components; Δ is the difference between the groups' means.

    Attributes
    ----------
    weights
        ``a_i``, shape ``(k,)``.
    cos_difference
        ``cos(g_i, Δ)``, shape ``(k,)``.
    cos_direction
        ``cos(g_i, she − he)``, shape ``(k,)``; None where the direction is not known.
    stability
        Share of bootstrap samples of the words in which ``⟨g_i, Δ*⟩`` keeps its sign, ``(k,)``.
    share
        Share of ``‖Δ‖²`` that lies inside the span.
    first_stability
        Mean |cos| of the first component with that of resampled words; None where there are too
        many words to compute it.
    """

    weights: NDArray[np.float64]
    cos_difference: NDArray[np.float64]
    cos_direction: NDArray[np.float64] | None
    stability: NDArray[np.float64]
    share: float
    first_stability: float | None = None


def components(
    subspace: Subspace,
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    direction: NDArray[np.float64] | None,
    rng: np.random.Generator,
    samples: int = 1000,
    *,
    center: bool = False,
) -> Components:
    """Diagnose a subspace fitted on two groups of vectors, ``(n, d)`` and ``(m, d)``.

    The components stay fixed while the words of each group are resampled with replacement; only
    the first one is also fitted again, if the groups are small (`center` as it was fitted).
    """
    delta = first.mean(0, np.float64) - second.mean(0, np.float64)
    inner = subspace.coordinates(delta)
    length = np.linalg.norm(delta)
    cosine = inner / length if length else np.zeros_like(inner)
    drawn = _resampled_mean(subspace.coordinates(first.astype(float)), rng, samples)
    drawn -= _resampled_mean(subspace.coordinates(second.astype(float)), rng, samples)
    along = None
    if direction is not None:
        along = subspace.coordinates(direction) / np.linalg.norm(direction)
    return Components(
        subspace.weights,
        cosine,
        along,
        (drawn * np.where(inner < 0, -1, 1) > 0).mean(0),
        float((cosine**2).sum()),
        first_stability(subspace.basis[0], first, second, center=center),
    )


def first_stability(
    component: NDArray[np.float64],
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    *,
    center: bool,
) -> float | None:
    """Return the mean |cos| of the first component with those fitted to resampled words.

    Parameters
    ----------
    component
        Shape ``(d,)``.
    first, second
        Vectors that it was fitted to, shapes ``(n, d)`` and ``(m, d)``; the result is None for more
        than 80 words in all.
    """
    n, m = len(first), len(second)
    if n + m > _SMALL:
        return None
    rng = np.random.default_rng(0)
    f, g = first.astype(float), second.astype(float)
    found = []
    with blas_threads(1):
        for _ in range(_REFITS):
            x, y = f[rng.integers(n, size=n)], g[rng.integers(m, size=m)]
            rows = [(x - x.mean(0)) / np.sqrt(n), (y - y.mean(0)) / np.sqrt(m)]
            rows += [] if center else [(x.mean(0) - y.mean(0))[None]]
            moment = np.concatenate(rows)
            values, vectors = np.linalg.eigh(moment @ moment.T)
            if values[-1] > 0:  # else one word was drawn throughout: nothing varies
                drawn = moment.T @ vectors[:, -1] / np.sqrt(values[-1])
                found.append(abs(float(drawn @ component)))
    return float(np.mean(found)) if found else None


def _resampled_mean(
    x: NDArray[np.float64], rng: np.random.Generator, samples: int
) -> NDArray[np.float64]:
    counts = resampled_cells(np.ones(len(x), np.intp), rng, samples)
    mean: NDArray[np.float64] = counts @ x / len(x)
    return mean
