"""The arithmetic of the online code, from the blocks' losses on.

In bits, as Voita and Titov (2020, eq. 3) define it:

    L_online = t1 · log2 K + Σ_i -log2 p_{probe of the blocks up to i}(block i + 1)

The code published with it, and with Orgad et al. (2022), adds the cross-entropies in nats to the
first block in bits: a probe that knows nothing then reads 1.43 (at t1 = 2 %) instead of 1. Bits
are the default; the published figure stands beside them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordbias.probes.schedule import Result

LN2 = math.log(2)


def uniform_codelength(n: int, k: int) -> float:
    """Return the bits that `n` labels of `k` classes take without a model."""
    return n * math.log2(k)


def online_codelength(t1: int, k: int, nats: float) -> float:
    """Return the bits of the online code.

    Parameters
    ----------
    t1
        Examples of the first block, sent without a model.
    k
        How many classes there are.
    nats
        Cross-entropy of all other blocks, summed.
    """
    return t1 * math.log2(k) + nats / LN2


def published_codelength(t1: int, k: int, nats: float) -> float:
    """Return what the published code calls the online codelength: bits plus nats."""
    return t1 * math.log2(k) + nats


def to_bits(published: float, f1: float) -> float:
    """Convert a compression as published into one of bits.

    Parameters
    ----------
    published
        Uniform codelength in bits by a codelength that adds nats to bits.
    f1
        Share of the first block, as it is in the data: t1 / n.
    """
    return 1 / (f1 + (1 / published - f1) / LN2)


def to_published(bits: float, f1: float) -> float:
    """Undo `to_bits`."""
    return 1 / (f1 + (1 / bits - f1) * LN2)


@dataclass(frozen=True)
class OnlineCode:
    """Labels of `n` examples, sent block by block.

    Attributes
    ----------
    classes
        How many classes the labels have.
    first
        Examples of the first block, t1.
    blocks
        How each probe did on the block behind those that it learned from.
    layer, seed
        Of the representations, and of the order and the first weights.
    """

    classes: int
    first: int
    blocks: tuple[Result, ...]
    layer: int = 0
    seed: int = 0

    @property
    def n(self) -> int:
        """Examples sent."""
        return self.first + sum(block.n for block in self.blocks)

    @property
    def nats(self) -> float:
        """Cross-entropy of all blocks but the first, summed."""
        return sum(block.loss for block in self.blocks)

    @property
    def uniform(self) -> float:
        """Bits without a model."""
        return uniform_codelength(self.n, self.classes)

    @property
    def codelength(self) -> float:
        """Bits of the online code."""
        return online_codelength(self.first, self.classes, self.nats)

    @property
    def compression(self) -> float:
        """Uniform by online codelength, both in bits; 1 says that nothing can be read off."""
        return self.uniform / self.codelength

    @property
    def compression_as_published(self) -> float:
        """Uniform codelength in bits by the sum of bits and nats."""
        return self.uniform / published_codelength(self.first, self.classes, self.nats)

    @property
    def accuracy(self) -> float:
        """Accuracy on the last block of the probe that learned from all before."""
        return self.blocks[-1].accuracy

    def bits(self) -> NDArray[np.float64]:
        """Return the bits that each block took, the first too, shape ``(B + 1,)``."""
        first = self.first * math.log2(self.classes)
        return np.array([first, *(block.loss / LN2 for block in self.blocks)])

    def ends(self) -> NDArray[np.intp]:
        """Return where the blocks end, shape ``(B + 1,)``."""
        return np.cumsum([self.first, *(block.n for block in self.blocks)])
