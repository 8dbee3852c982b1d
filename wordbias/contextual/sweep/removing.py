"""Removals one after another, by one thread: what they are applied to here is small.

Several threads would wait for each other longer than they compute, on a busy machine above all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from wordbias.contextual.interventions import Removal

Chain = Sequence[Removal]


def removed(x: Tensor, chain: Chain) -> Tensor:
    """Apply the removals of a chain in their order to `x`, shape ``(…, d)``."""
    for removal in chain:
        x = removal(x)
    return x


def removed_each(parts: Iterable[Tensor], chains: Sequence[Chain]) -> list[Tensor]:
    """Apply to each tensor its own chain."""
    with one_thread():
        return [removed(x, chain) for x, chain in zip(parts, chains, strict=True)]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
