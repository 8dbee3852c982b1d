"""Where jobs are done: processes of this machine, or a cluster that is joined or started.

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
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

from wordbias.errors import WordbiasError
from wordbias.optional import need

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
