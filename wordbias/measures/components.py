"""What the components of a fitted subspace describe, and whether their signs can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordbias.subspace import Subspace

STABLE = 0.95
"""Bootstrap stability below which a component's sign, and signed MIDB with it, is noise."""
DESCRIBES_DIFFERENCE = 0.5
"""Share of the difference between the groups below which the components describe something else."""


@dataclass(frozen=True)
class Components:
    """Diagnosis of `k` components; Δ is the difference of the groups' means.

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
    """

    weights: NDArray[np.float64]
    cos_difference: NDArray[np.float64]
    cos_direction: NDArray[np.float64] | None
    stability: NDArray[np.float64]
    share: float


def components(
    subspace: Subspace,
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    direction: NDArray[np.float64] | None,
    rng: np.random.Generator,
    samples: int = 1000,
) -> Components:
    """Diagnose a subspace fitted on two groups of vectors, ``(n, d)`` and ``(m, d)``.

    The components stay fixed while the words are drawn again with replacement within each group.
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
    )


def _resampled_mean(
    x: NDArray[np.float64], rng: np.random.Generator, samples: int
) -> NDArray[np.float64]:
    counts = rng.multinomial(len(x), np.full(len(x), 1 / len(x)), samples)
    mean: NDArray[np.float64] = counts @ x / len(x)
    return mean
