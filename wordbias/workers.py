"""The same jobs in this process, in several, or on a cluster: joblib is the one seam.

A job is a pure function of one item, so that where it runs changes nothing about its result. Which
machines a cluster has, and what becomes of a job whose machine is lost, is the cluster's affair.

Where jobs are done: processes of this machine, or a cluster that is joined or started.

Each is a block that yields settings of `joblib.parallel_config`.
"""

from __future__ import annotations

import io
import logging
import os
import re
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, replace
from typing import Any, TextIO, TypeVar

from wordbias.devices import set_threads, threads
from wordbias.errors import WordbiasError, need
from wordbias.progress import progress, set_quiet

PURPOSE = "Computing on a cluster"
_ADDRESS = re.compile(r"(?:\w+://)?\[?([^/\]]+)\]?:(\d+)/?")
_SECONDS = 10
ATTEMPTS = 3
"""How often Ray does a job again whose worker was lost; Dask has the same number of its own."""


@contextmanager
def loky(jobs: int | None, shared: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Nothing is to be started: joblib has its processes."""
    yield {}


@contextmanager
def dask(jobs: int | None, shared: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Join the cluster that DASK_SCHEDULER_ADDRESS names, or start one here."""
    distributed = need("distributed", extra="cluster", purpose=PURPOSE)
    local = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": ":0"}
    local |= {"silence_logs": logging.ERROR}  # it warns of every job that is given up
    given = _answering("DASK_SCHEDULER_ADDRESS")
    try:
        client = distributed.Client(given) if given else distributed.Client(**local)
    except (OSError, ValueError, RuntimeError) as error:
        raise WordbiasError(f"Dask: no cluster at {given or 'this machine'}: {error}") from None
    with client:
        if not given:
            client.register_worker_callbacks(_leave_interrupts)
        yield {"scatter": list(shared)} if shared else {}


def _leave_interrupts() -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, to the one that started the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def ray(jobs: int | None, shared: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Join the cluster that RAY_ADDRESS names or that is joined already, or start one here."""
    room = need("ray", extra="cluster", purpose=PURPOSE)
    register = need("ray.util.joblib", extra="cluster", purpose=PURPOSE).register_ray
    joined = room.is_initialized()
    if not joined:
        given = _answering("RAY_ADDRESS")
        local = {} if given else {"num_cpus": jobs, "include_dashboard": False}
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            room.init(**local, **quiet)
        except (ConnectionError, ValueError) as error:
            reason = str(error).split("\n")[0]
            raise WordbiasError(f"Ray: no cluster at {given or 'this machine'}: {reason}") from None
    register()
    with redirect_stdout(_WithoutRay(sys.stdout)):
        try:
            again = {"max_restarts": ATTEMPTS, "max_task_retries": ATTEMPTS}
            yield {"ray_remote_args": again}
        finally:
            if not joined:
                with redirect_stdout(io.StringIO()):  # the rest of what it has to tell
                    room.shutdown()


def _answering(variable: str) -> str | None:
    """Return a cluster's address; refuse one where nobody is, which its package does not soon."""
    given = os.environ.get(variable)
    place = _ADDRESS.fullmatch(given or "")
    if place is not None:
        try:
            socket.create_connection((place[1], int(place[2])), _SECONDS).close()
        except (OSError, OverflowError):
            raise WordbiasError(
                f"{variable} is {given!r}, where nothing answers; start the cluster, or unset the "
                "variable to have one here for the time of the call"
            ) from None
    return given


class _WithoutRay(io.TextIOBase):
    """Standard output, which is for results, without what Ray tells there of its workers."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        from_ray = threading.current_thread().name.startswith("ray_")
        return len(text) if from_ray else self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()


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
