"""Arrays as callers give them: checked, frozen, and how far their rounding reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError


def frozen(values: ArrayLike) -> NDArray[np.float64]:
    """Return a float64 array that nobody can change: a copy, unless it is one already.

    Raises
    ------
    WordbiasError
        Of complex numbers, of which half would be lost.
    """
    x = np.asarray(values)
    if x.dtype.kind == "c":
        raise WordbiasError(f"expected real numbers, got {x.dtype}")
    x = x.astype(np.float64, copy=False)
    if x is values and not x.flags.writeable:
        return x
    x = x.copy()
    x.flags.writeable = False
    return x


def matrix(vectors: ArrayLike) -> NDArray[np.float64]:
    """Return vectors as float64, shape ``(n, d)``, or refuse another shape."""
    x = np.asarray(vectors, np.float64)
    if x.ndim != 2:
        raise WordbiasError(f"expected at least two vectors, shape (n, d), got {x.shape}")
    return x


def aligned(x: NDArray[Any]) -> NDArray[Any]:
    """Return an array at an address that fits its numbers: a copy, unless it is at one.

    What was read from a network may lie anywhere, and numpy is then many times slower.
    """
    return np.require(x, requirements=["C", "A"])


def rounding(vectors: ArrayLike) -> float:
    """Bound what rounding `d` values to the precision of the array can do to a vector."""
    x = np.asarray(vectors)
    eps = np.finfo(x.dtype if x.dtype.kind == "f" else float).eps
    longest = np.linalg.norm(x.astype(float), axis=1).max()
    return float(x.shape[1] * eps * longest)
