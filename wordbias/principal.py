"""Principal components as directions of a subspace: ranked, oriented, weighed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.threads import blas_threads

Float = NDArray[np.float64]

_TIE = 1e-6


def principal(
    rows: Float, towards: Float, dims: int, noise: float, what: str
) -> tuple[Float, Float]:
    """Principal components of ``rows.T @ rows``, oriented, with their shares of its trace.

    Parameters
    ----------
    rows
        Shape ``(n, d)``.
    towards
        Where components point, shape ``(d,)``; see `orient`.
    dims
        Number of components `k`.
    noise
        What is not longer than this, the rounding of the vectors, is no component.
    what
        What the rows are, for the message.

    Returns
    -------
    basis, shares
        Shapes ``(k, d)`` and ``(k,)``.

    Raises
    ------
    WordbiasError
        If the rows span fewer than `dims` components.
    """
    with blas_threads(1):  # a matrix this small waits longer for threads than it gains by them
        _, s, vt = np.linalg.svd(rows, full_matrices=False)
    variance = s**2
    rank = int((s > max(noise, s[0] * max(rows.shape) * np.finfo(float).eps)).sum())
    if not 1 <= dims <= rank:
        raise WordbiasError(
            f"{dims} components asked for, but {what} span {rank} of "
            f"{rows.shape[1]} dimensions; ask for fewer (--dims) or give more words"
        )
    return orient(vt[:dims], towards), variance[:dims] / variance.sum()


def orient(basis: Float, towards: Float) -> Float:
    """Fix the sign of each row: towards a vector, or by its largest coordinate on a tie.

    A tie is a cosine below 1e-6, where the sign of the inner product is rounding noise.
    """
    inner = basis @ towards
    largest = basis[np.arange(len(basis)), np.abs(basis).argmax(axis=1)]
    tie = np.abs(inner) <= _TIE * np.linalg.norm(towards)
    return basis * np.where(np.where(tie, largest, inner) < 0, -1.0, 1.0)[:, None]
