"""Devices and threads: torch's device, and bounds of the threads of BLAS, torch and file reading.

Importing this module loads neither numpy nor torch.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, TypeVar

from wordbias.arguments import AUTO
from wordbias.errors import WordbiasError, need

T = TypeVar("T")
R = TypeVar("R")
_GRACE = 2.0
"""Seconds after Ctrl-C in which results that are on their way are still taken."""


def find_device(name: str | None = None) -> Any:
    """Return the torch device of a name; by default cuda if there is one, else mps, else cpu."""
    # Computation in float64 falls back to the CPU on mps, which lacks it.
    torch = need("torch", extra="torch", purpose="A device")
    candidates = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    available = [kind for kind, is_available in candidates.items() if is_available]
    if name is None or name == AUTO:
        return torch.device(available[0])
    try:
        device = torch.device(name)
        torch.ones(1, device=device).sum().item()
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise WordbiasError(
            f"device {name!r}: torch cannot compute there ({reason}); use "
            f"{' or '.join(available[::-1])}"
        ) from None
    return device


@contextmanager
def torch_threads(count: int = 1) -> Iterator[None]:
    """Limit torch to `count` threads inside the block, by default to one."""
    # Use one for small matrices: on a busy machine threads wait for each other longer than they
    # compute.
    torch = need("torch", extra="torch", purpose="Bounding its threads")
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


_requested: int | None = None


_LIBRARIES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True)
class Threads:
    """The number of threads that was asked for, and what the environment says."""

    requested: int | None
    environment: dict[str, str | None]


def set_threads(count: int | None) -> Threads:
    """Set the number of threads for the whole process, None for all; return what held before."""
    # A number bounds BLAS, too: the libraries that are loaded and, by the environment, later ones.
    global _requested
    before = Threads(_requested, {name: os.environ.get(name) for name in _LIBRARIES})
    _requested = count
    if count is not None:
        os.environ.update(dict.fromkeys(_LIBRARIES, str(count)))
        _limit_blas(count)
    return before


def restore_threads(before: Threads) -> None:
    """Put back the number of threads that `set_threads` replaced."""
    global _requested
    _requested = before.requested
    for name, value in before.environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _limit_blas(native_threads())


def _limit_blas(count: int) -> None:
    if "numpy" in sys.modules:
        _loaded_blas().limit(limits=count, user_api="blas")  # holds until it is set again


def threads() -> int:
    """Return the number of threads to use: that of `set_threads`, or the usable cores."""
    # Usable are the cores that the scheduler and the container (cgroup v2) give this process.
    if _requested is not None:
        return _requested
    if hasattr(os, "sched_getaffinity"):
        return _in_container(len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def native_threads() -> int:
    """Return the number of threads for torch and BLAS: that of `set_threads`, or `threads()`."""
    # Where no number was set, OMP_NUM_THREADS is the most.
    omp_threads = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if _requested is not None or not omp_threads.isdecimal() or int(omp_threads) == 0:
        return threads()
    return min(int(omp_threads), threads())


_CONTAINER = Path("/sys/fs/cgroup/cpu.max")


def _in_container(cores: int) -> int:
    """Return how many of the cores the container may use at once: all, where nothing says less."""
    try:
        quota, period = _CONTAINER.read_text(encoding="ascii").split()
        return min(cores, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):  # no such file, or "max"
        return cores


@contextmanager
def limited_threads(count: int = 1) -> Iterator[None]:
    """Use `count` threads inside the block, by default one: other processes have the cores."""
    global _requested
    before, _requested = _requested, count
    try:
        yield
    finally:
        _requested = before


_WITH_BLAS = ("scipy.linalg", "scipy.optimize", "sklearn", "torch")


def _loaded_blas() -> Any:
    """Find the BLAS libraries; again once a package with a BLAS of its own has been loaded."""
    return _blas(tuple(name in sys.modules for name in _WITH_BLAS))


@cache
def _blas(loaded: tuple[bool, ...]) -> Any:
    import numpy  # noqa: F401  the controller finds only loaded libraries
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def blas_threads(count: int | None = None) -> Iterator[None]:
    """Limit the BLAS threads inside the block to `count`, by default to `native_threads()`."""
    # Use one for narrow products (a vocabulary times a few components): there, BLAS threads on a
    # busy machine wait for each other longer than they compute.
    with _loaded_blas().limit(limits=count or native_threads(), user_api="blas"):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread inside the block."""
    # For small problems of scikit-learn: on a busy machine its threads wait for each other many
    # times longer than they compute.
    with _loaded_blas().limit(limits=1):
        yield


def ordered_map(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Apply a function to items in `threads()` threads; yield the results in order."""
    # At most two items for each thread are in memory at once. With one thread, no thread is
    # started.
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


def as_they_arrive(
    function: Callable[[T, Event], R], items: Sequence[T], count: int
) -> Iterator[tuple[T, R]]:
    """Apply a function that waits for others, to `count` items at once; yield as they arrive."""
    # After an error no other item is begun. What is on its way comes before the error, after Ctrl-C
    # for a moment only. The function's event says that it should not wait any more.
    waiting, stop, count = deque(items), Event(), min(count, len(items))
    arrived: SimpleQueue[tuple[T, R] | BaseException | None] = SimpleQueue()
    failure: BaseException | None = None
    until = math.inf
    try:
        for _ in range(count):  # daemons: nothing waits for them after Ctrl-C
            work = partial(copy_context().run, _work, function, waiting, stop, arrived)
            Thread(target=work, daemon=True).start()
        while count and time.monotonic() < until:
            try:
                arrival = arrived.get(timeout=0.1)  # Windows notices Ctrl-C only between waits
            except Empty:
                continue
            except KeyboardInterrupt as error:
                if stop.is_set():
                    raise
                stop.set()
                failure, until = error, time.monotonic() + _GRACE
                continue
            if isinstance(arrival, tuple):
                yield arrival
            elif arrival is None:
                count -= 1
            else:
                failure = failure or arrival
    finally:
        stop.set()
    if failure is not None:
        raise failure


def _work(
    function: Callable[[T, Event], R],
    waiting: deque[T],
    stop: Event,
    arrived: SimpleQueue[tuple[T, R] | BaseException | None],
) -> None:
    """Take one item after another, until none waits; say at the end that this thread has ended."""
    while waiting and not stop.is_set():
        try:
            item = waiting.popleft()
        except IndexError:  # another thread took the last one
            break
        try:
            arrived.put((item, function(item, stop)))
        except BaseException as error:  # raised by the thread that waits
            stop.set()
            arrived.put(error)
    arrived.put(None)
