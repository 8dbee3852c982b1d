"""MIDB: multi-dimensional information-weighted direct bias (Dawkins 2021, section 4, eq. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import blocks
from wordbias.subspace import Subspace

Float = NDArray[np.float64]


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


def contributions(x: Float, subspaces: Sequence[Subspace]) -> Float:
    """``a_i ⟨g_i, x⟩`` of every vector and every component of all subspaces, shape ``(n, Σk)``."""
    rows = np.concatenate([one.basis * one.weights[:, None] for one in subspaces])
    found: Float = x @ rows.T
    return found


def sums_of_contributions(x: Float, subspaces: Sequence[Subspace]) -> tuple[Float, Float]:
    """MIDB of every vector along each subspace, and the sum of its squared parts, ``(n, s)`` each.

    All values of MIDB are means of these, of their absolute values, or roots of such a mean.

    Parameters
    ----------
    x
        Shape ``(n, d)``, float64.
    subspaces
        One or more.
    """
    along = contributions(x, subspaces)
    # products with 0 and 1 add what belongs to a subspace faster than reduceat does
    belongs = np.repeat(np.eye(len(subspaces)), [one.dims for one in subspaces], axis=0)
    return along @ belongs, along**2 @ belongs


def signed_sums(x: Float, subspaces: Sequence[Subspace]) -> Float:
    """MIDB of every vector along each subspace alone, shape ``(n, s)``."""
    found: Float = x @ np.stack([one.basis.T @ one.weights for one in subspaces], axis=1)
    return found


def midb_of_words(vectors: NDArray[np.float32], subspace: Subspace) -> Float:
    """MIDB of every word, shape ``(n,)``, for vectors of shape ``(n, d)``."""
    parts = (signed_sums(x, [subspace])[:, 0] for x in blocks(vectors))
    return np.concatenate([np.zeros(0), *parts])


def midb(vectors: NDArray[np.float32], subspace: Subspace) -> Midb:
    """Average MIDB over the rows of `vectors`, shape ``(n, d)``, n ≥ 1.

    The vectors are taken as they are, as in the paper; then the value grows with their length,
    and embeddings compare only with vectors *and* subspace on unit length (``midb-unit``).
    """
    signed = absolute = square = 0.0
    for x in blocks(vectors):
        total, squares = sums_of_contributions(x, [subspace])
        signed += total.sum()
        absolute += np.abs(total).sum()
        square += squares.sum()
    n = len(vectors)
    return Midb(float(signed / n), float(absolute / n), float(np.sqrt(square / n)))
