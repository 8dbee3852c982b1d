"""Shuffling lines of any number with a part of them in memory at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np

IN_MEMORY = 1 << 22
"""Bytes of a temporary file that are kept in memory."""
_BUCKETS = 64


def shuffled(lines: Iterable[str], seed: int, buckets: int = _BUCKETS) -> Iterator[str]:
    """Yield lines in random order.

    Each line draws a number; they are sorted by it, bucket by bucket. The order depends on the
    seed and on nothing else, and every order is equally likely.
    """
    rng = np.random.default_rng(seed)
    files = [tempfile.SpooledTemporaryFile(IN_MEMORY) for _ in range(buckets)]  # noqa: SIM115
    try:
        for line in lines:
            key = rng.random()
            data = line.encode()
            files[int(key * buckets)].write(np.array([key, len(data)], np.float64).tobytes() + data)
        for held in files:
            yield from (data.decode() for _, data in sorted(_drawn(held), key=lambda x: x[0]))
    finally:
        for held in files:
            held.close()


def _drawn(held: IO[bytes]) -> Iterator[tuple[float, bytes]]:
    held.seek(0)
    while head := held.read(16):
        key, length = np.frombuffer(head, np.float64)
        yield float(key), held.read(int(length))
