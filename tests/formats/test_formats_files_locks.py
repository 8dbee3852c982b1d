"""One process at a time is inside the block, however many come and go."""

from __future__ import annotations

import sys
from multiprocessing import get_context
from pathlib import Path

import pytest

from wordbias.errors import WordbiasError
from wordbias.formats.files import locked

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such locks on Windows")


def _come_and_go(folder: Path, times: int) -> int:
    """Enter so many times; count how often another was inside too."""
    entered = together = 0
    while entered < times:
        try:
            with locked(folder / "file"):
                entered += 1
                try:
                    (folder / "inside").mkdir()
                except FileExistsError:
                    together += 1
                else:
                    (folder / "inside").rmdir()
        except WordbiasError:
            pass
    return together


def test_no_two_processes_are_inside(tmp_path: Path) -> None:
    with get_context("spawn").Pool(3) as pool:
        found = pool.starmap(_come_and_go, [(tmp_path, 200)] * 3)
    assert found == [0, 0, 0]
    assert not (tmp_path / "file.lock").exists()


def test_who_waited_with_a_removed_lock_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking, the one inside leaves and another enters."""
    import os

    path, lock = tmp_path / "file", tmp_path / "file.lock"
    opened, real = [], os.open

    def late(*given: object) -> int:
        handle = real(*given)  # type: ignore[arg-type]
        opened.append(handle)
        if len(opened) == 1:
            lock.unlink()
        return handle

    monkeypatch.setattr("wordbias.formats.files.os.open", late)
    with locked(path):
        assert len(opened) == 2
        assert os.path.samestat(os.fstat(opened[1]), lock.stat())
    assert not lock.exists()


def test_a_second_process_is_refused_with_a_message(tmp_path: Path) -> None:
    with (
        locked(tmp_path / "file"),
        pytest.raises(WordbiasError, match="another process is writing it"),
        locked(tmp_path / "file"),
    ):
        pass


def test_a_file_that_is_no_lock_is_neither_locked_nor_removed(tmp_path: Path) -> None:
    text = tmp_path / "file.lock"
    text.write_text("names = 3\n")
    with pytest.raises(WordbiasError, match=r"file\.lock: has content"), locked(tmp_path / "file"):
        pass
    assert text.read_text() == "names = 3\n"
