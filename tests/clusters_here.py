"""A Dask and a Ray cluster of this machine that tests join, each started once.

Starting one takes longer than all jobs of a test, and each anew its workers read torch.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

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


@pytest.fixture(scope="session")
def _dask_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a Dask cluster in a process of its own, which ends when its input is closed."""
    script = tmp_path_factory.mktemp("dask") / "cluster.py"
    script.write_text(_DASK, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=script.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as started:
        assert started.stdout is not None
        yield started.stdout.readline().strip()


@pytest.fixture(scope="session")
def _ray_ends() -> Iterator[None]:
    yield
    if "ray" in sys.modules and sys.modules["ray"].is_initialized():
        sys.modules["ray"].shutdown()


@pytest.fixture
def join(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let jobs of a backend go to the cluster that all tests share; skip if it is not installed."""

    def call(backend: str) -> None:
        if importlib.util.find_spec(PACKAGES[backend]) is None:
            pytest.skip(f"{PACKAGES[backend]} is not installed")
        if backend == "dask":
            importlib.import_module("dask")  # which keeps the variable, if it is set by then
            address = request.getfixturevalue("_dask_address")
            monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", address)
        elif backend == "ray":
            import ray

            request.getfixturevalue("_ray_ends")
            if not ray.is_initialized():
                ray.init(
                    num_cpus=2,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )

    return call
