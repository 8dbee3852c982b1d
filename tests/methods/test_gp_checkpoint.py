"""The file in which an interrupted training is kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.gender_preserving import checkpoint
from wordbias.methods.gender_preserving.checkpoint import Checkpoint, Snapshot

IDENTITY = {"epochs": 5, "seed": 0, "vectors": "abc"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "training.safetensors"


@pytest.fixture
def snapshot() -> Snapshot:
    arrays = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "step": np.array(7.0)}
    return Snapshot(arrays, {"phase": 1, "done": [{"loss": [0.1, 1 / 3]}]})


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(checkpoint, "time", clock)
    return clock


def test_what_was_written_is_read(path: Path, snapshot: Snapshot) -> None:
    written = Checkpoint(path, IDENTITY)
    written.offer(snapshot)
    written.write()
    found = Checkpoint(path, IDENTITY).read()
    assert found is not None
    assert found.notes == snapshot.notes
    assert found.arrays.keys() == snapshot.arrays.keys()
    for name, array in snapshot.arrays.items():
        assert found.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(found.arrays[name], array)


def test_nothing_is_there_at_first(path: Path) -> None:
    assert Checkpoint(path, IDENTITY).read() is None


def test_without_a_path_nothing_is_kept(tmp_path: Path, snapshot: Snapshot, clock: Clock) -> None:
    checkpoint = Checkpoint(None, {})
    assert checkpoint.read() is None
    clock.now = 100.0
    checkpoint.offer(snapshot)
    checkpoint.write()
    assert list(tmp_path.iterdir()) == []


def test_it_is_written_every_ten_seconds_at_most(
    path: Path, snapshot: Snapshot, clock: Clock
) -> None:
    checkpoint = Checkpoint(path, IDENTITY)
    written = []
    for second in range(0, 40, 4):
        clock.now = float(second)
        checkpoint.offer(snapshot)
        if path.exists():
            written.append(second)
            path.unlink()
    assert written == [12, 24, 36]


def test_writing_at_once_writes_the_latest(path: Path, snapshot: Snapshot, clock: Clock) -> None:
    checkpoint = Checkpoint(path, IDENTITY)
    checkpoint.offer(snapshot)
    checkpoint.offer(snapshot._replace(notes={"phase": 2}))
    assert not path.exists()
    checkpoint.write()
    found = checkpoint.read()
    assert found is not None
    assert found.notes == {"phase": 2}


def test_nothing_new_is_not_written_again(path: Path, snapshot: Snapshot) -> None:
    checkpoint = Checkpoint(path, IDENTITY)
    checkpoint.write()
    assert not path.exists()
    checkpoint.offer(snapshot)
    checkpoint.write()
    path.unlink()
    checkpoint.write()
    assert not path.exists()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({**IDENTITY, "epochs": 7}, "epochs 5 there, 7 here"),
        ({**IDENTITY, "vectors": "xyz"}, "vectors 'abc' there, 'xyz' here"),
        ({"epochs": 5, "seed": 0}, "vectors 'abc' there, None here"),
        ({**IDENTITY, "new": 1}, "new None there, 1 here"),
        (
            {"epochs": 7, "seed": 1, "vectors": "abc"},
            "epochs 5 there, 7 here; seed 0 there, 1 here",
        ),
    ],
)
def test_another_training_is_refused(
    path: Path, snapshot: Snapshot, other: dict[str, Any], said: str
) -> None:
    written = Checkpoint(path, IDENTITY)
    written.offer(snapshot)
    written.write()
    content = path.read_bytes()
    with pytest.raises(WordbiasError) as raised:
        Checkpoint(path, other).read()
    assert f"({said}); repeat that one" in str(raised.value)
    assert path.read_bytes() == content


def test_other_files_are_refused_and_left_as_they_are(path: Path) -> None:
    text, vectors, tensors = (path.with_name(name) for name in ("words.txt", "emb", "tensors"))
    text.write_text("not a checkpoint\n", encoding="utf-8")
    Embedding(["a", "b"], np.eye(2)).save(vectors, "safetensors")
    save_file({"x": np.zeros(2)}, tensors, {"checkpoint": '{"no": "identity"}'})
    empty = path.with_name("empty")
    empty.touch()
    for file in (text, vectors, tensors, empty):
        content = file.read_bytes()
        with pytest.raises(WordbiasError, match=r"but is no checkpoint .*name another"):
            Checkpoint(file, IDENTITY).read()
        assert file.read_bytes() == content


def test_a_cut_file_is_refused(path: Path, snapshot: Snapshot) -> None:
    checkpoint = Checkpoint(path, IDENTITY)
    checkpoint.offer(snapshot)
    checkpoint.write()
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(WordbiasError, match="is no checkpoint"):
        checkpoint.read()


def test_a_place_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="does not exist"):
        Checkpoint(tmp_path / "none" / "file", IDENTITY).read()
    with pytest.raises(WordbiasError, match="is a folder"):
        Checkpoint(tmp_path, IDENTITY).read()


def test_a_failed_write_leaves_the_old_file(
    path: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = Checkpoint(path, IDENTITY)
    checkpoint.offer(snapshot)
    checkpoint.write()
    content = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    checkpoint.offer(snapshot._replace(notes={}))
    with pytest.raises(WordbiasError, match="No space left"):
        checkpoint.write()
    assert path.read_bytes() == content
