"""wordbias.config: how to read and compute, for all calls or inside a block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import pytest

import wordbias as wb
from wordbias import configuration, devices, progress, text_files
from wordbias.configuration import DEFAULTS, Config, current_config
from wordbias.workers import Workers


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    configuration._everywhere = DEFAULTS
    text_files.set_longest_line(None)
    progress.set_quiet(False)


def device() -> str | None:
    return current_config().device


def of_worker(item: int) -> Config:
    return current_config()


def test_a_setting_stays_and_leaves_the_others() -> None:
    wb.config(threads=1)
    current = wb.config(progress=False, device="cpu").settings
    assert (current.threads, current.progress, current.device) == (1, False, "cpu")
    assert devices.threads() == 1
    with progress.progress("work", 3) as bar:
        assert type(bar).__module__ == "wordbias.progress"  # tqdm's is not made


def test_a_block_ends_with_what_held_before() -> None:
    wb.config(device="cpu")
    threads = devices.threads()
    with wb.config(device="mps", jobs=2, threads=threads + 1, longest_line="1KB", progress=False):
        assert current_config().changed() == {
            "device": "mps", "jobs": 2, "threads": threads + 1, "longest_line": 1000
        }  # fmt: skip
        assert devices.threads() == threads + 1
        assert (text_files.longest_line(), progress.is_quiet()) == (1000, True)
        with wb.config(device="auto"):
            assert (device(), current_config().jobs) == (None, 2)
        wb.config(jobs=3)
        assert current_config().jobs == 3
    assert current_config().changed() == {"device": "cpu"}
    assert devices.threads() == threads
    assert (text_files.longest_line(), progress.is_quiet()) == (text_files.LONGEST, False)


def test_a_block_ends_so_after_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), wb.config(device="cpu"):
        raise ZeroDivisionError
    assert device() is None


def test_threads_see_the_settings_of_their_caller() -> None:
    with wb.config(device="cpu"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(device).result() == "cpu"
    device_names: list[str | None] = []

    def in_thread() -> None:
        with wb.config(device="mps"):
            context = copy_context()
            copied = threading.Thread(target=lambda: device_names.append(context.run(device)))
            copied.start()
            copied.join()
            device_names.append(device())

    with wb.config(device="cpu"):
        thread = threading.Thread(target=in_thread)
        thread.start()
        thread.join()
        assert device_names == ["mps", "mps"]
        assert device() == "cpu"


def test_blocks_of_two_tasks_do_not_mix() -> None:
    async def task(name: str) -> bool:
        with wb.config(device=name):
            await asyncio.sleep(0)
            return device() == name

    async def both() -> list[bool]:
        return await asyncio.gather(task("cpu"), task("mps"))

    assert asyncio.run(both()) == [True, True]
    assert device() is None


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_worker_processes_get_the_settings_of_their_caller(backend: str) -> None:
    if backend == "dask":
        pytest.importorskip("distributed")
    with wb.config(device="cpu", skip_bad=True, jobs=2, longest_line=5000):
        (settings, other) = Workers(2, backend).results(of_worker, [0, 1], "here")
    assert settings == other
    assert (settings.device, settings.skip_bad, settings.longest_line) == ("cpu", True, 5000)
    assert settings.jobs is None  # a worker starts no further processes


def test_a_report_records_what_differs() -> None:
    only = ["direct-bias"]
    with wb.config(jobs=1, progress=False):
        report = wb.measure(only=only, chance=False)
    assert report.config["jobs"] == 1
    assert "jobs" not in report.arguments
    assert report.to_dict()["config"] == report.config
    assert wb.measure(only=only, chance=False).rows == report.rows


def test_pickles_are_for_a_block_only(tmp_path: Path) -> None:
    wb.config(allow_pickle=True)
    with pytest.raises(wb.WordbiasError, match=r"config\(allow_pickle=True\): .*with wb.config"):
        wb.lists()
    assert not current_config().allow_pickle
    with wb.config(allow_pickle=True):
        assert current_config().allow_pickle
    assert not current_config().allow_pickle


@pytest.mark.parametrize("longest", [1_000, "1KB"])
def test_a_line_that_is_too_long_is_refused(tmp_path: Path, longest: int | str) -> None:
    path = tmp_path / "texts.tsv"
    path.write_text("text\n" + "she " * 300 + "\n", encoding="utf-8")
    wb.rewrite("scrub", path, output=tmp_path / "fine.tsv")
    with wb.config(longest_line=longest), pytest.raises(wb.WordbiasError, match=r"1,?000"):
        wb.rewrite("scrub", path, output=tmp_path / "out.tsv")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"threads": 0}, "^threads=: expected a whole number from 1 on, got 0"),
        ({"longest_line": "many"}, "expected a size with its unit"),
        ({"progress": "no"}, "^progress=: expected True or False"),
        ({"backend": "spark"}, "^backend=: expected one of loky, dask, ray"),
        ({"precision": "half"}, "^precision=: expected one of float32, bfloat16, float16"),
        ({"jobs": "two"}, "^jobs=: expected a whole number"),
    ],
)
def test_what_is_no_setting_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(wb.WordbiasError, match=said):
        wb.config(**given)  # type: ignore[arg-type]
    assert current_config() == DEFAULTS


def test_a_block_is_opened_once() -> None:
    with wb.config(jobs=2) as how, pytest.raises(wb.WordbiasError, match="open already"):
        how.__enter__()
    assert current_config() == DEFAULTS


def test_the_shell_refuses_what_a_command_does_not_use(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("weat", "--device", "cpu")
    assert done.code == 2
    assert "--device: wordbias weat does not use it; leave it out" in done.err


def test_the_help_of_common_options(cli) -> None:  # type: ignore[no-untyped-def]
    help_text = cli("help", "options").out
    assert all(f"--{word}" in help_text for word in ("device", "jobs", "no-cache", "longest-line"))
    assert "wordbias help options" in cli("help", "weat").out
    assert cli("help", "weat").out == cli("weat", "--help").out == cli("weat", "-h").out
    assert cli("help").out == cli("--help").out
    assert "Did you mean weat?" in cli("help", "waet").err


def test_a_setting_as_a_parameter_is_told_where_it_belongs() -> None:
    for wrong, meant in (("device", "device"), ("n_jobs", "jobs")):
        with pytest.raises(TypeError, match=rf"it is a setting: with wb.config\({meant}=\.\.\.\)"):
            wb.measure(**{wrong: 1})
