"""An embedding made ready for many questions: every word at length one, and what stands for none.

Words of a question file are found by one rule for the whole package: as written, else lower-cased,
else capitalised (`wordbias.wordlists.resolve`). A word therefore has one spelling in all questions
of a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import blocks, unit
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.wordlists import resolve

Oov = Literal["skip", "mean"]
"""What becomes of words that the embedding does not have; see `wordbias.word_tasks`."""
UNKNOWN = -1
"""Row number of a word that the embedding does not have."""


@dataclass(frozen=True)
class Space:
    """A vocabulary with vectors of length one, shape ``(n, d)``; a vector of zeros stays so."""

    name: str
    index: dict[str, int]
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, embedding: Embedding) -> Space:
        """Scale every vector of an embedding to length one.

        Raises
        ------
        WordbiasError
            If the embedding has no words.
        """
        if not len(embedding):
            raise WordbiasError(f"{embedding.name}: no words, nothing to measure")
        return cls(embedding.name, embedding.index, unit(embedding.vectors))

    @cached_property
    def mean(self) -> NDArray[np.float32]:
        """Mean of the vectors of length one, shape ``(d,)``; itself shorter than one."""
        total = np.sum([x.sum(axis=0) for x in blocks(self.vectors)], axis=0)
        mean: NDArray[np.float32] = (total / len(self.vectors)).astype(np.float32)
        return mean

    def find(self, words: Iterable[str]) -> dict[str, int]:
        """Return the row number of every word, `UNKNOWN` where there is none."""
        return {word: self._row(word) for word in dict.fromkeys(words)}

    def _row(self, word: str) -> int:
        found = resolve([word], self.index).found
        return self.index[found[0]] if found else UNKNOWN

    def take(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the vectors of rows of any shape, the mean for `UNKNOWN`."""
        vectors = self.vectors[rows]
        if (rows == UNKNOWN).any():
            vectors[rows == UNKNOWN] = self.mean
        return vectors


def check_oov(oov: str) -> None:
    """Raise if `oov` is no policy."""
    if oov not in get_args(Oov):
        raise WordbiasError(f"oov {oov!r}: expected one of {', '.join(get_args(Oov))}")
