"""What all tests share: strict numerics, a cache of their own, the command line, the real data."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forks import Forked
from hypothesis import HealthCheck, settings
from quick_cases import EXAMPLES, each_once, families_of, some_families

from wordbias import Embedding, devices, progress, text_files
from wordbias.cli import run

pytest_plugins = ("clusters_here", "hub_server", "model_fixtures", "without_extras")
ROOT = Path(__file__).resolve().parent.parent
settings.register_profile("all", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", parent=settings.get_profile("all"), max_examples=EXAMPLES)

DATA = Path(os.environ.get("WORDBIAS_SHARED_DATA", ROOT.parent / "shared" / "data"))

# The tests fill the cores. A second thread of small products waits longer than it computes, and
# waiting takes a core; so a test says how many threads it wants, and all others have one.
os.environ.setdefault("OMP_NUM_THREADS", "1")  # for torch and scikit-learn, loaded later
devices.set_threads(1)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # so a shell starts what runs behind it; the processes that tests interrupt would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("quick" if config.option.markexpr == "not slow" else "all")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Make cases slow that the quick run need not try: see `each_once` and `some_families`."""
    tests: dict[str, list[Any]] = {}
    for item in items:
        if hasattr(item, "callspec"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    turn = 0
    for several in tests.values():
        cases = [test.callspec.params for test in several]
        if marker := several[0].get_closest_marker("each_once"):
            quick = each_once(cases, marker.args)
        elif families := families_of(cases):
            quick, turn = some_families(families, turn), turn + 1
        else:
            continue
        for item, is_quick in zip(several, quick, strict=True):
            if not is_quick:
                item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage among what stays to the end, modules and tests; then look seldom."""
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _strict_numerics() -> Iterator[None]:
    with np.errstate(all="raise", under="ignore"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _unsynced() -> Iterator[None]:
    """Do not wait for the disk: what a test writes need not outlive a loss of power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    """Go back to one thread behind a test that wants more."""
    yield
    if devices.threads() != 1:
        devices.set_threads(1)


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw tables as wide as in a wide terminal, whatever terminal the tests run in."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture(scope="session")
def _new_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Name folders by number; pytest's own read the names of all earlier ones to make the next."""
    root = tmp_path_factory.mktemp("tests")
    numbers = itertools.count()
    return lambda name: root / f"{next(numbers)}-{name}"


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, _new_folder: Callable[[str], Path]) -> Path:
    """Give a test a folder of its own."""
    folder = _new_folder(re.sub(r"\W", "_", request.node.name)[:12])
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def _own_folders(_new_folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test a cache and a data folder in which nothing is."""
    monkeypatch.setenv("WORDBIAS_DATA", str(_new_folder("data")))
    monkeypatch.setenv("WORDBIAS_CACHE", str(_new_folder("cache")))


@pytest.fixture
def cache_folder(_own_folders: None) -> Path:
    """Return the cache of this test, an empty folder."""
    folder = Path(os.environ["WORDBIAS_CACHE"])
    folder.mkdir()
    return folder


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Outcome]]:
    """Run the command line in this process, through the function the entry point calls."""

    def call(*arguments: object) -> Outcome:
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    yield call
    progress.set_quiet(False)
    text_files.set_longest_line(None)


@pytest.fixture(scope="session")
def sample() -> Embedding:
    """Return the embedding that comes with wordbias."""
    return Embedding.sample()


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Compute on one thread: for problems this small, threads wait longer than they compute."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    with devices.one_thread():
        yield


@pytest.fixture(scope="module")
def short_probes() -> Iterator[None]:
    """Train the non-linear probes of `erase` for a moment: for tests of all but their values."""
    from wordbias.measures import attacks
    from wordbias.probes import held_out

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(held_out, "_EPOCHS", 2)
        patch.setattr(attacks, "_UPDATES", 1)
        patch.setattr(attacks, "_TREES", 1)
        yield


@pytest.fixture
def process() -> Callable[..., Outcome]:
    """Run the command line as a process of its own."""

    def call(*arguments: object, **options: object) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "wordbias", *map(str, arguments)],
            capture_output=True,
            encoding="utf-8",
            check=False,
            **options,  # type: ignore[call-overload]
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def forked() -> Callable[..., Outcome]:
    """Run the command line as a process of its own that need not read the large libraries."""
    return lambda *arguments: Outcome(*Forked(*arguments).ended())


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data, or skip."""
    if not DATA.is_dir():
        pytest.skip(f"no real data at {DATA}; set WORDBIAS_SHARED_DATA to its folder")
    return DATA
