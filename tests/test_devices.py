"""The device of a name, torch's threads inside a block and after it, and what threads wait for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from wordbias import devices
from wordbias.devices import (
    as_they_arrive,
    find_device,
    limited_threads,
    native_threads,
    set_threads,
    threads,
    torch_threads,
)
from wordbias.errors import WordbiasError

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_as_many_inside_and_as_many_as_before_afterwards(count: int) -> None:
    before = torch.get_num_threads()
    with torch_threads(count):
        assert torch.get_num_threads() == count
        with torch_threads():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == count
    assert torch.get_num_threads() == before


def test_an_error_passes_and_the_threads_are_put_back() -> None:
    before = torch.get_num_threads()
    with pytest.raises(KeyboardInterrupt), torch_threads(before + 1):
        raise KeyboardInterrupt
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("asked", "expected"), [("1", 1), ("2,1", 2), ("9", 4), ("0", 4), ("many", 4), ("", 4)]
)
def test_omp_num_threads_bounds_torch_and_blas(
    monkeypatch: pytest.MonkeyPatch, asked: str, expected: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(4), raising=False)
    monkeypatch.setattr(devices, "_CONTAINER", Path("none"))
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    set_threads(None)
    assert (threads(), native_threads()) == (4, expected)
    with limited_threads(3):  # set for wordbias alone
        assert (threads(), native_threads()) == (3, 3)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("200000 100000", 2), ("150000 100000", 2), ("20000 100000", 1), ("max 100000", 8)],
)
def test_a_container_bounds_the_threads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: str, expected: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.setattr(devices, "_CONTAINER", tmp_path / "cpu.max")
    set_threads(None)
    assert threads() == 8
    (tmp_path / "cpu.max").write_text(f"{limit}\n")
    assert threads() == expected


_ENDS_WITH_BLAS = """
import sys
from threadpoolctl import threadpool_info
from wordbias import configuration
from wordbias.cli import main
configuration.restore_threads = lambda before: None  # as it is while the command runs
try:
    main()
except SystemExit as end:
    assert not end.code
found = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
print(*sorted(found), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("given", [["--threads", "1"], ["--threads=2"]])
def test_threads_bound_blas_in_the_shell(given: list[str]) -> None:
    measured = ["measure", "--only", "clustering", "--no-chance", "-q", *given]
    bare = {key: value for key, value in os.environ.items() if not key.endswith("NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", _ENDS_WITH_BLAS, *measured],
        capture_output=True,
        text=True,
        check=True,
        env=bare,
    )
    thread_counts = list(map(int, done.stderr.split()))
    assert thread_counts
    assert max(thread_counts) == min(int(given[-1][-1]), os.cpu_count() or 1)


def test_threads_bound_blas_that_is_loaded() -> None:
    info = pytest.importorskip("threadpoolctl").threadpool_info

    def blas() -> set[int]:
        return {library["num_threads"] for library in info() if library["user_api"] == "blas"}

    with devices.blas_threads(1):
        assert blas() == {1}
    try:
        set_threads(2)
        assert blas() == {2}
    finally:
        set_threads(1)
    assert blas() == {1}


def test_importing_it_loads_no_torch() -> None:
    code = "import sys, wordbias.devices; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [
        (True, True, "cuda"),
        (True, False, "cuda"),
        (False, True, "mps"),
        (False, False, "cpu"),
    ],
)
def test_the_device_by_default(
    monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, expected: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert find_device(None) == find_device("auto") == torch.device(expected)
    assert find_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["tpu9", "meta", "cuda:99", "", 3.5])
def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch, name: Any) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for mps, here in ((False, "cpu"), (True, "cpu or mps")):
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        with pytest.raises(WordbiasError) as raised:
            find_device(name)
        message = str(raised.value)
        assert message.startswith(f"device {name!r}: torch cannot compute there (")
        assert message.endswith(f"); use {here}")
        assert "\n" not in message


# results as they arrive


def test_results_arrive_with_their_items_whatever_the_order() -> None:
    release = threading.Event()

    def function(item: int, stop: threading.Event) -> int:
        if item == 0:
            assert release.wait(60)
        return item**2

    arrivals = []
    for arrival in as_they_arrive(function, range(10), 3):
        arrivals.append(arrival)
        if len(arrivals) == 9:
            release.set()
    assert arrivals[-1] == (0, 0)
    assert sorted(arrivals) == [(i, i**2) for i in range(10)]
    assert list(as_they_arrive(function, [], 3)) == []


def test_what_is_on_its_way_comes_before_the_error_and_nothing_is_begun_after_it() -> None:
    begun, together = [], threading.Barrier(3)

    def function(item: int, stop: threading.Event) -> int:
        begun.append(item)
        together.wait(60)
        if item == 1:
            raise ValueError("no")
        assert stop.wait(60)  # until the error is known
        return item

    arrivals = []
    with pytest.raises(ValueError, match="no"):
        arrivals.extend(as_they_arrive(function, range(10), 3))
    assert sorted(arrivals) == [(0, 0), (2, 2)]
    assert sorted(begun) == [0, 1, 2]


def test_who_leaves_early_stops_the_others() -> None:
    stopped: list[bool] = []
    ended = threading.Semaphore(0)

    def function(item: int, stop: threading.Event) -> int:
        if item:
            stopped.append(stop.wait(60))
            ended.release()
        return item

    results = as_they_arrive(function, range(3), 3)
    assert next(results) == (0, 0)
    results.close()  # type: ignore[attr-defined]
    for _ in range(2):
        ended.acquire()
    assert stopped == [True, True]
