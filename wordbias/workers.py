"""The same jobs in this process, in several, or on a cluster: joblib is the one seam.

A job is a pure function of one item, so that where it runs changes nothing about its result. Which
machines a cluster has, and what becomes of a job whose machine is lost, is the cluster's affair.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from wordbias.clusters import dask, loky, ray
from wordbias.errors import WordbiasError
from wordbias.progress import progress, set_quiet
from wordbias.threads import set_threads, threads

R = TypeVar("R")

_STARTS = {"loky": loky, "dask": dask, "ray": ray}
BACKENDS = tuple(_STARTS)


@dataclass(frozen=True)
class Workers:
    """Where jobs are done.

    Attributes
    ----------
    jobs
        At a time, of which no more are started than there is work for; None is one on this machine,
        and as many as there are workers on a cluster.
    backend
        ``loky``, processes on this machine; ``dask`` or ``ray``, the cluster whose address is in
        ``DASK_SCHEDULER_ADDRESS`` or ``RAY_ADDRESS``, or a local one for the time of the call.
    """

    jobs: int | None = None
    backend: str = "loky"

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise WordbiasError(f"backend {self.backend!r}: expected {', '.join(BACKENDS)}")

    @property
    def here(self) -> bool:
        """Whether jobs are done in this process, one after the other."""
        return self.backend == "loky" and self.jobs in (None, 1)

    def unordered(
        self,
        function: Callable[..., R],
        items: Sequence[Any],
        *,
        shared: tuple[Any, ...] = (),
        lost: str = "start it again",
    ) -> Iterator[tuple[int, R]]:
        """Yield the place of each item and its result, as they get done.

        Parameters
        ----------
        function
            Importable by its name, and pure.
        items
            What it is called with, one at a time. They and the results travel as pickles between
            our own processes.
        shared
            What it is called with each time, before the item; a Dask cluster is sent it once.
        lost
            What to do where a worker dies and nothing does its job again.

        Raises
        ------
        WordbiasError
            The first one of any job; or if a worker process on this machine died.
        """
        workers = self._needed(len(items))
        if workers.here or not items:
            yield from ((i, function(*shared, item)) for i, item in enumerate(items))
            return
        call = _Call(function, workers._threads())
        with _backend(workers, len(items), shared) as (pool, together):
            for start in range(0, len(items), together):
                some = enumerate(items[start : start + together], start)
                yield from _results(
                    pool, [(call, place, *shared, one) for place, one in some], lost
                )

    def results(
        self,
        function: Callable[..., R],
        items: Sequence[Any],
        what: str,
        *,
        shared: tuple[Any, ...] = (),
        unit: str = "job",
    ) -> list[R]:
        """Return the result of each item, in their order, and show how many are done."""
        found: dict[int, R] = {}
        here = self._needed(len(items)).here
        shown = nullcontext() if here else progress(what, len(items), unit)
        with shown as bar:
            for place, result in self.unordered(function, items, shared=shared):
                found[place] = result
                if bar is not None:
                    bar.update(1)
        return [found[i] for i in range(len(items))]

    def _needed(self, items: int) -> Workers:
        """Return no more than one for each item."""
        return self if self.jobs is None else replace(self, jobs=max(1, min(self.jobs, items)))

    def _threads(self) -> int:
        return max(1, threads() // (self.jobs or threads()))


@dataclass(frozen=True)
class _Call:
    """A function to be called in another process."""

    function: Callable[..., Any]
    threads: int

    def __call__(self, place: int, *given: Any) -> tuple[int, Any]:
        set_quiet(True)
        set_threads(self.threads)
        try:
            return place, self.function(*given)
        except WordbiasError as error:
            return place, _Refused(str(error))


@dataclass(frozen=True)
class _Refused:
    """An error of a job: clusters wrap exceptions into others, with tracebacks in the message."""

    message: str


def _results(pool: Any, calls: Any, lost: str) -> Iterator[tuple[int, Any]]:
    from joblib import delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    results = pool(delayed(call)(*given) for call, *given in calls)
    try:
        for place, result in results:
            if isinstance(result, _Refused):
                _cancel(results)
                raise WordbiasError(result.message)
            yield place, result
    except TerminatedWorkerError:
        raise WordbiasError(
            f"a worker process died, perhaps for want of memory; {lost}, with fewer --jobs if it "
            "dies again"
        ) from None


def _cancel(results: Any) -> None:
    """Give up what is left, and say nothing of it: the error is what is to be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(results, "close"):
            results.close()


@contextmanager
def _backend(workers: Workers, items: int, shared: tuple[Any, ...]) -> Iterator[tuple[Any, int]]:
    """Start what is needed; yield joblib's pool, and how many items it is given at a time."""
    from joblib import Parallel, parallel_config

    count = workers.jobs or (1 if workers.backend == "loky" else -1)
    with (
        _STARTS[workers.backend](workers.jobs, shared) as settings,
        parallel_config(workers.backend, **settings),
    ):
        streams = workers.backend != "ray"
        how = "generator_unordered" if streams else "list"
        with Parallel(n_jobs=count, return_as=how, batch_size=1) as pool:
            # Ray's backend returns nothing before all is done: it gets a few at a time
            yield pool, items if streams else max(1, 4 * (workers.jobs or threads()))
