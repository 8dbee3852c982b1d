"""Word similarity: whether cosines rank pairs of words as people do.

`Space` holds an embedding with vectors of length one, for similarity and analogies. Words are found
by one rule for the whole package: as written, else lower-cased, else capitalised
(`wordbias.wordlists.resolve`). A word therefore has one spelling in all questions of a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import blocks, unit
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.statistics import resampled_spearman, spearman
from wordbias.word_tasks.sets import SimilaritySet
from wordbias.wordlists import resolve

Oov = Literal["skip", "mean"]
"""Treatment of words that the embedding does not have; see `wordbias.word_tasks`."""
UNKNOWN = -1
"""Row number of a word that the embedding does not have."""


@dataclass(frozen=True)
class Similarity:
    """Result of one embedding on one set."""

    # Spearman's ρ of the people's scores and the cosines, in [−1, 1]; None where undefined
    value: float | None
    n: int  # number of pairs in the value, in the set, and with both words in the embedding
    total: int
    known: int
    missing: tuple[str, ...]
    # ρ of pairs drawn again, nan where it is undefined, shape `(b,)`
    samples: NDArray[np.float64] = field(repr=False, compare=False)
    # cosine of each pair of the set, nan where it does not count, shape `(total,)`
    cosines: NDArray[np.float64] = field(repr=False, compare=False)

    @property
    def coverage(self) -> float:
        """Share of the pairs with both words in the embedding."""
        return self.known / self.total


def similarity(
    space: Space, test_set: SimilaritySet, rng: np.random.Generator, oov: Oov = "skip"
) -> Similarity:
    """Correlate the scores of a set with the cosines of an embedding."""
    # oov="mean" keeps pairs with an unknown word as web.evaluate.evaluate_similarity of
    # word-embeddings-benchmarks does. The unknown word gets the mean of all vectors of length one,
    # as it is, and the product replaces the cosine. Two unknown words are then alike by the mean's
    # squared length.
    check_oov(oov)
    row_by_word = space.find(word for pair in test_set.pairs for word in pair)
    rows = np.array([[row_by_word[a], row_by_word[b]] for a, b in test_set.pairs], np.intp).reshape(
        -1, 2
    )
    known = (rows != UNKNOWN).all(axis=1)
    counted = known if oov == "skip" else np.ones_like(known)
    cosine = pair_cosines(space.take(rows[counted, 0]), space.take(rows[counted, 1]))
    scores = np.array(test_set.scores, np.float64)[counted]
    rho = spearman(cosine, scores)
    cosines = np.full(len(rows), np.nan)
    cosines[counted] = cosine
    return Similarity(
        None if np.isnan(rho) else rho,
        int(counted.sum()),
        len(rows),
        int(known.sum()),
        tuple(word for word, row in row_by_word.items() if row == UNKNOWN),
        resampled_spearman(cosine, scores, rng),
        cosines,
    )


def pair_cosines(vectors: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the products of rows of length one, ``(n,)``, of two matrices ``(n, d)``."""
    product: NDArray[np.float64] = (vectors.astype(np.float64) * others).sum(axis=1)
    return product


@dataclass(frozen=True)
class Space:
    """A vocabulary with vectors of length one, shape ``(n, d)``; a vector of zeros stays so."""

    name: str
    index: dict[str, int]
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, embedding: Embedding) -> Space:
        """Scale every vector of an embedding to length one."""
        if not len(embedding):
            raise WordbiasError(f"{embedding.name}: no words, nothing to measure")
        return cls(embedding.name, embedding.index, unit(embedding.vectors))

    @cached_property
    def mean(self) -> NDArray[np.float32]:
        """Mean of the vectors of length one, shape ``(d,)``; its own length is below one."""
        total = np.sum([x.sum(axis=0) for x in blocks(self.vectors)], axis=0)
        mean: NDArray[np.float32] = (total / len(self.vectors)).astype(np.float32)
        return mean

    def find(self, words: Iterable[str]) -> dict[str, int]:
        """Return the row number of every word, `UNKNOWN` where there is none."""
        rows = {}
        for word in dict.fromkeys(words):
            matches = resolve([word], self.index).found
            rows[word] = self.index[matches[0]] if matches else UNKNOWN
        return rows

    def take(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the vectors of rows of any shape, the mean for `UNKNOWN`."""
        vectors = self.vectors[rows]
        if (rows == UNKNOWN).any():
            vectors[rows == UNKNOWN] = self.mean
        return vectors


def check_oov(oov: str) -> None:
    """Raise if `oov` is not known."""
    if oov not in get_args(Oov):
        raise WordbiasError(f"oov {oov!r}: expected one of {', '.join(get_args(Oov))}")
