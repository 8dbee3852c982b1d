"""The cache among processes: filled by two at once, of no use to any, in nobody's way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.formats import cache, load, save
from wordbias.formats.files import ABANDONED, new_folder
from wordbias.wordlists import common_names

START = """
import sys
from wordbias.cli import run
import wordbias.commands.misp
print("ready", flush=True)
sys.stdin.readline()
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return text that takes some tenths of a second to be parsed."""
    female, male = common_names()
    words = [name.lower() for name in (*female, *male)] + [f"zq{i}z" for i in range(25_000)]
    vectors = np.random.default_rng(0).standard_normal((len(words), 30)).astype(np.float32)
    save(tmp_path / "v.txt", words, vectors)
    return tmp_path / "v.txt"


def started(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_two_processes_fill_it_at_once(path: Path, tmp_path: Path, cache_folder: Path) -> None:
    outputs = [tmp_path / f"{name}.safetensors" for name in "ab"]
    children = [started("misp", path, "-o", output, "-q") for output in outputs]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        _, error = child.communicate()
        assert (child.returncode, error) == (0, "")
    first, second = (output.read_bytes() for output in outputs)
    assert first == second
    (entry,) = cache_folder.glob("*.safetensors")
    cached, parsed = load(path), load(path, cache=False)
    assert cached.words == parsed.words
    np.testing.assert_array_equal(cached.vectors, parsed.vectors)
    note = entry.with_name(f"{entry.name}.verified")
    assert sorted(cache_folder.iterdir()) == [entry, note]


def test_an_entry_that_another_process_removes_when_it_is_written_is_no_failure(
    path: Path,
    cache_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    state = cache.trusted_state

    def removed(entry: Path) -> str:
        entry.unlink(missing_ok=True)
        return state(entry)

    monkeypatch.setattr(cache, "trusted_state", removed)
    assert load(path).words
    assert capsys.readouterr().err == ""
    assert list(cache_folder.glob("*.verified")) == []


def test_an_entry_that_another_process_removes_is_not_listed(
    path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(path)
    metadata = cache.tensors.metadata

    def removed(entry: Path) -> Any:
        entry.unlink()
        return metadata(entry)

    monkeypatch.setattr(cache.tensors, "metadata", removed)
    assert cache.entries() == []
    assert list(cache_folder.glob("*.safetensors")) == []


def without_cache(path: Path, process: Any, **options: Any) -> str:
    """Measure without a cache; return the one line that says so."""
    done = process("misp", path, "-q", "--format", "jsonl", **options)
    assert done.code == 0, done.err
    assert done.out == process("misp", path, "-q", "--format", "jsonl", "--no-cache").out
    assert done.err.startswith("not cached, going on without: ")
    assert len(done.err.splitlines()) == 1
    message: str = done.err
    return message


@pytest.mark.slow
def test_a_file_in_place_of_the_folder(path: Path, process: Any, tmp_path: Path) -> None:
    place = tmp_path / "cache"
    place.write_bytes(b"mine")
    without_cache(path, process, env={**os.environ, "WORDBIAS_CACHE": str(place)})
    assert place.read_bytes() == b"mine"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs rlimits")
def test_a_full_disk_for_a_cache_entry(path: Path, process: Any, cache_folder: Path) -> None:
    """No file may grow beyond 100 kB, as on a disk that is full."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    message = without_cache(path, process, preexec_fn=limit)
    assert "File too large" in message
    assert list(cache_folder.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_read_only_folder(path: Path, process: Any, cache_folder: Path) -> None:
    cache_folder.chmod(0o500)
    try:
        assert "read-only" in without_cache(path, process)
    finally:
        cache_folder.chmod(0o700)


def test_what_killed_processes_left_is_swept_out(path: Path, cache_folder: Path) -> None:
    """Where files are written under a hidden name, a kill leaves one; a day later it goes."""
    old, new = (cache_folder / f".v.safetensors.{pid}.part" for pid in (1, 2))
    for left in (old, new):
        left.write_bytes(b"half")
    os.utime(old, (old.stat().st_mtime - ABANDONED - 60,) * 2)
    load(path)
    assert not old.exists()
    assert new.exists(), "it may be another process's, which is writing it"
    cache.shrink(0)
    assert [left.name for left in cache_folder.iterdir()] == [new.name]


def test_half_a_model_that_a_killed_process_left_goes_with_the_next(tmp_path: Path) -> None:
    old, new, other = (tmp_path / f".{name}.part" for name in ("m[1].7", "m[1].8", "m1.7"))
    for left in (old, new, other):
        left.mkdir()
        (left / "model.safetensors").write_bytes(b"half")
    for left in (old, other):
        os.utime(left, (left.stat().st_mtime - ABANDONED - 60,) * 2)
    with new_folder(tmp_path / "m[1]") as folder:
        (folder / "model.safetensors").write_bytes(b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".m1.7.part",
        ".m[1].8.part",
        "m[1]",
    ]
