"""Layers of K models side by side: every weight has a leading axis of K, and so has what they map.

Places of padded sentences draw no dropout, so that each model is what it would be alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn

LEVELS = 256
"""Rates of dropout are multiples of one over this: a mask costs one random byte an element."""


class Real(NamedTuple):
    """Which places of padded sentences hold a token.

    Attributes
    ----------
    mask
        True at tokens, shape ``(K, …)``.
    counts
        Tokens of each model.
    rows
        Their places when the mask is flattened, shape ``(sum(counts),)``; None if there is no
        padding at all, which spares work.
    """

    mask: Tensor
    counts: tuple[int, ...]
    rows: Tensor | None

    @classmethod
    def of(cls, mask: Tensor) -> Real:
        """Count the tokens of a mask."""
        counts = tuple(mask.flatten(1).sum(1).tolist())
        rows = None if sum(counts) == mask.numel() else mask.flatten().nonzero().squeeze(1)
        return cls(mask, counts, rows)


class Dropout(nn.Module):
    """Dropout whose masks depend on each model's generator and its real tokens only.

    Padding draws nothing, so that a model trained beside others draws what it draws alone. The
    rate is rounded to a multiple of 1/256 (0.2 to 51/256 = 0.1992), for a mask costs one random
    byte an element; what is kept is divided by the rounded rate of keeping, so that the expected
    output is the input exactly.
    """

    threshold: int

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.threshold = min(round(rate * LEVELS), LEVELS - 1)

    def forward(self, x: Tensor, real: Real, generators: Sequence[Generator]) -> Tensor:
        """Drop elements of ``x`` (K, n, w), n places of which `real` tells which are tokens."""
        if not self.training or not self.threshold:
            return x
        width = x.shape[-1]
        drawn = [random_bytes(n, width, g) for n, g in zip(real.counts, generators, strict=True)]
        kept = torch.cat(drawn).ge_(self.threshold)  # 0 or 1, (tokens, w)
        if real.rows is not None:
            kept = kept.new_zeros(real.mask.numel(), width).index_copy_(0, real.rows, kept)
        scale = LEVELS / (LEVELS - self.threshold)
        return x * kept.view(x.shape).to(x.dtype).mul_(scale)


def random_bytes(rows: int, width: int, generator: Generator) -> Tensor:
    """Draw uniform bytes, shape ``(rows, width)``, eight with each random number."""
    words = torch.empty(-(-rows * width // 8), dtype=torch.int64, device=generator.device)
    words.random_(-(2**63), None, generator=generator)
    return words.view(torch.uint8)[: rows * width].view(rows, width)


class Linear(nn.Module):
    """K linear maps (K, n, in) → (K, n, out)."""

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, models: int, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(models, inputs, outputs))
        self.bias = nn.Parameter(torch.empty(models, 1, outputs)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Map the last axis."""
        if self.bias is None:
            return torch.bmm(x, self.weight)
        return torch.baddbmm(self.bias, x, self.weight)


class Feedforward(nn.Module):
    """[Dropout, linear, ReLU] twice: (K, …, in) → (K, …, h)."""

    dropout: Dropout
    first: Linear
    second: Linear

    def __init__(self, models: int, inputs: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.first = Linear(models, inputs, hidden)
        self.second = Linear(models, hidden, hidden)

    def forward(self, x: Tensor, real: Real, generators: Sequence[Generator]) -> Tensor:
        """Map the last axis."""
        y: Tensor = x.flatten(1, -2)  # (K, n, in)
        y = self.first(self.dropout(y, real, generators)).relu_()  # (K, n, h)
        y = self.second(self.dropout(y, real, generators)).relu_()  # (K, n, h)
        return y.view(*x.shape[:-1], -1)  # (K, …, h)
