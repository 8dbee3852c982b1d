"""Arrays of vectors: checked, frozen, in float64 block by block, and at length one.

What was fitted, in the array library, float type and device of what it is applied to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError

ROWS = 8192
"""Rows that are held as float64 at one time."""


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


def blocks(vectors: NDArray[np.float32], rows: int = ROWS) -> Iterator[NDArray[np.float64]]:
    """Yield consecutive rows as float64, without a float64 copy of the whole matrix."""
    for start in range(0, len(vectors), rows):
        yield vectors[start : start + rows].astype(np.float64)


def lengths(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the Euclidean length of every row, shape ``(n,)``."""
    return np.concatenate([np.zeros(0), *(np.linalg.norm(x, axis=1) for x in blocks(vectors))])


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return every row at length one; a row of zeros stays as it is."""
    out = np.empty_like(vectors)
    for start, x in zip(range(0, len(vectors), ROWS), blocks(vectors), strict=True):
        out[start : start + ROWS] = normalise(x)
    return out


def normalise(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return every row at length one, in float64; a row of zeros stays as it is."""
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    found: NDArray[np.float64] = x / np.where(norm == 0, 1, norm)
    return found


def like(values: Any, x: Any) -> Any:
    """Return an array or tensor in the library, dtype and device of `x`.

    Integers are met with float64. What fits already is returned as it is, not copied. A tensor is
    told by what it can do, without importing torch.
    """
    if hasattr(x, "new_tensor"):
        # a copy, for torch does not take arrays that are read-only
        return values.to(x) if hasattr(values, "new_tensor") else x.new_tensor(values.copy())
    if hasattr(values, "new_tensor"):
        values = values.detach().cpu().double().numpy()
    return values.astype(x.dtype if x.dtype.kind == "f" else float, copy=False)
