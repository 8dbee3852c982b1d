"""Word similarity: whether cosines order pairs of words as people do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordbias.statistics import Interval, spearman, spearman_interval
from wordbias.word_tasks.sets import SimilaritySet
from wordbias.word_tasks.space import UNKNOWN, Oov, Space, check_oov


@dataclass(frozen=True)
class Similarity:
    """How well one embedding does on one set.

    Attributes
    ----------
    value
        Spearman's ρ of the people's scores and the cosines, in [−1, 1]; None where undefined.
    interval
        95 % of ρ, bootstrap over pairs.
    n, asked, known
        Pairs the value is over, pairs of the set, pairs of which both words were found.
    missing
        The words that were not.
    """

    value: float | None
    interval: Interval | None
    n: int
    asked: int
    known: int
    missing: tuple[str, ...]

    @property
    def coverage(self) -> float:
        """Share of the pairs of which the embedding has both words."""
        return self.known / self.asked


def pair_cosines(vectors: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """Products of rows, shape ``(n,)``, of two matrices of shape ``(n, d)``, rows of length one."""
    product: NDArray[np.float64] = (vectors.astype(np.float64) * others).sum(axis=1)
    return product


def similarity(
    space: Space, asked: SimilaritySet, rng: np.random.Generator, oov: Oov = "skip"
) -> Similarity:
    """Correlate the scores of a set with the cosines of an embedding.

    Parameters
    ----------
    space
        The embedding.
    asked
        The set.
    rng
        For the interval.
    oov
        ``"skip"`` leaves out pairs with an unknown word. ``"mean"`` keeps them as
        ``web.evaluate.evaluate_similarity`` of word-embeddings-benchmarks does: the unknown word
        gets the mean of all vectors of length one, as it is, and the product stands for the
        cosine; two unknown words are then alike by the mean's squared length.
    """
    check_oov(oov)
    found = space.find(word for pair in asked.pairs for word in pair)
    rows = np.array([[found[a], found[b]] for a, b in asked.pairs], np.intp).reshape(-1, 2)
    known = (rows != UNKNOWN).all(axis=1)
    kept = known if oov == "skip" else np.ones_like(known)
    cosine = pair_cosines(space.take(rows[kept, 0]), space.take(rows[kept, 1]))
    scores = np.array(asked.scores, np.float64)[kept]
    rho = spearman(cosine, scores)
    return Similarity(
        None if np.isnan(rho) else rho,
        spearman_interval(cosine, scores, rng),
        int(kept.sum()),
        len(rows),
        int(known.sum()),
        tuple(word for word, row in found.items() if row == UNKNOWN),
    )
