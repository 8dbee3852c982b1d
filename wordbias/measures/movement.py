"""Movement of words by debiasing: displacement, and neighbours that were kept or lost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import ROWS, blocks, lengths, unit
from wordbias.devices import blas_threads, ordered_map
from wordbias.progress import progress

_QUERIES = 128
_TILE = 8192
_FIRST = 2 * _TILE
_EPS = float(np.finfo(np.float32).eps)


def displacement(before: NDArray[np.float32], after: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return ``‖w′ − w‖ / ‖w‖`` of every word, shape ``(n,)``; 0 for a word of length 0."""
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
    """Return the share of `k` cosine neighbours that each of `sample` random words keeps.

    Words whose vector is zero before have no neighbours and are not drawn; those that have become
    zero after are left out, so that the draw does not depend on what was done to the vectors.
    """
    usable = np.flatnonzero(lengths(before) > 0)
    queries = np.sort(rng.choice(usable, min(sample, len(usable)), replace=False))
    queries = queries[lengths(after[queries]) > 0]
    k = min(k, len(before) - 1)
    old, new = (neighbours(vectors, queries, k) for vectors in (before, after))
    kept = [len(np.intersect1d(a, b)) / k for a, b in zip(old, new, strict=True)]
    return np.array(kept)


# Exact nearest neighbours


class Neighbours(NamedTuple):
    """The `k` nearest rows of each query, the nearest first; equal cosines by row number.

    Attributes
    ----------
    rows
        Row numbers, shape ``(q, k)``.
    cosine
        Cosines, shape ``(q, k)``, float32.
    """

    rows: NDArray[np.int32]
    cosine: NDArray[np.float32]


def nearest(unit_vectors: NDArray[np.float32], queries: NDArray[np.intp], k: int) -> Neighbours:
    """Find the `k` nearest rows of each query row, the query itself left out.

    Exact: the k-th largest cosine among the first columns bounds the one among all, so that only
    the few cosines above it are kept; the last of them are decided in float64.

    Parameters
    ----------
    unit_vectors
        Shape ``(n, d)``, n > k, rows of length one (or zero).
    queries
        Row numbers, shape ``(q,)``.
    k
        Number of neighbours of each query.
    """
    found = Neighbours(
        np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.float32)
    )

    def work(start: int) -> int:
        part = slice(start, start + _QUERIES)
        found.rows[part], found.cosine[part] = _block(unit_vectors, queries[part], k)
        return len(queries[part])

    starts = range(0, len(queries), _QUERIES)
    with blas_threads(1), progress("neighbours", len(queries), "word") as bar:
        for done in ordered_map(work, starts):
            bar.update(done)
    return found


def _block(
    x: NDArray[np.float32], queries: NDArray[np.intp], k: int
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    q = x[queries]
    cosine = q @ x[:_FIRST].T
    slack = 4 * x.shape[1] * _EPS  # twice what rounding can do to each of two cosines
    m = min(k + 1, cosine.shape[1])  # one more, for the query itself
    bound = np.partition(cosine, -m, axis=1)[:, -m, None] - slack if m == k + 1 else -np.inf
    hits = [_above(cosine, bound, 0)]
    buffer = np.empty((len(queries), _TILE), np.float32)
    for start in range(_FIRST, len(x), _TILE):
        tile = x[start : start + _TILE].T
        hits.append(_above(np.matmul(q, tile, out=buffer[:, : tile.shape[1]]), bound, start))
    row, column, value = (np.concatenate(part) for part in zip(*hits, strict=True))
    other = column != queries[row]
    row, column, value = row[other], column[other], value[other]
    last = value[_first_of_each_row(row, -value, len(q), k)[:, -1]]
    near = value >= last[row] - slack
    row, column = row[near], column[near]
    # equal vectors must have equal cosines, wherever in a tile they stand
    exact = np.einsum("nd,nd->n", q[row].astype(np.float64), x[column].astype(np.float64))
    chosen = _first_of_each_row(row, -exact, len(q), k, column)
    return column[chosen], exact[chosen].astype(np.float32)


def _first_of_each_row(
    row: NDArray[np.intp],
    key: NDArray[Any],
    rows: int,
    k: int,
    tie: NDArray[np.intp] | None = None,
) -> NDArray[np.intp]:
    """Find the `k` smallest keys of every row, shape ``(rows, k)``."""
    order = np.lexsort((key, row) if tie is None else (tie, key, row))
    first = np.searchsorted(row[order], np.arange(rows))
    places: NDArray[np.intp] = order[first[:, None] + np.arange(k)]
    return places


def _above(
    cosine: NDArray[np.float32], bound: NDArray[np.float32] | float, offset: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
    row, column = np.nonzero(cosine >= bound)
    return row, column + offset, cosine[row, column]
