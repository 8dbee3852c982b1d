"""From tokens to vectors: unit length, a NULL token, and a fixed vector for an unknown word."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import unit
from wordbias.embedding import Embedding

NULL = "<null>"
UNKNOWN = 100
"""Vectors that unknown words share, as in Parikh et al. (2016)."""
_SEED = 2016
_LOOKED_AT = 20_000
_CAPITALS = 0.01


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Distinct tokens, numbered; the number 0 is the NULL token.

    Independent of any embedding, so that many models read the same numbers.
    """

    tokens: tuple[str, ...]
    number: dict[str, int]

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> Lexicon:
        """Give the tokens of sentences numbers, in the order of their first occurrence."""
        number = {NULL: 0}
        for sentence in dict.fromkeys(map(tuple, sentences)):
            for token in sentence:
                number.setdefault(token, len(number))
        return cls(tuple(number), number)

    def encode(self, sentence: Sequence[str]) -> NDArray[np.int32]:
        """Return the numbers of a sentence's tokens, NULL first, shape ``(1 + n,)``."""
        return np.array([0, *(self.number[token] for token in sentence)], np.int32)

    def table(self, embedding: Embedding, *, lower: bool | None = None) -> Table:
        """Look every token up in an embedding, and bring its vector to length one.

        An unknown token gets one of 100 seeded unit vectors by a hash of its lower-case spelling,
        the same in every embedding of that dimension and in every run; the published code draws it
        anew for every occurrence of the word in a data set.

        Parameters
        ----------
        lower
            Whether tokens are lower-cased: what a trained model was told, by default whether the
            embedding's words are.
        """
        lower = is_lower(embedding) if lower is None else lower
        spelled = [token.lower() if lower else token for token in self.tokens]
        vectors = unknown_vectors(spelled, embedding.dim)
        place = [i for i, token in enumerate(spelled) if i and token in embedding]
        vectors[place] = unit(embedding.take([spelled[i] for i in place]))
        return Table(vectors, np.isin(np.arange(len(spelled)), place), lower)


@dataclass(frozen=True, eq=False)
class Table:
    """Vectors of a lexicon's tokens, shape ``(v, d)``, and which of them were found."""

    vectors: NDArray[np.float32]
    found: NDArray[np.bool_]
    lower: bool


def is_lower(embedding: Embedding) -> bool:
    """Whether the words are lower-case: less than 1 % of the most frequent ones hold a capital.

    A few are allowed, for special tokens such as ``UNK``; in vocabularies with capitals a large
    part has them.
    """
    words = embedding.words[:_LOOKED_AT]
    return sum(word != word.lower() for word in words) < _CAPITALS * len(words)


def unknown_vectors(tokens: Sequence[str], dim: int) -> NDArray[np.float32]:
    """Return vectors as if no token were known, shape ``(n, dim)``; NULL has its own."""
    pool = _pool(dim)
    rows = [UNKNOWN if token == NULL else _hash(token) % UNKNOWN for token in tokens]
    return pool[rows]


def _hash(token: str) -> int:
    return zlib.crc32(token.lower().encode("utf-8", "surrogatepass"))


@cache
def _pool(dim: int) -> NDArray[np.float32]:
    x = np.random.Generator(np.random.PCG64(_SEED)).standard_normal((UNKNOWN + 1, dim))
    return unit(x.astype(np.float32))
