"""Torch's own threads, bounded for a while.

The core may use it: torch is found when it is called, and importing this loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wordbias.optional import need


@contextmanager
def torch_threads(count: int = 1) -> Iterator[None]:
    """Let torch use `count` threads inside the block; by default one.

    One is right for small matrices: on a busy machine threads wait for each other longer than they
    compute.
    """
    torch = need("torch", extra="torch", purpose="Bounding its threads")
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
