"""A Dask and a Ray cluster of this machine that tests join, each started once.

Starting one takes longer than all jobs of a test, and each anew its workers read torch. A cluster
without jobs computes all the time, as much as a tenth of a core: so the tests that join one run
first, and behind the last of them it is ended.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PACKAGES = {"loky": "joblib", "dask": "distributed", "ray": "ray"}
_DASK = """
import logging, sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""
_dask_of: list[tuple[subprocess.Popen[str], str]] = []
"""The process of the Dask cluster, and its address, while there is one."""


def _joins(item: pytest.Item | None) -> bool:
    return "join" in getattr(item, "fixturenames", ())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests that join a cluster run first."""
    items.sort(key=lambda item: not _joins(item))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the clusters behind the last test that joins one."""
    if _joins(item) and not _joins(nextitem):
        pytest_sessionfinish()


def pytest_sessionfinish() -> None:
    """End the clusters, also where the tests were interrupted."""
    while _dask_of:
        _dask_of.pop()[0].communicate()
    if "ray" in sys.modules and sys.modules["ray"].is_initialized():
        sys.modules["ray"].shutdown()


def _start_dask(folder: Path) -> str:
    """Start a Dask cluster in a process of its own, which ends when its input is closed."""
    script = folder / "cluster.py"
    script.write_text(_DASK, encoding="utf-8")
    started = subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=script.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert started.stdout is not None
    _dask_of.append((started, started.stdout.readline().strip()))
    return _dask_of[0][1]


@pytest.fixture
def join(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Let jobs of a backend go to the cluster that all tests share; skip if it is not installed."""

    def call(backend: str) -> None:
        if importlib.util.find_spec(PACKAGES[backend]) is None:
            pytest.skip(f"{PACKAGES[backend]} is not installed")
        if backend == "dask":
            importlib.import_module("dask")  # which keeps the variable, if it is set by then
            address = _dask_of[0][1] if _dask_of else _start_dask(tmp_path_factory.mktemp("dask"))
            monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", address)
        elif backend == "ray":
            import ray

            if not ray.is_initialized():
                # by default it is 15: workers starve where anything else is busy
                monkeypatch.setenv("RAY_worker_niceness", "0")
                ray.init(
                    num_cpus=2,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )

    return call
