"""Encoded pairs in batches of like length, in an order of each model's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.nli.lexicon import Lexicon
from wordbias.nli.pairs import Pairs, Tokens

Ints = NDArray[np.int64]
POOL = 1 << 16
"""Pairs that are drawn together and sorted by length: wide enough for little padding."""


class Padded(NamedTuple):
    """Token numbers and which of them are tokens, both ``(B, L)``."""

    ids: NDArray[np.int32]
    real: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sentences:
    """Distinct sentences as numbers, one behind the other.

    Attributes
    ----------
    flat
        All tokens, shape ``(t,)``.
    start, length
        Where each sentence begins and how many tokens it has, shape ``(s,)``.
    """

    flat: NDArray[np.int32]
    start: Ints
    length: Ints

    @classmethod
    def of(cls, sentences: Sequence[Tokens], lexicon: Lexicon) -> Sentences:
        """Encode sentences."""
        encoded = [lexicon.encode(sentence) for sentence in sentences]
        length = np.array([len(ids) for ids in encoded], np.int64)
        return cls(np.concatenate(encoded), np.cumsum(length) - length, length)

    def pad(self, rows: Ints) -> Padded:
        """Put some of them under each other; padding is NULL, which every sentence begins with."""
        length = self.length[rows]
        place = np.arange(length.max())
        real = place < length[:, None]
        ids = self.flat[np.where(real, self.start[rows][:, None] + place, 0)]
        return Padded(ids, real)


@dataclass(frozen=True, eq=False)
class Encoded:
    """Pairs whose sentences are encoded once each.

    Attributes
    ----------
    sentences
        The distinct ones.
    premise, hypothesis
        Places in them, shape ``(n,)``.
    labels
        Shape ``(n,)``.
    """

    sentences: Sentences
    premise: Ints
    hypothesis: Ints
    labels: Ints

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
        """Draw an epoch's batches: random, but of pairs of like length.

        Pools of pairs are drawn without replacement and sorted by length, equal ones as drawn;
        the batches cut from them come in random order.
        """
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
