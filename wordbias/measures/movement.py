"""Movement of words by debiasing: displacement, and neighbours that were kept or lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import ROWS, blocks, lengths, unit
from wordbias.devices import blas_threads, ordered_map
from wordbias.progress import progress

_QUERIES = 128
_TILE = 8192
_FIRST = 2 * _TILE
_MANY = 8
"""Hits for each neighbour from which on the bounds are computed again."""
_CROWDED = 1 / 8
"""Share of the cosines of a tile from which on it is computed again in float64."""
_PAIRS = 1 << 15
_ROUNDING = 1e-6
"""Change of a length that rounding to float32 can make."""
_EPS = float(np.finfo(np.float32).eps)


def displacement(before: NDArray[np.float32], after: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return ``‖w′ − w‖ / ‖w‖`` of every word, shape ``(n,)``; 0 for a word of length 0."""
    parts = [np.zeros(0)]
    for start, x in zip(range(0, len(before), ROWS), blocks(before), strict=True):
        moved = np.linalg.norm(after[start : start + ROWS] - x, axis=1)
        norm = np.linalg.norm(x, axis=1)
        parts.append(np.divide(moved, norm, out=np.zeros_like(moved), where=norm > 0))
    return np.concatenate(parts)


def length_ratio(before: NDArray[np.float32], after: NDArray[np.float32]) -> float | None:
    """Return the mean ratio of lengths after to before, if lengths changed more than directions."""
    # A projection cannot do that: at length one it moves a word further than it shortens it, for 1
    # − cos θ ≤ 2 sin(θ/2). Scaling does. None where the lengths changed no more than that.
    old, new = lengths(before), lengths(after)
    ratio = new[old > 0] / old[old > 0]
    turned = displacement(unit(before), unit(after))[old > 0]
    changed = len(ratio) > 0 and np.abs(ratio - 1).mean() > turned.mean() + _ROUNDING
    return float(ratio.mean()) if changed else None


def neighbours(
    vectors: NDArray[np.float32], queries: NDArray[np.intp], k: int = 10
) -> NDArray[np.int32]:
    """Find the `k` nearest rows by cosine, (q, k), of each query row, itself excluded."""
    return nearest(unit(vectors), queries, k).rows


def neighbours_preserved(
    before: NDArray[np.float32],
    after: NDArray[np.float32],
    rng: np.random.Generator,
    *,
    sample: int = 1000,
    k: int = 10,
) -> NDArray[np.float64]:
    """Return the share of `k` cosine neighbours that each of `sample` random words keeps."""
    # Words whose vector is zero before have no neighbours and are not drawn. Words that have become
    # zero after are left out. The draw does not depend on what was done to the vectors.
    return neighbours_kept_by(before, rng, sample=sample, k=k)(after)


def neighbours_kept_by(
    before: NDArray[np.float32], rng: np.random.Generator, *, sample: int = 1000, k: int = 10
) -> Callable[[NDArray[np.float32]], NDArray[np.float64]]:
    """Return `neighbours_preserved` of the same words as a function of the vectors after."""
    usable = np.flatnonzero(lengths(before) > 0)
    queries = np.sort(rng.choice(usable, min(sample, len(usable)), replace=False))
    k = min(k, len(before) - 1)
    old = neighbours(before, queries, k)

    def preserved(after: NDArray[np.float32]) -> NDArray[np.float64]:
        there = lengths(after[queries]) > 0
        new = neighbours(after, queries[there], k)
        shares: NDArray[np.float64] = (old[there, :, None] == new[:, None]).any(axis=2).mean(axis=1)
        return shares

    return preserved


# Exact nearest neighbours


class Neighbours(NamedTuple):
    """The `k` nearest rows of each query, the nearest first; equal cosines by row number."""

    rows: NDArray[np.int32]  # row numbers, shape `(q, k)`
    cosine: NDArray[np.float32]  # cosines, shape `(q, k)`, float32


def nearest(unit_vectors: NDArray[np.float32], queries: NDArray[np.intp], k: int) -> Neighbours:
    """Find the `k` nearest rows of each query row, itself left out; rows have length one."""
    # Exact: the k-th largest cosine among the first columns bounds the one among all. Only the few
    # cosines above it are kept, and the bound rises with them; the last of them are decided in
    # float64. Of more than k + 1 equal rows, the first k + 1 are enough. Where nearly all cosines
    # of a tile are equal within rounding, as in vectors along one line, the tile is in float64.
    near = Neighbours(
        np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.float32)
    )

    columns = _first_of_equal(unit_vectors, k + 1)
    among = unit_vectors if columns is None else unit_vectors[columns]

    def work(start: int) -> int:
        part = slice(start, start + _QUERIES)
        own = queries[part]
        near.rows[part], near.cosine[part] = _block(among, columns, unit_vectors[own], own, k)
        return len(own)

    starts = range(0, len(queries), _QUERIES)
    with blas_threads(1), progress("neighbours", len(queries), "word") as bar:
        for done in ordered_map(work, starts):
            bar.update(done)
    return near


def _first_of_equal(x: NDArray[np.float32], most: int) -> NDArray[np.intp] | None:
    """Return the rows without those that more than `most` - 1 equal rows precede; None for all."""
    if np.unique(x[:, 0], return_counts=True)[1].max(initial=0) <= most:  # the usual case
        return None
    _, code, counts = np.unique(x, axis=0, return_inverse=True, return_counts=True)
    if counts.max() <= most:
        return None
    order = np.argsort(code, kind="stable")
    place = np.arange(len(x)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(order[place < most])


def _block(
    x: NDArray[np.float32],
    columns: NDArray[np.intp] | None,
    q: NDArray[np.float32],
    queries: NDArray[np.intp],
    k: int,
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Find the nearest rows of `x`, whose row numbers are `columns`, to some queries `q`."""
    cosine = q @ x[:_FIRST].T
    slack = 4 * x.shape[1] * _EPS  # twice what rounding can do to each of two cosines
    m = k + 1  # one more, for the query itself
    bound = np.full(len(q), -np.inf, np.float32)
    if m <= cosine.shape[1]:
        bound = np.partition(cosine, -m, axis=1)[:, -m] - slack
    hits = _few(_above(cosine, bound, 0), q, x[:_FIRST], 0, m)
    buffer = np.empty((len(queries), _TILE), np.float32)
    for start in range(_FIRST, len(x), _TILE):
        tile = x[start : start + _TILE]
        more = _above(np.matmul(q, tile.T, out=buffer[:, : len(tile)]), bound, start)
        more = _few(more, q, tile, start, m)
        hits = hits.with_more(more)
        if len(hits.row) > _MANY * m * len(q):
            bound = _largest(hits, len(q), m) - slack
            hits = hits.chosen(hits.cosine >= bound[hits.row])
    number = hits.column if columns is None else columns[hits.column]
    hits = hits.chosen(number != queries[hits.row])
    hits = hits.chosen(hits.cosine >= (_largest(hits, len(q), k) - slack)[hits.row])
    # equal vectors must have equal cosines, wherever in a tile they stand
    row, column = hits.row, hits.column
    exact = np.empty(len(row))
    for start in range(0, len(row), _PAIRS):
        part = slice(start, start + _PAIRS)
        pairs = (q[row[part]].astype(np.float64), x[column[part]].astype(np.float64))
        exact[part] = np.einsum("nd,nd->n", *pairs)
    order = np.lexsort((column, -exact, row))
    places = order[_starts(row, len(q))[:, None] + np.arange(k)]
    chosen = column[places] if columns is None else columns[column[places]]
    return chosen, exact[places].astype(np.float32)


class Hits(NamedTuple):
    """Cosines above the bounds of their rows, each with its row and column."""

    row: NDArray[np.intp]
    column: NDArray[np.intp]
    cosine: NDArray[np.floating[Any]]

    def with_more(self, more: Hits) -> Hits:
        """Return these hits and others behind them."""
        row, column = np.append(self.row, more.row), np.append(self.column, more.column)
        return Hits(row, column, np.append(self.cosine, more.cosine))

    def chosen(self, where: NDArray[np.bool_ | np.intp]) -> Hits:
        """Return the hits of a mask, or of places."""
        return Hits(self.row[where], self.column[where], self.cosine[where])


def _few(
    hits: Hits, q: NDArray[np.float32], tile: NDArray[np.float32], offset: int, m: int
) -> Hits:
    """Return the `m` largest of each row by float64, where too many cosines of a tile are alike."""
    if len(hits.row) <= _CROWDED * len(q) * len(tile) or len(tile) <= m:
        return hits
    exact = q.astype(np.float64) @ tile.astype(np.float64).T
    above = _above(exact, np.partition(exact, -m, axis=1)[:, -m], offset)
    order = np.lexsort((above.column, -above.cosine, above.row))
    places = order[_starts(above.row, len(q))[:, None] + np.arange(m)].ravel()
    few = above.chosen(places)
    return few._replace(cosine=few.cosine.astype(np.float32))


def _above(
    cosine: NDArray[np.floating[Any]], bound: NDArray[np.floating[Any]], offset: int
) -> Hits:
    place = np.flatnonzero(cosine >= bound[:, None])  # ten times as fast as np.nonzero
    row, column = np.divmod(place, cosine.shape[1])
    return Hits(row, column + offset, cosine.reshape(-1)[place])


def _largest(hits: Hits, rows: int, k: int) -> NDArray[np.floating[Any]]:
    """Return the `k`-th largest cosine of each row, of at least `k`."""
    apart = 1.0 + float(np.ptp(hits.cosine))
    order = np.argsort(apart * hits.row - hits.cosine)  # quicker than by two keys
    return hits.cosine[order[_starts(hits.row, rows) + k - 1]]


def _starts(row: NDArray[np.intp], rows: int) -> NDArray[np.intp]:
    """Return where each row begins, once they are sorted."""
    return np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))[:-1]])
