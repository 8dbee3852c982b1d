"""One process at a time is inside the block, however many come and go."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import types
from multiprocessing import get_context
from pathlib import Path

import pytest

from wordbias.errors import WordbiasError
from wordbias.formats import files
from wordbias.formats.files import locked


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


@pytest.mark.slow
def test_no_two_processes_are_inside(tmp_path: Path) -> None:
    with get_context("spawn").Pool(3) as pool:
        clashes = pool.starmap(_come_and_go, [(tmp_path, 200)] * 3)
    assert clashes == [0, 0, 0]
    assert not (tmp_path / "file.lock").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows removes no open file")
def test_who_waited_with_a_removed_lock_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking, the one inside leaves and another enters."""
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


@pytest.fixture
def as_on_windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[bool]:
    """Lock as Windows does, which has no fcntl; return whether the lock was there as it closed."""
    fcntl = pytest.importorskip("fcntl")
    there, close = [], os.close

    def locking(handle: int, how: int, count: int) -> None:
        assert (how, count) == (2, 1)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None

    def closing(handle: int) -> None:
        there.append((tmp_path / "file.lock").exists())
        close(handle)

    msvcrt = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
    monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(files, "_WINDOWS", True)
    monkeypatch.setattr("wordbias.formats.files.os.close", closing)
    return there


def test_on_windows_a_second_one_is_refused_and_the_lock_is_removed_once_it_is_closed(
    tmp_path: Path, as_on_windows: list[bool]
) -> None:
    with locked(tmp_path / "file"):
        with (
            pytest.raises(WordbiasError, match="another process is writing it"),
            locked(tmp_path / "file"),
        ):
            pass
        assert (tmp_path / "file.lock").exists()
    assert as_on_windows == [True, True]
    assert not (tmp_path / "file.lock").exists()
    with locked(tmp_path / "file"):
        pass


def test_on_windows_a_lock_that_another_process_opened_is_left_to_it(
    tmp_path: Path, as_on_windows: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_use(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "used by another process", str(path))

    with locked(tmp_path / "file"):
        monkeypatch.setattr(Path, "unlink", in_use)
    assert (tmp_path / "file.lock").exists()


def test_a_file_is_replaced_where_permissions_need_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, with Python before 3.13."""
    chmod = os.chmod

    def of_paths(path: object, mode: int) -> None:
        assert not isinstance(path, int), "path should be string, not int"
        chmod(path, mode)  # type: ignore[call-overload]

    monkeypatch.setattr("wordbias.formats.files.os.chmod", of_paths)
    (tmp_path / "file").write_bytes(b"before")
    with files.replacing(tmp_path / "file") as file:
        file.write(b"after")
    assert (tmp_path / "file").read_bytes() == b"after"


def test_what_a_killed_process_left_locks_nothing(tmp_path: Path) -> None:
    code = (
        "import os, sys; from wordbias.formats.files import locked\n"
        "with locked(sys.argv[1]): os._exit(9)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "file")]
    assert subprocess.run(command, check=False).returncode == 9
    assert (tmp_path / "file.lock").exists()
    with locked(tmp_path / "file"):
        pass
    assert not (tmp_path / "file.lock").exists()
