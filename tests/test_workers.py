"""Jobs have the same results wherever they are done, and a lost worker loses nothing."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters_here import PACKAGES

from wordbias.devices import limited_threads, set_threads, threads
from wordbias.errors import WordbiasError
from wordbias.workers import BACKENDS, Workers


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, join: Callable[[str], None]) -> str:
    """Return each of the backends, whose clusters are joined."""
    name: str = request.param
    join(name)
    if name == "ray":
        _tell_ray()
    return name


def _tell_ray() -> None:
    """Let Ray's workers have the functions below: they do not know pytest's modules."""
    import ray.cloudpickle

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


# clusters log and warn on their own account while they start and stop
pytestmark = [pytest.mark.filterwarnings("default")]


def _square(item: int) -> int:
    return item * item


def _about(item: int) -> tuple[int, int]:
    return threads(), os.getpid()


def _folder(item: int) -> str:
    return os.getcwd()


def _refusing(item: int) -> int:
    if item == 2:
        raise WordbiasError("glove.txt: line 2: expected 100 numbers, found 99")
    return item


def _dying_once(item: tuple[int, str]) -> int:
    number, flag = item
    if number == 3 and not os.path.exists(flag):
        Path(flag).touch()
        os._exit(9)
    return number


@pytest.mark.slow
def test_results_come_in_the_order_of_the_items(backend: str) -> None:
    items = list(range(11))
    assert Workers(2, backend).results(_square, items, "squares") == [i * i for i in items]


@pytest.mark.slow
def test_each_result_has_its_place(backend: str) -> None:
    squares = sorted(Workers(2, backend).unordered(_square, [5, 6, 7]))
    assert squares == [(0, 25), (1, 36), (2, 49)]


def test_shared_arguments_are_read_once_and_their_arrays_are_mapped(tmp_path: Path) -> None:
    """What is mapped already stays in its file; what is small, or no block of memory, is copied."""
    rng = np.random.default_rng(0)
    in_memory = rng.normal(size=(600, 400))
    in_memory.tofile(tmp_path / "vectors")
    on_disk = np.memmap(tmp_path / "vectors", float, "r", shape=(600, 400))
    part = np.asarray(on_disk)[100:]
    shared = {"memory": in_memory, "disk": on_disk, "part": part, "small": part[:2], "odd": part.T}
    answers = Workers(2).results(_facts_of, [*range(8)], "shared", shared=(shared, "text"))
    assert len({process for process, _, _ in answers}) <= 2
    assert len({(process, place) for process, place, _ in answers}) == len(
        {p for p, _, _ in answers}
    )
    for _, _, facts in answers:
        assert {name: total for name, (total, _, _) in facts.items()} == {
            name: float(value.sum()) for name, value in shared.items()
        }
        files = {name: file for name, (_, file, _) in facts.items()}
        own = str(tmp_path / "vectors")
        assert (files["disk"], files["part"], files["small"], files["odd"]) == (own, own, "", "")
        assert files["memory"] not in ("", own)
        assert not os.path.exists(files["memory"])  # removed with the call
        assert not any(can_write for name, (_, _, can_write) in facts.items() if files[name])


def _facts_of(shared: dict[str, Any], text: str, item: int) -> tuple[int, int, dict[str, Any]]:
    assert text == "text"
    facts = {}
    for name, value in shared.items():
        base = value
        while isinstance(base.base, np.ndarray):
            base = base.base
        file = str(base.filename) if isinstance(base, np.memmap) else ""
        facts[name] = float(value.sum()), file, value.flags.writeable
    return os.getpid(), id(shared), facts


def test_one_job_is_done_here() -> None:
    assert Workers().in_process
    assert Workers(1).in_process
    assert Workers().results(_about, [0], "here") == [(threads(), os.getpid())]


@pytest.mark.slow
def test_workers_share_the_threads(backend: str) -> None:
    with limited_threads(4):
        thread_counts = Workers(2, backend).results(_about, [0, 1, 2], "threads")
    assert {count for count, _ in thread_counts} == {2}
    assert os.getpid() not in {process for _, process in thread_counts}


@pytest.mark.slow
def test_an_error_of_a_job_is_its_own_line(backend: str) -> None:
    with pytest.raises(WordbiasError) as caught:
        Workers(2, backend).results(_refusing, [0, 1, 2, 3], "refusing")
    assert str(caught.value) == "glove.txt: line 2: expected 100 numbers, found 99"


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["dask", "ray"])
def test_a_cluster_that_loses_a_worker_finishes(
    cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if importlib.util.find_spec(PACKAGES[cluster]) is None:
        pytest.skip(f"{PACKAGES[cluster]} is not installed")
    if cluster == "ray":
        _tell_ray()
    items = [(i, str(tmp_path / "died")) for i in range(6)]
    assert Workers(2, cluster).results(_dying_once, items, "dying") == list(range(6))
    assert (tmp_path / "died").exists()
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_a_process_that_dies_here_is_one_line(tmp_path: Path) -> None:
    items = [(i, str(tmp_path / "died")) for i in range(6)]
    done: dict[int, int] = {}
    workers = Workers(2)
    with pytest.raises(WordbiasError, match="a worker process died") as caught:
        done |= dict(workers.unordered(_dying_once, items, lost="the same call resumes"))
    assert "the same call resumes, with fewer --jobs" in str(caught.value)
    assert workers.results(_dying_once, items, "again") == list(range(6))


def test_processes_of_this_machine_work_in_the_folder_of_each_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        folders = Workers(2).results(_folder, range(4), "folders")
        assert {os.path.realpath(folder) for folder in folders} == {
            os.path.realpath(tmp_path / name)
        }


def _leaves_interrupts(item: int) -> bool:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return signal.SIGINT in blocked and signal.getsignal(signal.SIGINT) == signal.SIG_IGN


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_processes_of_this_machine_leave_interruptions_to_us() -> None:
    reusable = importlib.import_module("joblib.externals.loky.reusable_executor")
    reusable.get_reusable_executor().shutdown(wait=True)  # processes of other tests
    assert Workers(2).results(_leaves_interrupts, range(4), "signals") == [True] * 4
    assert not _leaves_interrupts(0)


_WAITING = """
import os, sys, time
from pathlib import Path

def wait(folder):
    Path(folder, f"{os.getpid()}.pid").touch()
    time.sleep(3600)

if __name__ == "__main__":
    import waiting
    from wordbias.workers import Workers
    Workers(2).results(waiting.wait, [sys.argv[1]] * 2, "waiting")
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_processes_of_a_killed_call_end(tmp_path: Path) -> None:
    (tmp_path / "waiting.py").write_text(_WAITING)
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, str(tmp_path / "waiting.py"), str(tmp_path)]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as main:
        while main.poll() is None and len(list(tmp_path.glob("*.pid"))) < 2:
            time.sleep(0.05)
        main.kill()
        main.communicate(timeout=300)  # until no process has the stream open
    assert len(list(tmp_path.glob("*.pid"))) == 2


def test_nothing_to_do_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("joblib.Parallel", refuse)
    assert Workers(2).results(_square, [], "nothing") == []


def test_no_more_workers_are_started_than_there_is_work_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[int] = []

    @contextmanager
    def parallel(n_jobs: int, **_: Any) -> Iterator[Any]:
        started.append(n_jobs)
        yield lambda calls: (call(*given) for call, given, _ in calls)

    monkeypatch.setattr("joblib.Parallel", parallel)
    with limited_threads(6):
        thread_counts = Workers(64).results(_about, [0, 1, 2], "threads")
    assert started == [3]
    assert {count for count, _ in thread_counts} == {2}


@pytest.mark.slow
def test_a_worker_heeds_omp_num_threads(monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(16), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    set_threads(None)
    thread_counts = Workers(2, backend).results(_about, [0, 1, 2], "threads")
    assert {count for count, _ in thread_counts} == {3}


def test_a_single_job_is_done_here_however_many_may_be_started() -> None:
    assert Workers(64).results(_about, [0], "here") == [(threads(), os.getpid())]


def test_a_dask_cluster_that_does_not_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")

    def fail(**_: Any) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    monkeypatch.setattr(distributed, "Client", fail)
    with pytest.raises(WordbiasError, match="Dask: no cluster at this machine: Nanny failed"):
        Workers(2, "dask").results(_square, [1, 2], "squares")


def _handler(number: int) -> Any:
    """Return the handler of a signal in the main thread, as the process has it."""
    return signal.getsignal(number)


@pytest.mark.slow
def test_workers_of_a_dask_cluster_leave_interruptions_to_us() -> None:
    pytest.importorskip("distributed")
    handlers = Workers(2, "dask").results(_handler, [signal.SIGINT] * 2, "handlers")
    assert handlers == [signal.SIG_IGN] * 2


def test_an_unknown_backend_is_named() -> None:
    with pytest.raises(WordbiasError, match="backend 'slurm': expected loky, dask, ray"):
        Workers(2, "slurm")


@pytest.mark.parametrize(("cluster", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_cluster_package_is_named(
    cluster: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(WordbiasError, match=rf"needs {module}; install it .*\[(?:cluster|ray)\]"):
        Workers(2, cluster).results(_square, [1, 2], "squares")


@pytest.mark.parametrize(
    ("cluster", "module", "variable"),
    [("dask", "distributed", "DASK_SCHEDULER_ADDRESS"), ("ray", "ray", "RAY_ADDRESS")],
)
@pytest.mark.parametrize("address", ["127.0.0.1:{}", "tcp://127.0.0.1:{}", "[::1]:{}"])
def test_an_address_where_nobody_is(
    cluster: str, module: str, variable: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(module)
    import socket

    if module == "ray":  # another test may have joined a cluster
        monkeypatch.setattr("ray.is_initialized", lambda: False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        given = address.format(free.getsockname()[1])
    monkeypatch.setenv(variable, given)
    with pytest.raises(WordbiasError, match=f"{variable} is .*, where nothing answers; start the"):
        Workers(2, cluster).results(_square, [1, 2], "squares")
