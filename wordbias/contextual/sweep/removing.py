"""Removals one after another, by one thread: what they are applied to here is small.

Several threads would wait for each other longer than they compute, on a busy machine above all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor

from wordbias.contextual.interventions import Removal
from wordbias.torch_threads import torch_threads

Chain = Sequence[Removal]


def removed(x: Tensor, chain: Chain) -> Tensor:
    """Apply the removals of a chain in their order to `x`, shape ``(…, d)``."""
    for removal in chain:
        x = removal(x)
    return x


def removed_each(parts: Iterable[Tensor], chains: Sequence[Chain]) -> list[Tensor]:
    """Apply to each tensor its own chain."""
    with torch_threads():
        return [removed(x, chain) for x, chain in zip(parts, chains, strict=True)]
