"""All vectors of an embedding block by block, each made sure to be finite."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.blocks import blocks


def finite_blocks(embedding: Embedding) -> Iterator[NDArray[np.float64]]:
    """Yield consecutive rows as float64.

    Raises
    ------
    WordbiasError
        If a value is not finite; the message names the word.
    """
    start = 0
    for x in blocks(embedding.vectors):
        finite = np.isfinite(x).all(axis=1)
        if not finite.all():
            word = embedding.words[start + int(finite.argmin())]
            raise WordbiasError(
                f"{embedding.name}: the vector of {word!r} is not finite; leave the word out"
            )
        start += len(x)
        yield x
