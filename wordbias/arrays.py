"""Arrays of vectors: checks, blocks in float64, unit length, casting between numpy and torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError

ROWS = 8192
"""Number of rows that are float64 at one time."""
FLOAT32_ROUNDING = 16 * float(np.finfo(np.float32).eps)
"""Cosine, angle or change of a direction that rounding of float32 vectors may make."""


def numbers(values: ArrayLike, what: str) -> NDArray[Any]:
    """Return values as an array; refuse texts, also those of digits, which numpy would convert."""
    x = np.asarray(values)
    held = x.flat if x.dtype == object else x.flat[:1] if x.dtype.kind in "SUT" else ()
    text = next((cell for cell in held if isinstance(cell, (str, bytes))), None)
    if text is not None:
        raise WordbiasError(
            f"{what}: expected numbers, found the text {text!r:.80}; convert texts of digits with "
            "array.astype(float)"
        )
    return x


def frozen(values: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only float64 array: a copy, unless it is one already."""
    x = numbers(values, "values")
    if x.dtype.kind == "c":
        raise WordbiasError(f"expected real numbers, got {x.dtype}")
    x = x.astype(np.float64, copy=False)
    if x is values and not x.flags.writeable:
        return x
    x = x.copy()
    x.flags.writeable = False
    return x


def matrix(vectors: ArrayLike) -> NDArray[np.float64]:
    """Return vectors as float64, shape ``(n, d)``; refuse other shapes."""
    x = numbers(vectors, "vectors").astype(np.float64, copy=False)
    if x.ndim != 2:
        raise WordbiasError(f"expected at least two vectors, shape (n, d), got {x.shape}")
    return x


def aligned(x: NDArray[Any]) -> NDArray[Any]:
    """Return a C-contiguous array that is aligned in memory: a copy, unless it is one already."""
    # Data from a network may lie at any address, where numpy is many times slower.
    return np.require(x, requirements=["C", "A"])


def rounding(vectors: ArrayLike) -> float:
    """Return a bound of the error of a vector from rounding to the precision of the array."""
    x = np.asarray(vectors)
    eps = np.finfo(x.dtype if x.dtype.kind == "f" else float).eps
    longest = np.linalg.norm(x.astype(float), axis=1).max()
    return float(x.shape[1] * eps * longest)


def mean_difference(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return the difference of the means of two groups of vectors; zero where it is rounding."""
    delta: NDArray[np.float64]
    delta = np.asarray(first).mean(0, np.float64) - np.asarray(second).mean(0, np.float64)
    differ = np.linalg.norm(delta) > max(rounding(first), rounding(second))
    return delta if differ else np.zeros_like(delta)


def blocks(vectors: NDArray[np.float32], rows: int = ROWS) -> Iterator[NDArray[np.float64]]:
    """Yield consecutive rows as float64, without a float64 copy of the whole matrix."""
    for start in range(0, len(vectors), rows):
        yield vectors[start : start + rows].astype(np.float64)


def lengths(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the Euclidean length of every row, shape ``(n,)``."""
    return np.concatenate([np.zeros(0), *(np.linalg.norm(x, axis=1) for x in blocks(vectors))])


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return every row scaled to length one; a row of zeros stays zero."""
    out = np.empty_like(vectors)
    for start, x in zip(range(0, len(vectors), ROWS), blocks(vectors), strict=True):
        out[start : start + ROWS] = normalise(x)
    return out


def normalise(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return every row scaled to length one, in float64; a row of zeros stays zero."""
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    unit_rows: NDArray[np.float64] = x / np.where(norm == 0, 1, norm)
    return unit_rows


def like(values: Any, x: Any) -> Any:
    """Return an array or tensor in the library, dtype and device of `x`; for integers float64."""
    # Tensors are recognised by their methods, without importing torch.
    if hasattr(x, "new_tensor"):
        # a copy, because torch refuses read-only arrays
        return values.to(x) if hasattr(values, "new_tensor") else x.new_tensor(values.copy())
    if hasattr(values, "new_tensor"):
        values = values.detach().cpu().double().numpy()
    return values.astype(x.dtype if x.dtype.kind == "f" else float, copy=False)
