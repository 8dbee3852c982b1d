"""What a decoder that ends in tanh can reach, and the scale that brings vectors within it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.finite import finite_blocks

_EDGE = 0.99
_STRAY = 1e3
_MOSTLY = 0.5


class Reach(NamedTuple):
    """How much of an embedding lies beyond the decoder.

    Attributes
    ----------
    largest
        The largest absolute value.
    outside
        Share of the values outside (−1, 1).
    lost
        What they exceed it by, squared, as a share of all squared values. Without a scale the
        reconstruction loss cannot fall below this share of the mean squared value.
    """

    largest: float
    outside: float
    lost: float

    def scale(self, as_published: bool = False) -> float:
        """Return what to divide vectors by, so that the largest value is .99; 1 if it is less.

        1 as published, whatever lies outside.
        """
        return 1.0 if as_published else max(1.0, self.largest / _EDGE)


def tanh_reach(embedding: Embedding) -> Reach:
    """Measure what lies outside (−1, 1).

    Raises
    ------
    WordbiasError
        If a value is not finite, all are zero, or one is more than a thousand times as large as
        they are on average: no scale fits that value and the others.
    """
    outside, excess, square, total, largest, place = 0, 0.0, 0.0, 0.0, 0.0, 0
    start = 0
    for x in finite_blocks(embedding):
        size = np.abs(x)
        longest = size.max(1)
        if longest.max(initial=0) > largest:
            largest, place = float(longest.max()), start + int(longest.argmax())
        outside += int(np.count_nonzero(size >= 1))
        excess += float((np.maximum(size - 1, 0) ** 2).sum())
        square += float((size**2).sum())
        total += float(size.sum())
        start += len(x)
    if largest == 0:
        raise WordbiasError(f"{embedding.name}: every vector is zero; nothing can be learned")
    mean = total / embedding.vectors.size
    if largest > _STRAY * mean:
        raise WordbiasError(
            f"{embedding.name}: the vector of {embedding.words[place]!r} has the value "
            f"{largest:.3g}, where the mean size is {mean:.3g}; leave the word out"
        )
    return Reach(largest, outside / embedding.vectors.size, excess / square)


def refuse_mostly_outside(name: str, reach: Reach) -> None:
    """Refuse to train on vectors as they are, as published, if the decoder can reach few of them.

    Raises
    ------
    WordbiasError
        If more than half of the values lie outside (−1, 1).
    """
    if reach.outside > _MOSTLY:
        raise WordbiasError(
            f"{name}: {reach.outside:.0%} of the values lie outside (−1, 1), which the decoder's "
            "tanh cannot reach; bring the vectors to length one, or do not train as published, "
            "which scales them"
        )
