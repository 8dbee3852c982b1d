"""Parallel jobs: in this process, in several processes, or on a Dask or Ray cluster, by joblib."""

from __future__ import annotations

import io
import logging
import os
import pickle
import re
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
    redirect_stdout,
)
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from tempfile import TemporaryDirectory, mkstemp
from typing import IO, Any, TextIO, TypeVar

from wordbias.configuration import BACKENDS, Config, current_config, in_worker
from wordbias.devices import blas_threads, limited_threads, native_threads, threads
from wordbias.errors import WordbiasError, need
from wordbias.progress import progress

R = TypeVar("R")


@dataclass(frozen=True)
class Workers:
    """Number and place of parallel jobs."""

    # number of jobs at a time, at most one for each item; None means one on this machine, and all
    # workers of a cluster
    jobs: int | None = None
    # `loky` for processes on this machine; `dask` or `ray` for the cluster whose address is in
    # `DASK_SCHEDULER_ADDRESS` or `RAY_ADDRESS`, or a local one during the call
    backend: str = "loky"

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise WordbiasError(f"backend {self.backend!r}: expected {', '.join(BACKENDS)}")

    @property
    def in_process(self) -> bool:
        """True if jobs run in this process, one after the other."""
        return self.backend == "loky" and self.jobs in (None, 1)

    def unordered(
        self,
        function: Callable[..., R],
        items: Sequence[Any],
        *,
        shared: tuple[Any, ...] = (),
        lost: str = "start it again",
    ) -> Generator[tuple[int, R], None, None]:
        """Yield the index of each item and its result, in the order in which they finish."""
        # The function can be imported by its name. Items and results are pickled between processes.
        # `shared` are sent to a Dask cluster only once; a process of this machine reads them once,
        # and memory-maps their arrays.
        workers = self._needed(len(items))
        if workers.in_process or not items:
            yield from ((i, function(*shared, item)) for i, item in enumerate(items))
            return
        here = workers.backend == "loky"
        call = _Call(function, workers._threads(), os.getcwd() if here else None, current_config())
        with (
            _stored(shared) if here else nullcontext(shared) as given,
            _backend(workers, len(items), given) as (pool, together),
        ):
            for start in range(0, len(items), together):
                batch = enumerate(items[start : start + together], start)
                calls = [(call, place, *given, job) for place, job in batch]
                yield from _results(pool, calls, lost, _uninterrupted if here else nullcontext)

    def results(
        self,
        function: Callable[..., R],
        items: Sequence[Any],
        what: str,
        *,
        shared: tuple[Any, ...] = (),
        unit: str = "job",
    ) -> list[R]:
        """Return the results in the order of the items, with a progress bar; see `unordered`."""
        by_place: dict[int, R] = {}
        here = self._needed(len(items)).in_process
        progress_bar = nullcontext() if here else progress(what, len(items), unit)
        with progress_bar as bar:
            for place, result in self.unordered(function, items, shared=shared):
                by_place[place] = result
                if bar is not None:
                    bar.update(1)
        return [by_place[i] for i in range(len(items))]

    def _needed(self, items: int) -> Workers:
        """Return these workers with at most one job for each item."""
        return self if self.jobs is None else replace(self, jobs=max(1, min(self.jobs, items)))

    def _threads(self) -> int:
        share = threads() // (self.jobs or threads())
        return max(1, min(share, native_threads()))


@dataclass(frozen=True)
class _Call:
    """A call of a function in another process."""

    # Processes of this machine live on from call to call, while the caller may change its folder.

    function: Callable[..., Any]
    threads: int
    folder: str | None
    settings: Config

    def __call__(self, place: int, *given: Any) -> tuple[int, Any]:
        if self.folder is not None:
            os.chdir(self.folder)
        with (
            in_worker(self.settings),
            limited_threads(self.threads),
            blas_threads(),  # a cluster's worker has other work
        ):
            try:
                shared = [value for argument in given for value in _read(argument)]
                return place, self.function(*shared)
            except WordbiasError as error:
                return place, _Refused(str(error))


# Shared arguments, for processes of this machine

_MAPPED = 1 << 20
"""Bytes from which an array is memory-mapped."""


@dataclass(frozen=True)
class _Stored:
    """Shared arguments in a file."""

    path: str


@contextmanager
def _stored(shared: tuple[Any, ...]) -> Iterator[tuple[_Stored, ...]]:
    """Write shared arguments to a file for the time of the block."""
    if not shared:
        yield ()
        return
    with TemporaryDirectory(prefix="wordbias-", ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "shared")
        try:
            with open(path, "wb") as file:
                _pickler(file, folder).dump(shared)
        except OSError as error:
            raise WordbiasError(
                f"{folder}: data for other processes could not be written: {error.strerror}; "
                "set TMPDIR to a folder with more room, or use --jobs 1"
            ) from None
        yield (_Stored(path),)


def _pickler(file: IO[bytes], folder: str) -> Any:
    """Return a pickler that leaves large arrays in files, from which they are memory-mapped."""
    # Classes of a script or notebook are pickled too, as joblib does.
    import numpy as np

    try:
        base = import_module("cloudpickle").Pickler
    except ModuleNotFoundError:  # joblib before 1.6 has its own
        base = import_module("joblib.externals.cloudpickle").Pickler

    class Pickler(base):  # type: ignore[misc, valid-type]
        def reducer_override(self, value: Any) -> Any:
            large = type(value) in (np.ndarray, np.memmap) and value.nbytes >= _MAPPED
            if not large or value.dtype.hasobject or not value.flags.c_contiguous:
                return super().reducer_override(value)
            place = _place_in_file(value)
            if place is None:
                handle, name = mkstemp(".array", dir=folder)
                with os.fdopen(handle, "wb") as array:
                    value.tofile(array)
                place = name, 0
            return _mapped, (*place, value.dtype, value.shape)

    return Pickler(file)


def _mapped(path: str, offset: int, dtype: Any, shape: tuple[int, ...]) -> Any:
    import numpy as np

    return np.asarray(np.memmap(path, dtype, "r", offset, shape))


def _place_in_file(value: Any) -> tuple[str, int] | None:
    """Return the file and the offset of an array that is memory-mapped already, else None."""
    import numpy as np

    base = value
    while isinstance(base.base, np.ndarray):
        base = base.base
    if not isinstance(base, np.memmap) or base.filename is None or base.mode != "r":
        return None
    start, of_base = (array.__array_interface__["data"][0] for array in (value, base))
    return os.fspath(base.filename), base.offset + start - of_base


def _read(argument: Any) -> tuple[Any, ...]:
    """Return an argument, or the shared arguments in its place."""
    return _shared_of(argument.path) if isinstance(argument, _Stored) else (argument,)


@lru_cache(maxsize=1)
def _shared_of(path: str) -> tuple[Any, ...]:
    with open(path, "rb") as file:
        arguments: tuple[Any, ...] = pickle.load(file)
    return arguments


@dataclass(frozen=True)
class _Refused:
    """A WordbiasError of a job; as an exception, clusters would wrap it and add a traceback."""

    message: str


def _results(
    pool: Any, calls: Any, lost: str, starting: Callable[[], AbstractContextManager[None]]
) -> Iterator[tuple[int, Any]]:
    from joblib import delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with starting():
        results = pool(delayed(call)(*given) for call, *given in calls)
    try:
        for place, result in results:
            if isinstance(result, _Refused):
                _cancel(results)
                raise WordbiasError(result.message)
            yield place, result
    except GeneratorExit:  # the caller goes no further
        _cancel(results)
        raise
    except TerminatedWorkerError:
        raise WordbiasError(
            f"a worker process died, perhaps for want of memory; {lost}, with fewer --jobs if it "
            "dies again"
        ) from None


def _cancel(results: Any) -> None:
    """Cancel the remaining jobs without warnings; only the error is shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(results, "close"):
            results.close()


@contextmanager
def _backend(workers: Workers, items: int, shared: tuple[Any, ...]) -> Iterator[tuple[Any, int]]:
    """Start a backend; yield joblib's pool, and the number of items for one call of it."""
    from joblib import Parallel, parallel_config

    count = workers.jobs or (1 if workers.backend == "loky" else -1)
    with (
        _STARTS[workers.backend](workers.jobs, shared) as settings,
        parallel_config(workers.backend, **settings),
    ):
        streams = workers.backend != "ray"
        how = "generator_unordered" if streams else "list"
        with ExitStack() as stack:
            with _uninterrupted() if workers.backend == "loky" else nullcontext():
                parallel = Parallel(n_jobs=count, return_as=how, batch_size=1)
                pool = stack.enter_context(parallel)
            # Ray's backend returns nothing before all is done: it gets a few at a time
            yield pool, items if streams else max(1, 4 * (workers.jobs or threads()))


_PURPOSE = "Computing on a cluster"
_ADDRESS = re.compile(r"(?:\w+://)?\[?([^/\]]+)\]?:(\d+)/?")
_SECONDS = 10
_ATTEMPTS = 3
"""Number of times that Ray restarts a job whose worker was lost, as Dask does by default."""


@contextmanager
def _loky(jobs: int | None, shared: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Start nothing: joblib has its own processes, which end with this one."""
    yield {"initializer": _end_with, "initargs": (os.getpid(),)}


_WATCH = 1.0
"""Seconds between two looks of a worker at whether its parent lives."""


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait while processes start: they inherit that, and leave it to this one."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    for module in ("multiprocessing", "joblib.externals.loky.backend"):
        import_module(f"{module}.resource_tracker").ensure_running()  # starting it ends the wait
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end when it was killed, rather than wait for its jobs."""
    _ignore_interrupts()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH)
        os._exit(1)

    if os.name == "posix":  # elsewhere the number of the parent stays
        threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _dask(jobs: int | None, shared: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Join the cluster of DASK_SCHEDULER_ADDRESS, or start a local one."""
    distributed = need("distributed", extra="cluster", purpose=_PURPOSE)
    local = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": ":0"}
    local |= {"silence_logs": logging.ERROR}  # it warns of every cancelled job
    given = _cluster_address("DASK_SCHEDULER_ADDRESS")
    try:
        client = distributed.Client(given) if given else distributed.Client(**local)
    except (OSError, ValueError, RuntimeError) as error:
        raise WordbiasError(f"Dask: no cluster at {given or 'this machine'}: {error}") from None
    with client:
        if not given:
            client.register_worker_callbacks(_ignore_interrupts)
        yield {"scatter": list(shared)} if shared else {}


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C in a worker; the main process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _ray(jobs: int | None, shared: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Join the cluster of RAY_ADDRESS or the one already joined, or start a local one."""
    ray_module = need("ray", extra="ray", purpose=_PURPOSE)
    register = need("ray.util.joblib", extra="ray", purpose=_PURPOSE).register_ray
    joined = ray_module.is_initialized()
    if not joined:
        given = _cluster_address("RAY_ADDRESS")
        local = {} if given else {"num_cpus": jobs, "include_dashboard": False}
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            ray_module.init(**local, **quiet)
        except (ConnectionError, ValueError) as error:
            reason = str(error).split("\n")[0]
            raise WordbiasError(f"Ray: no cluster at {given or 'this machine'}: {reason}") from None
    register()
    with redirect_stdout(_WithoutRay(sys.stdout)):
        try:
            retries = {"max_restarts": _ATTEMPTS, "max_task_retries": _ATTEMPTS}
            yield {"ray_remote_args": retries}
        finally:
            if not joined:
                with redirect_stdout(io.StringIO()):  # its last messages
                    ray_module.shutdown()


class _WithoutRay(io.TextIOBase):
    """Standard output, which is for results, without the messages of Ray's workers."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        from_ray = threading.current_thread().name.startswith("ray_")
        return len(text) if from_ray else self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()


def _cluster_address(variable: str) -> str | None:
    """Return the address of a cluster; refuse at once one that does not answer."""
    given = os.environ.get(variable)
    match = _ADDRESS.fullmatch(given or "")
    if match is not None:
        try:
            socket.create_connection((match[1], int(match[2])), _SECONDS).close()
        except (OSError, OverflowError):
            raise WordbiasError(
                f"{variable} is {given!r}, where nothing answers; start the cluster, or unset the "
                "variable to have one here for the time of the call"
            ) from None
    return given


_STARTS = {"loky": _loky, "dask": _dask, "ray": _ray}
