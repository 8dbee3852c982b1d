"""How far debiasing moved the words, and whether their neighbours stayed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import ROWS, blocks, lengths, unit
from wordbias.measures.nearest import nearest


def displacement(before: NDArray[np.float32], after: NDArray[np.float32]) -> NDArray[np.float64]:
    """``‖w′ − w‖ / ‖w‖`` of every word, shape ``(n,)``; 0 is unmoved. 0 for a word of length 0."""
    parts = [np.zeros(0)]
    for start, x in zip(range(0, len(before), ROWS), blocks(before), strict=True):
        moved = np.linalg.norm(after[start : start + ROWS] - x, axis=1)
        norm = np.linalg.norm(x, axis=1)
        parts.append(np.divide(moved, norm, out=np.zeros_like(moved), where=norm > 0))
    return np.concatenate(parts)


def neighbours(
    vectors: NDArray[np.float32], queries: NDArray[np.intp], k: int = 10
) -> NDArray[np.int32]:
    """Find the `k` nearest rows by cosine of each query row, itself excluded, the nearest first.

    Parameters
    ----------
    vectors
        Shape ``(n, d)``, n > k.
    queries
        Row numbers, shape ``(q,)``.

    Returns
    -------
    ndarray
        Row numbers, shape ``(q, k)``.
    """
    return nearest(unit(vectors), queries, k).rows


def neighbours_preserved(
    before: NDArray[np.float32],
    after: NDArray[np.float32],
    rng: np.random.Generator,
    *,
    sample: int = 1000,
    k: int = 10,
) -> NDArray[np.float64]:
    """Share of its `k` cosine neighbours that each of `sample` random words keeps; 1 is all.

    Words whose vector is zero before or after have no neighbours and are not drawn.
    """
    usable = np.flatnonzero((lengths(before) > 0) & (lengths(after) > 0))
    queries = np.sort(rng.choice(usable, min(sample, len(usable)), replace=False))
    k = min(k, len(before) - 1)
    old, new = (neighbours(vectors, queries, k) for vectors in (before, after))
    kept = [len(np.intersect1d(a, b)) / k for a, b in zip(old, new, strict=True)]
    return np.array(kept)
