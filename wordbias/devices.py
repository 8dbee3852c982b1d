"""Bounded threads: how many, for BLAS and for work done block by block, in order.

Torch's device and its threads.

The core may use it: torch is found when it is called, and importing this loads nothing.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from wordbias.errors import WordbiasError, need

T = TypeVar("T")
R = TypeVar("R")

_WITH_BLAS = ("scipy.linalg", "scipy.optimize", "sklearn", "torch")
_requested: int | None = None


def set_threads(count: int | None) -> None:
    """Bound the threads of the whole process; None means what the machine allows."""
    global _requested
    _requested = count


def threads() -> int:
    """Return the number of threads to use: the bound set by the user, or the usable cores."""
    if _requested is not None:
        return _requested
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _blas(loaded: tuple[bool, ...]) -> Any:
    """Find the BLAS libraries; anew where one of these packages, which bring their own, came in."""
    import numpy  # noqa: F401  the controller sees only libraries that are loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def blas_threads(count: int | None = None) -> Iterator[None]:
    """Bound the BLAS threads inside the block to `count`, by default to `threads()`.

    One is right for skinny products (a vocabulary times a few components): there, BLAS threads
    on a busy machine wait for each other longer than they compute.
    """
    loaded = tuple(name in sys.modules for name in _WITH_BLAS)
    with _blas(loaded).limit(limits=count or threads(), user_api="blas"):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Bound BLAS and OpenMP to one thread inside the block.

    For small problems of scikit-learn: on a busy machine its threads wait for each other many
    times longer than they compute.
    """
    loaded = tuple(name in sys.modules for name in _WITH_BLAS)
    with _blas(loaded).limit(limits=1):
        yield


def ordered_map(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Map over `items` in `threads()` threads, yield in order, and never run far ahead.

    At most two items a thread are in memory at once, so that a file of any size can pass
    through. With one thread nothing is started.
    """
    count = threads()
    if count == 1:
        yield from map(function, items)
        return
    pending: deque[Future[R]] = deque()
    pool = ThreadPoolExecutor(count)
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > 2 * count:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def find_device(name: str | None = None) -> Any:
    """Return the torch device of a name; by default cuda if there is one, else mps, else cpu.

    Computation in float64 falls back to the CPU on mps, which lacks it.

    Parameters
    ----------
    name
        ``cpu``, ``cuda``, ``cuda:1``, ``mps``, or None for the default.

    Returns
    -------
    torch.device

    Raises
    ------
    WordbiasError
        If torch cannot compute there; the message names the devices of this machine.
    """
    torch = need("torch", extra="torch", purpose="A device")
    here = [
        kind
        for kind, is_here in (
            ("cuda", torch.cuda.is_available()),
            ("mps", torch.backends.mps.is_available()),
            ("cpu", True),
        )
        if is_here
    ]
    if name is None:
        return torch.device(here[0])
    try:
        device = torch.device(name)
        torch.ones(1, device=device).sum().item()
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise WordbiasError(
            f"device {name!r}: torch cannot compute there ({reason}); use {' or '.join(here[::-1])}"
        ) from None
    return device


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
