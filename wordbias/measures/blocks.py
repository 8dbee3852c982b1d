"""Float64 results from float32 matrices without a float64 copy of the matrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

ROWS = 8192


def blocks(vectors: NDArray[np.float32], rows: int = ROWS) -> Iterator[NDArray[np.float64]]:
    """Yield consecutive rows as float64."""
    for start in range(0, len(vectors), rows):
        yield vectors[start : start + rows].astype(np.float64)


def lengths(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Euclidean length of every row, shape ``(n,)``."""
    return np.concatenate([np.zeros(0), *(np.linalg.norm(x, axis=1) for x in blocks(vectors))])


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Every row at length one; a row of zeros stays as it is."""
    out = np.empty_like(vectors)
    for start, x in zip(range(0, len(vectors), ROWS), blocks(vectors), strict=True):
        out[start : start + ROWS] = at_length_one(x)
    return out


def at_length_one(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every row at length one, in float64; a row of zeros stays as it is."""
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    found: NDArray[np.float64] = x / np.where(norm == 0, 1, norm)
    return found
