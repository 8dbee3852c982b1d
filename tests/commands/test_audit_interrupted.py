"""An audit that is killed resumes, two at the same time do not disturb each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wordbias as wb
from wordbias import Embedding
from wordbias.formats import tensors
from wordbias.formats.files import locked
from wordbias.methods.words import listed_words
from wordbias.pages import audit as parts
from wordbias.pages.stages import PARTS
from wordbias.pages.unfinished import remove_abandoned
from wordbias.wordlists import Attribute

Run = Callable[..., Any]
KEPT = ("midb", "direct-bias", "occupations", "neighbours", "weat")
ARGUMENTS = (
    "--methods", "misp inlp:rounds=2 hard",
    "--skip", ",".join(part for part in PARTS if part not in KEPT),
    "--format", "json",
)  # fmt: skip


def saved(folder: Path, frequent: int) -> Path:
    sample, path = Embedding.sample(), folder / "small.safetensors"
    sample.subset([*sample.words[:frequent], *sorted(listed_words(Attribute.load()))]).save(path)
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("vectors"), 1500)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Record the jobs that are run in this process."""
    names = []
    run_job = parts.run_job

    def recorded(work: Any, job: Any) -> Any:
        names.append(work.names(job))
        return run_job(work, job)

    monkeypatch.setattr(parts, "run_job", recorded)
    return names


def stores(cache: Path) -> list[Path]:
    return list((cache / "audits").glob("*/*.jsonl"))


def finished(cache: Path) -> int:
    """Return the number of jobs whose results are kept."""
    return sum(path.read_bytes().count(b"\n") for path in stores(cache))


@pytest.mark.slow
def test_a_killed_audit_resumes_with_the_same_rows(
    cli: Run, tmp_path: Path, cache_folder: Path, started: list[tuple[str, str, str]]
) -> None:
    small = saved(tmp_path, 9000)  # it must not end before it is killed
    call = [sys.executable, "-m", "wordbias", "audit", str(small), *ARGUMENTS]
    with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while finished(cache_folder) < 6 and process.poll() is None:
            time.sleep(0.002)
        process.kill()
    assert process.returncode == -9, "it ended before it was killed"
    done = finished(cache_folder)
    assert done >= 6
    resumed = cli("audit", small, *ARGUMENTS)
    remaining = len(started)
    assert "note: resumes an interrupted audit: " in resumed.err
    assert list((cache_folder / "audits").iterdir()) == []
    started.clear()
    whole = cli("audit", small, *ARGUMENTS)
    assert "resumes" not in whole.err
    assert remaining == len(started) - done
    first, second = (json.loads(run.out) for run in (resumed, whole))
    for report in (first, second):  # of libraries that this process has imported by then
        del report["versions"]
    assert first == second


@pytest.mark.slow
def test_other_methods_use_what_was_measured_before(
    cli: Run,
    small: Path,
    cache_folder: Path,
    started: list[tuple[str, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured = parts._measured

    def interrupted(work: Any, job: Any) -> Any:
        if job.column is not None and job.part != "fit":
            raise KeyboardInterrupt
        return measured(work, job)

    monkeypatch.setattr(parts, "_measured", interrupted)
    assert cli("audit", small, *ARGUMENTS).code == 130
    monkeypatch.setattr(parts, "_measured", measured)
    started.clear()
    none = cli("audit", small, "--methods", "none", *ARGUMENTS[2:])
    assert started == []
    assert none.code == 0
    assert list((cache_folder / "audits").iterdir()) == []


def test_other_inputs_and_settings_do_not_resume(
    cli: Run, small: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    none = ("--methods", "none", *ARGUMENTS[2:])
    monkeypatch.setattr(parts, "_measured", interrupted)
    folders: set[str] = set()
    changed = small.with_name("changed.safetensors")
    embedding = wb.load(small)
    embedding.with_vectors(embedding.vectors * 2).save(changed)
    calls = [(small,), (changed,), (small, "--seed", "1"), (small, "--dims", "3"),
             (small, "--groups", "age")]  # fmt: skip
    for i, call in enumerate(calls, 1):
        done = cli("audit", *call, *none)
        assert done.code == 130
        assert "interrupted; the same call resumes: what is measured is kept" in done.err
        folders |= {path.name for path in (cache_folder / "audits").iterdir() if path.is_dir()}
        assert len(folders) == i
    done = cli("audit", small, *none, "--no-cache")
    assert (done.code, "resumes" in done.err) == (130, False)
    assert len({path.name for path in (cache_folder / "audits").iterdir()}) == len(calls)


@pytest.mark.slow
def test_two_at_the_same_time_do_not_disturb_each_other(
    cli: Run, small: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    none = ("--methods", "none", *ARGUMENTS[2:])
    measured = parts._measured
    monkeypatch.setattr(parts, "_measured", interrupted)
    cli("audit", small, *none)
    monkeypatch.setattr(parts, "_measured", measured)
    (folder,) = (cache_folder / "audits").iterdir()
    (folder / "kept").touch()
    with locked(folder):  # as a process that runs the same audit
        assert cli("audit", small, *none).code == 0
    assert [path.name for path in folder.iterdir()] == ["kept"]
    assert cli("audit", small, *none).code == 0
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 1])
def test_damaged_results_are_measured_again(
    cli: Run, small: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    none = ("--methods", "none", *ARGUMENTS[2:])
    whole = cli("audit", small, *none).out
    measured = parts._measured

    def interrupted(work: Any, job: Any) -> Any:
        if job.part == "weat":
            raise KeyboardInterrupt
        return measured(work, job)

    monkeypatch.setattr(parts, "_measured", interrupted)
    cli("audit", small, *none)
    monkeypatch.setattr(parts, "_measured", measured)
    (path,) = stores(cache_folder)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:first], *(line[:100] for line in lines[first:])]))
    assert cli("audit", small, *none).out == whole


@pytest.mark.slow
def test_an_audit_that_is_killed_while_it_clears_up_does_not_disturb_the_next(
    cli: Run, small: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results of fits without what was fitted would make every later call fail."""
    removed: list[Path] = []

    def killed(folder: Path, **how: object) -> None:
        for path in folder.iterdir():
            if "transform" in tensors.metadata(path):
                removed.append(path)
                path.unlink()
        raise KeyboardInterrupt

    call = ("audit", small, "--methods", "misp", *ARGUMENTS[2:])
    with monkeypatch.context() as patched:
        patched.setattr("wordbias.pages.unfinished.shutil.rmtree", killed)
        assert cli(*call).code == 130
    assert removed
    resumed, whole = cli(*call), cli(*call, "--no-cache")
    assert resumed.code == 0
    assert json.loads(resumed.out)["rows"] == json.loads(whole.out)["rows"]


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_done_without(
    cli: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = ("--methods", "none", *ARGUMENTS[2:])
    (tmp_path / "file").touch()
    monkeypatch.setenv("WORDBIAS_CACHE", str(tmp_path / "file"))
    assert cli("audit", small, *none).code == 0


def test_what_was_never_resumed_is_removed_in_the_end(tmp_path: Path) -> None:
    for name in ("old", "new", "used"):
        (tmp_path / name).mkdir()
    for name in ("old", "used"):
        os.utime(tmp_path / name, (0, 0))
    with locked(tmp_path / "used"):
        remove_abandoned(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "used"]
    remove_abandoned(tmp_path / "none")


def test_clearing_the_cache_removes_what_audits_left(
    cli: Run, small: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(parts, "_measured", interrupted)
    cli("audit", small, "--methods", "none", *ARGUMENTS[2:])
    (folder,) = (cache_folder / "audits").iterdir()
    assert cli("cache", "--clear").code == 0
    assert not folder.exists()
