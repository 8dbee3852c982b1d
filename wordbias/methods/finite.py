"""Vectors made sure to be finite, or the word named whose vector is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import ROWS, blocks
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError


def refuse_infinite(embedding: Embedding, words: Sequence[str], x: NDArray[Any]) -> None:
    """Refuse rows, one a word, that are not finite.

    Raises
    ------
    WordbiasError
        If a value is not finite; the message names the word.
    """
    finite = np.isfinite(x).all(axis=1)
    if not finite.all():
        raise WordbiasError(
            f"{embedding.name}: the vector of {words[int(finite.argmin())]!r} is not finite; "
            "leave the word out"
        )


def finite_vectors(embedding: Embedding, words: Sequence[str]) -> NDArray[np.float32]:
    """Return vectors of words that are all here and finite, shape ``(len(words), d)``."""
    x = embedding.take(words)
    refuse_infinite(embedding, words, x)
    return x


def finite_blocks(embedding: Embedding) -> Iterator[NDArray[np.float64]]:
    """Yield consecutive rows, all finite, as float64."""
    for start, x in zip(range(0, len(embedding), ROWS), blocks(embedding.vectors), strict=True):
        refuse_infinite(embedding, embedding.words[start : start + ROWS], x)
        yield x
