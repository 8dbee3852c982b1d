"""Lists of nearest documents, and how far two lists of one query differ.

Documents are read in blocks, so that memory does not grow with their number. Equal scores are tied,
whatever rounding does: a block is searched in float32, and what may be among the first is scored
again in float64. Of tied documents the one with the smaller number comes first.

Two lists of one query are compared by ranks over a pool of documents, see `pooled_ranks`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Float32 = NDArray[np.float32]
Integers = NDArray[np.intp]
Blocks = Callable[[], Iterator[Float32]]
"""Function that begins to read all documents anew, as blocks of vectors, shape ``(b, d)``."""

ROWS = 8192
"""Documents of a block in memory."""
_QUERIES = 512
_DECIMALS = 9
NOBODY = -1
"""Number in place of a document where a query's pool has fewer than others."""


def blocks_of(vectors: Float32, rows: int = ROWS) -> Blocks:
    """Return the blocks of vectors in memory."""
    return lambda: (vectors[i : i + rows] for i in range(0, len(vectors), rows))


# lists


def nearest(queries: Float32, documents: Blocks, depth: int) -> tuple[Integers, Float]:
    """Return the documents with the largest dot products, and these, largest first, (n, depth)."""
    distinct, places = np.unique(queries, axis=0, return_inverse=True)
    n, start = len(distinct), 0
    found_ids: list[Integers] = [np.zeros(0, np.intp)] * n
    found_scores: list[Float] = [np.zeros(0)] * n
    tolerance = queries.shape[1] * float(np.finfo(np.float32).eps)
    for block in documents():
        for first in range(0, n, _QUERIES):
            batch = distinct[first : first + _QUERIES]
            rough = batch @ block.T
            least = np.full(len(batch), -np.inf)
            if depth < len(block):
                least = np.partition(rough, -depth, axis=1)[:, -depth].astype(np.float64)
            for i, (query, scores) in enumerate(zip(batch, rough, strict=True), first):
                known = found_scores[i]
                bound = max(least[i - first], known[-1] if len(known) == depth else -np.inf)
                chosen = np.flatnonzero(scores >= bound - tolerance)
                exact = block[chosen].astype(np.float64) @ query.astype(np.float64)
                ids = np.concatenate([found_ids[i], chosen + start])
                both = np.concatenate([known, exact.round(_DECIMALS)])
                order = np.lexsort((ids, -both))[:depth]
                found_ids[i], found_scores[i] = ids[order], both[order]
        start += len(block)
    return np.stack(found_ids)[places.ravel()], np.stack(found_scores)[places.ravel()]


def pooled_ranks(lists: Sequence[Integers]) -> tuple[Integers, Integers]:
    """Return each query's pool, the documents in any of its lists, and their rank in each list."""
    # Shapes (n, m) and (v, n, m). Ranks count from 1; of what is not in a list the rank is depth +
    # 1. A pool with fewer than m documents ends in `NOBODY`.
    n, depth = lists[0].shape
    pools = [np.unique(np.concatenate([list_ids[i] for list_ids in lists])) for i in range(n)]
    ids = np.full((n, max(map(len, pools))), NOBODY)
    ranks = np.full((len(lists), *ids.shape), depth + 1)
    for i, pool in enumerate(pools):
        ids[i, : len(pool)] = pool
        for v, ranked_ids in enumerate(lists):
            ranks[v, i, np.searchsorted(pool, ranked_ids[i])] = np.arange(1, depth + 1)
    return ids, ranks


def ranks_of(scores: Float, depth: int) -> Integers:
    """Rank the documents of pools, (…, m), by their scores; beyond `depth` it is depth + 1."""
    # -inf where there is no document. Of equal scores the first is first.
    order = np.argsort(-scores, axis=-1, kind="stable")
    ranks = np.empty(scores.shape, np.intp)
    np.put_along_axis(ranks, order, np.arange(1, scores.shape[-1] + 1), axis=-1)
    ranks[np.isneginf(scores)] = depth + 1
    return np.minimum(ranks, depth + 1)


# how far two lists differ


def overlap(first: Integers, second: Integers, k: int) -> Float:
    """Return the share of the first k documents that two lists, ranks (…, m), have in common."""
    shared: Float = (np.maximum(first, second) <= k).sum(axis=-1) / k
    return shared


def rank_shift(first: Integers, second: Integers, k: int) -> Float:
    """Return by how many ranks the first k documents of the first list move, on average."""
    # A document that leaves the list counts as the next one behind its end.
    moved: Float = (np.abs(second - first) * (first <= k)).sum(axis=-1) / k
    return moved


def persistence(k: int) -> float:
    """Return the persistence of a reader who looks at `k` documents on average: 1 − 1/k."""
    return 1 - 1 / k


def rbo(first: Integers, second: Integers, depth: int, p: float) -> Float:
    r"""Return the rank-biased overlap of two lists, extrapolated (Webber et al. 2010, eq. 32).

    .. math:: \frac{X_D}{D} p^D + (1 - p) \sum_{d=1}^{D} \frac{X_d}{d} p^{d-1}

    with :math:`X_d` documents in the first d of both lists, which are of length D. With probability
    p the next document is looked at.
    """
    d = np.arange(1, depth + 1)
    terms = p ** (d - 1.0) / d
    from_here = np.append(np.cumsum(terms[::-1])[::-1], 0.0)  # a document counts from its depth on
    deepest = np.maximum(first, second)
    shared = (deepest <= depth).sum(axis=-1)
    value: Float = shared / depth * p**depth + (1 - p) * from_here[deepest - 1].sum(axis=-1)
    return value


def rbo_residual(first: Integers, second: Integers, depth: int, p: float) -> Float:
    """Return by how much the overlap can vary with what follows (Webber et al. 2010, eq. 30)."""
    # It is the largest less the smallest rank-biased overlap of infinite lists that begin so.
    shared = (np.maximum(first, second) <= depth).sum(axis=-1)
    if p == 0:
        return np.zeros(shared.shape)
    d = np.arange(1, 2 * depth + 1)
    sums = np.append(0.0, np.cumsum(p**d / d))
    last = 2 * depth - shared  # from this depth on all documents can agree
    rest = 2 * depth * (sums[last] - sums[depth]) + shared * (-math.log(1 - p) - sums[last])
    value: Float = 2 * p**depth - p ** last.astype(float) - (1 - p) / p * rest
    return value


# what a list gives its documents


def exposure(ranks: Integers, k: int) -> Float:
    """Return the exposure of documents, 1 / log₂(1 + rank), beyond rank k none."""
    # The logarithmic discount of Singh and Joachims (2018), for readers who see k documents.
    return np.where(ranks <= k, 1 / np.log2(1.0 + ranks), 0.0)


def ndcg(ranks: Integers, gains: Float, ideal: Float, k: int) -> Float:
    """Return the normalised discounted cumulative gain of the first k documents of a pool."""
    # `ideal` is the discounted gain of the best order; the value is nan where it is 0.
    gained = (exposure(ranks, k) * gains).sum(axis=-1)
    value: Float = np.divide(gained, ideal, out=np.full(gained.shape, np.nan), where=ideal > 0)
    return value


def ideal_gain(relevance: Iterable[float], k: int) -> float:
    """Return the discounted gain of a query's relevant documents in the best order."""
    best = np.sort(np.fromiter(relevance, np.float64))[::-1][:k]
    return float(best @ exposure(np.arange(1, len(best) + 1), k))
