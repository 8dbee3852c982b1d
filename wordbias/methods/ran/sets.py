r"""Repulsion sets of RAN-Debias: neighbours that a word owes to a direction (Kumar et al. 2020).

`S` has the neighbours `v` of `w` with indirect bias ``β(w, v) ≥ θ``. Most words have none, and
for most of those it shows before their neighbours are known: with ``p = w·g``, ``q = v·g`` and
``c = w·v > 0``, and θ below 1,

.. math:: \beta \ge \theta \iff (1 - \theta) \sqrt{1 - p^2} \sqrt{1 - q^2} + p q / c \ge 1
          \implies c \le \frac{|p|}{\sqrt{1 - (1 - \theta)^2 (1 - p^2)}}

by Cauchy and Schwarz over `q`. Once `k` words are found nearer than that, none of the `k` nearest
is in `S`, and there is no need to find out which they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.measures.gipe import indirect_bias
from wordbias.measures.nearest import nearest
from wordbias.progress import progress
from wordbias.subspace import Subspace
from wordbias.threads import blas_threads, ordered_map

_QUERIES = 128
_TILE = 8192
_TILES = 4
"""What is looked at for a proof: 32,768 words; more cost as much as they save."""
_LEAST = 0.05
"""Below this cosine nothing is proven: there rounding weighs too much in β."""
_EPS = float(np.finfo(np.float32).eps)


class Repelled(NamedTuple):
    """What each of `q` words is repelled from.

    Attributes
    ----------
    sets
        Row numbers of each word's repulsion set, the nearest first.
    share
        Share of each word's neighbours with ``β ≥ θ``, shape ``(q,)``.
    """

    sets: list[NDArray[np.intp]]
    share: NDArray[np.float64]


def repulsion_sets(
    unit_vectors: NDArray[np.float32],
    words: NDArray[np.intp],
    g: Subspace,
    neighbours: int = 100,
    theta: float = 0.05,
) -> Repelled:
    """Find the repulsion set of every word.

    Parameters
    ----------
    unit_vectors
        Of the whole vocabulary, shape ``(n, d)``, n > 1, rows of length one.
    words
        Row numbers, shape ``(q,)``.
    g
        One direction.
    neighbours, theta
        A set has the first `neighbours` of the ``2 · neighbours`` nearest words whose indirect
        bias β is `theta` or more; `theta` is positive.
    """
    k = min(2 * neighbours, len(unit_vectors) - 1)
    open_ = np.flatnonzero(~proven_empty(unit_vectors, words, g, k, theta))
    near = nearest(unit_vectors, words[open_], k).rows
    biased = indirect_bias(unit_vectors, words[open_], near, g) >= theta
    chosen = biased & (biased.cumsum(axis=1) <= neighbours)
    sets = [np.zeros(0, np.intp)] * len(words)
    for i, row, mask in zip(open_.tolist(), near, chosen, strict=True):
        sets[i] = row[mask].astype(np.intp)
    share = np.zeros(len(words))
    share[open_] = biased.mean(axis=1)
    return Repelled(sets, share)


def proven_empty(
    unit_vectors: NDArray[np.float32],
    words: NDArray[np.intp],
    g: Subspace,
    k: int,
    theta: float,
) -> NDArray[np.bool_]:
    """Tell which words surely have no neighbour with ``β ≥ θ`` among their `k` nearest.

    Returns
    -------
    array
        Shape ``(q,)``; False says nothing.
    """
    bound = nearer_than(unit_vectors[words] @ g.basis[0], theta, unit_vectors.shape[1])
    proven = np.zeros(len(words), bool)

    def work(start: int) -> int:
        part = slice(start, start + _QUERIES)
        q, nearer = unit_vectors[words[part]], np.zeros(len(bound[part]), np.intp)
        for tile in range(0, min(_TILES * _TILE, len(unit_vectors)), _TILE):
            cosine = q @ unit_vectors[tile : tile + _TILE].T
            nearer += np.count_nonzero(cosine > bound[part, None], axis=1)
        proven[part] = nearer > k  # the word itself is among them
        return len(q)

    with blas_threads(1), progress("biased neighbours", len(words), "word") as bar:
        for done in ordered_map(work, range(0, len(words), _QUERIES)):
            bar.update(done)
    return proven


def nearer_than(p: NDArray[np.float64], theta: float, d: int) -> NDArray[np.float32]:
    """Return the cosine above which no `v` has ``β ≥ θ`` with a word of ``w·g = p``.

    Parameters
    ----------
    p
        Shape ``(q,)``.
    theta
        θ.
    d
        Dimensions. Rounding may add ``2 d ε`` to each of ``w·v`` and ``pq``, and takes a `v` within
        ``√(d ε)`` of `g` for `g` itself.

    Returns
    -------
    array
        Shape ``(q,)``; 2 where there is no such cosine.
    """
    rounding = 4 * d * _EPS / _LEAST
    room = (1 - rounding) ** 2 - max(0.0, 1 - theta) ** 2 * (1 - np.minimum(p * p, 1))
    bound = np.abs(p) / np.sqrt(np.maximum(room, _EPS)) + np.sqrt(d * _EPS)
    return np.where(room > _EPS, np.maximum(bound, _LEAST), 2).astype(np.float32)
