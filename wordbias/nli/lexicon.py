"""Lexicon of tokens with their vectors of unit length, and pairs encoded by it in batches."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import unit
from wordbias.embedding import Embedding
from wordbias.nli.pairs import Pairs, Tokens

Ints = NDArray[np.int64]
NULL = "<null>"
UNKNOWN = 100
"""Number of vectors that unknown words share, as in Parikh et al. (2016)."""
POOL = 1 << 16
"""Pairs that are drawn together and sorted by length: enough for little padding."""
_SEED = 2016
_LOOKED_AT = 20_000
_CAPITALS = 0.01


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Distinct tokens, numbered; the number 0 is the NULL token."""

    # It does not depend on an embedding: models of many share one encoding of the pairs.

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

    def table(self, embedding: Embedding, *, lower: bool | None = None, raw: bool = False) -> Table:
        """Look up every token in an embedding, and scale its vector to length one unless `raw`."""
        # An unknown token gets one of 100 seeded unit vectors by a hash of its lower-case spelling,
        # the same in every embedding of that dimension and in every run; the published code draws
        # it anew for every occurrence of the word in a data set.
        lower = is_lower(embedding) if lower is None else lower
        spelled = [token.lower() if lower else token for token in self.tokens]
        vectors = unknown_vectors(spelled, embedding.dim)
        place = [i for i, token in enumerate(spelled) if i and token in embedding]
        known = embedding.take([spelled[i] for i in place])
        vectors[place] = known if raw else unit(known)
        return Table(vectors, np.isin(np.arange(len(spelled)), place), lower)


@dataclass(frozen=True, eq=False)
class Table:
    """Vectors of a lexicon's tokens, shape ``(v, d)``, and which of them were found."""

    vectors: NDArray[np.float32]
    found: NDArray[np.bool_]
    lower: bool


def is_lower(embedding: Embedding) -> bool:
    """Return whether the words are lower-case: few capitals among the most frequent ones."""
    # A few are allowed, for special tokens such as UNK; in vocabularies with capitals a large part
    # has them.
    words = embedding.words[:_LOOKED_AT]
    return sum(word != word.lower() for word in words) < _CAPITALS * len(words)


def unknown_vectors(tokens: Sequence[str], dim: int) -> NDArray[np.float32]:
    """Return the vectors of unknown tokens, shape ``(n, dim)``; NULL has its own."""
    pool = _pool(dim)
    rows = [UNKNOWN if token == NULL else _hash(token) % UNKNOWN for token in tokens]
    return pool[rows]


def _hash(token: str) -> int:
    return zlib.crc32(token.lower().encode("utf-8", "surrogatepass"))


@cache
def _pool(dim: int) -> NDArray[np.float32]:
    x = np.random.Generator(np.random.PCG64(_SEED)).standard_normal((UNKNOWN + 1, dim))
    return unit(x.astype(np.float32))


# Encoded pairs in batches


@dataclass(frozen=True, eq=False)
class Sentences:
    """Distinct sentences as token numbers, concatenated."""

    flat: NDArray[np.int32]  # all tokens, shape `(t,)`
    start: Ints  # offset of each sentence and its number of tokens, shape `(s,)`
    length: Ints

    @classmethod
    def of(cls, sentences: Sequence[Tokens], lexicon: Lexicon) -> Sentences:
        """Encode sentences."""
        encoded = [lexicon.encode(sentence) for sentence in sentences]
        length = np.array([len(ids) for ids in encoded], np.int64)
        return cls(np.concatenate(encoded), np.cumsum(length) - length, length)


@dataclass(frozen=True, eq=False)
class Encoded:
    """Pairs whose sentences are encoded once each."""

    sentences: Sentences
    premise: Ints  # indices of sentences, shape `(n,)`
    hypothesis: Ints
    labels: Ints  # indices in `wordbias.nli.pairs.LABELS`, shape `(n,)`

    @classmethod
    def of(cls, pairs: Pairs, lexicon: Lexicon) -> Encoded:
        """Encode pairs."""
        place: dict[Tokens, int] = {}
        sides = [
            np.array([place.setdefault(words, len(place)) for words in side], np.int64)
            for side in (pairs.premises, pairs.hypotheses)
        ]
        return cls(Sentences.of(list(place), lexicon), sides[0], sides[1], pairs.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def order(self, size: int, seed: int, epoch: int) -> list[Ints]:
        """Return an epoch's batches: random, but of pairs of like length."""
        # Pools of pairs are drawn without replacement and sorted by length, equal ones as drawn;
        # the batches cut from them come in random order.
        rng = np.random.default_rng([seed, epoch])
        drawn = rng.permutation(len(self))
        pool = max(1, POOL // size) * size
        pools = [self._sorted(drawn[i : i + pool]) for i in range(0, len(drawn), pool)]
        batches = [rows[i : i + size] for rows in pools for i in range(0, len(rows), size)]
        short = [batch for batch in batches if len(batch) < size]
        full = [batch for batch in batches if len(batch) == size]
        return [full[i] for i in rng.permutation(len(full))] + short

    def in_order_of_length(self, size: int) -> Iterator[Ints]:
        """Yield all pairs in batches with the least padding."""
        rows = self._sorted(np.arange(len(self)))
        return (rows[i : i + size] for i in range(0, len(rows), size))

    def _sorted(self, rows: Ints) -> Ints:
        length = self.sentences.length
        keys = (length[self.hypothesis[rows]], length[self.premise[rows]])
        ordered: Ints = rows[np.lexsort(keys)]
        return ordered
