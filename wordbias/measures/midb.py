"""MIDB: multi-dimensional information-weighted direct bias (Dawkins 2021, section 4, eq. 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.measures.blocks import blocks
from wordbias.subspace import Subspace


class Midb(NamedTuple):
    """Means over a vocabulary; all are 0 where no word leans to either group.

    Attributes
    ----------
    signed
        Mean of ``Σ a_i ⟨g_i, x⟩``, the value of the paper's Table 6; positive leans to the first
        group. Changes if a ``g_i`` is flipped.
    absolute
        Mean of its absolute value.
    rms
        ``sqrt(mean Σ (a_i ⟨g_i, x⟩)²)``, which no flip can change.
    """

    signed: float
    absolute: float
    rms: float


def midb_of_words(vectors: NDArray[np.float32], subspace: Subspace) -> NDArray[np.float64]:
    """MIDB of every word, shape ``(n,)``, for vectors of shape ``(n, d)``."""
    g = subspace.basis.T @ subspace.weights
    return np.concatenate([np.zeros(0), *(x @ g for x in blocks(vectors))])


def midb(vectors: NDArray[np.float32], subspace: Subspace) -> Midb:
    """Average MIDB over the rows of `vectors`, shape ``(n, d)``, n ≥ 1.

    The vectors are taken as they are, as in the paper; then the value grows with their length,
    and embeddings compare only with vectors *and* subspace on unit length (``midb-unit``).
    """
    signed = absolute = square = 0.0
    for x in blocks(vectors):
        weighted = subspace.coordinates(x) * subspace.weights
        total = weighted.sum(axis=1)
        signed += total.sum()
        absolute += np.abs(total).sum()
        square += (weighted**2).sum()
    n = len(vectors)
    return Midb(float(signed / n), float(absolute / n), float(np.sqrt(square / n)))
