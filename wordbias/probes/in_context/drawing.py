r"""Draws: for every word one of its contexts at random, and the effect size of each draw.

Each draw is one WEAT (`wordbias.measures.weat`) on contextual vectors (Guo and Caliskan 2021,
section "CEAT"). All vectors have unit length, so that

.. math:: s(w, A, B) = \langle w, \operatorname{mean}_{a \in A} a - \operatorname{mean}_{b \in B} b
          \rangle:

a draw costs one direction and n + m inner products. Draws are taken in blocks whose vectors stay in
the processor's cache. Products are of float32, everything that is made of them of float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError
from wordbias.progress import counted
from wordbias.threads import blas_threads, ordered_map

Array = NDArray[np.float64]
Float32 = NDArray[np.float32]
Places = NDArray[np.intp]
Sizes = tuple[int, int, int, int]

_AT_ONCE = 1024
"""Vectors of a block: at most 3 MiB of 768 dimensions."""


@dataclass(frozen=True, eq=False)
class Contexts:
    """The contextual vectors of a query's words.

    Attributes
    ----------
    vectors
        Of unit length, the contexts of one word after those of another, in the order of X, Y, A
        and B, shape ``(c, d)``.
    counts
        How many contexts each word has, shape ``(k,)``.
    sizes
        How many words X, Y, A and B have; their sum is k.
    """

    vectors: Float32 = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    sizes: Sizes

    @classmethod
    def of(
        cls, sets: Sequence[Sequence[ArrayLike]], names: Sequence[str] | None = None
    ) -> Contexts:
        """Make unit vectors of the contexts of every word of X, Y, A and B.

        Parameters
        ----------
        sets
            Four sequences; of each word its vectors of any length, shape ``(contexts, d)``.
        names
            The words, for messages.

        Raises
        ------
        WordbiasError
            If a word has no vector, a vector is zero or holds what is no number, or a set of
            targets has fewer than two words.
        """
        words = [np.asarray(word, np.float32) for words in sets for word in words]
        x, y, a, b = map(len, sets)
        if min(x, y) < 2 or min(a, b) < 1:
            raise WordbiasError(
                f"expected two words or more in X and Y, one or more in A and B, got {x, y, a, b}"
            )
        if any(word.ndim != 2 or not len(word) for word in words):
            raise WordbiasError("expected of each word its vectors, shape (contexts, d)")
        counts = np.array([len(word) for word in words])
        vectors = np.concatenate(words)
        length = _lengths(vectors)
        usable = np.isfinite(length) & (length > 0)
        if not usable.all():
            bad = int(np.argmin(usable))
            word = int(np.searchsorted(np.cumsum(counts), bad, "right"))
            raise WordbiasError(
                f"{names[word] if names else f'word {word + 1}'}: {_fault(length[bad])}"
            )
        vectors /= length[:, None]
        return cls(vectors, counts, (x, y, a, b))

    @property
    def rounding(self) -> float:
        """How far rounding may move an association: √d times the precision of float32."""
        return float(np.sqrt(self.vectors.shape[1]) * np.finfo(np.float32).eps)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The draws that have an effect size.

    Attributes
    ----------
    effects
        e_i, shape ``(n,)``.
    deviations
        The standard deviation of s over X ∪ Y by which each was divided, shape ``(n,)``.
    places
        Which of its contexts each word had, shape ``(n, k)``.
    undefined
        How many draws have none, because all target words were associated alike.
    """

    effects: Array
    deviations: Array
    places: Places
    undefined: int = 0


def draw_places(counts: ArrayLike, draws: int, rng: np.random.Generator) -> Places:
    """Draw one context of every word, `draws` times, independently; shape ``(draws, k)``."""
    n = np.asarray(counts)
    return rng.integers(0, n, size=(draws, len(n)))


def drawn_effects(contexts: Contexts, places: Places) -> Drawn:
    """Compute the effect size of every draw; ``ddof=1``, as CEAT and Caliskan et al. do.

    Parameters
    ----------
    contexts
        Vectors of every word.
    places
        What `draw_places` returns.
    """
    n, m = contexts.sizes[:2]
    s = drawn_associations(contexts, places)
    gap = s[:, :n].mean(axis=1) - s[:, n : n + m].mean(axis=1)
    deviations = s.std(axis=1, ddof=1)
    usable = deviations > contexts.rounding
    effects = gap[usable] / deviations[usable]
    return Drawn(effects, deviations[usable], places[usable], int((~usable).sum()))


def drawn_associations(contexts: Contexts, places: Places) -> Array:
    """s(w, A, B) of every target word in every draw, shape ``(draws, |X| + |Y|)``."""
    starts = np.concatenate([[0], np.cumsum(contexts.counts)[:-1]])
    rows = places + starts
    step = max(1, _AT_ONCE // rows.shape[1])
    blocks = [rows[start : start + step] for start in range(0, len(rows), step)]
    x, y, a, b = contexts.sizes
    signs = np.concatenate([np.full(a, 1 / a), np.full(b, -1 / b)]).astype(np.float32)

    def work(block: Places) -> Float32:
        u = signs @ contexts.vectors.take(block[:, x + y :], axis=0)  # (draws, d)
        s: Float32 = (contexts.vectors.take(block[:, : x + y], axis=0) @ u[:, :, None])[:, :, 0]
        return s

    with blas_threads(1):
        s = np.concatenate(list(counted(ordered_map(work, blocks), "drawing", len(blocks))))
    return s.astype(np.float64)


def _lengths(vectors: Float32) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        squares: Array = np.einsum("id,id->i", vectors, vectors, dtype=np.float64)
    return np.sqrt(squares)


def _fault(length: float) -> str:
    if length == 0:
        return "one of its vectors is zero, and has no cosine with any other"
    return "one of its vectors holds a value that is no finite number"
