"""Jobs shared out to stacks, and stacks to threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.optional import need
from wordbias.probes.linear import LinearProbes
from wordbias.probes.recipe import Recipe, Result
from wordbias.probes.schedule import Job
from wordbias.probes.stacked import ROWS, Make, Stack
from wordbias.progress import Bar, progress
from wordbias.threads import blas_threads, threads
from wordbias.torch_threads import torch_threads

Vectors = NDArray[np.floating[Any]]
Share = tuple[list[int], list[int] | None]


def train_jobs(
    vectors: Vectors,
    jobs: Sequence[Job],
    classes: int,
    recipe: Recipe,
    *,
    device: str | None = None,
    what: str = "probing",
) -> list[list[Result]]:
    """Train and test every probe of every job.

    The result does not depend on the number of threads.

    Parameters
    ----------
    vectors
        Shape ``(L, n, d)``, any float type, possibly memory-mapped; stays as it is.
    jobs
        What is to be coded.
    classes
        How many classes there are, K.
    recipe
        How the probes are trained.
    device
        Of the MLP, which torch computes; linear probes run in numpy.

    Returns
    -------
    list of list of Result
        For each job one item a block.
    """
    make: Make = LinearProbes
    apart = False
    bounded: AbstractContextManager[None] = nullcontext()
    if recipe.probe == "mlp":
        mlp = need("wordbias.probes.mlp", extra="torch", purpose="An MLP probe")
        make, apart, bounded = mlp.maker(device), mlp.is_cpu(device), torch_threads()
    shares = list(_shares(jobs, apart=apart))
    found: list[dict[int, Result]] = [{} for _ in jobs]
    stop = threading.Event()

    def work(share: Share, bar: Bar) -> None:
        members, blocks = share
        stack = Stack(make, vectors, [jobs[i] for i in members], classes, recipe, blocks)
        stack.train(bar.update, stop)
        for i, tested in zip(members, stack.test(), strict=True):
            found[i].update(tested)

    total = sum(len(job.schedule.train) for job in jobs)
    with bounded, blas_threads(1), progress(what, total, "probe") as bar:
        _in_threads(lambda share: work(share, bar), shares, stop)
    return [[row[block] for block in sorted(row)] for row in found]


def _shares(jobs: Sequence[Job], *, apart: bool) -> Iterator[Share]:
    """Share out jobs: some of one schedule together, or every probe alone."""
    if apart:
        # a wide probe fills the cache alone; the large ones first, so that no thread waits long
        sizes = [(-size, i, b) for i, job in enumerate(jobs) for b, size in _blocks(job)]
        yield from (([i], [b]) for _, i, b in sorted(sizes))
        return
    alike: dict[Any, list[int]] = {}
    for i, job in enumerate(jobs):
        alike.setdefault(job.schedule, []).append(i)
    for members in alike.values():
        count = -(-len(members) // ROWS)
        count += count % 2 if count > 1 else 0  # even, for machines of two cores and more
        yield from ((part.tolist(), None) for part in np.array_split(members, count))


def _blocks(job: Job) -> Iterator[tuple[int, int]]:
    return enumerate(job.schedule.train)


def _in_threads(
    work: Callable[[Share], None], shares: Sequence[Share], stop: threading.Event
) -> None:
    """Do the shares in threads; whatever ends one ends them all soon."""
    pool = ThreadPoolExecutor(min(threads(), len(shares)))
    try:
        done, _ = wait([pool.submit(work, share) for share in shares], None, FIRST_EXCEPTION)
        for future in done:
            future.result()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
