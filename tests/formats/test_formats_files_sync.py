"""What takes a name is on the disk first, and so is the name when the call returns."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.errors import WordbiasError
from wordbias.formats import files, save
from wordbias.formats.files import new_folder, replacing

Calls = list[tuple[str, str]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Note each fsync, with what it is called on, and each name that is given."""
    noted: Calls = []
    fsync, replace, rename = os.fsync, os.replace, os.rename

    def synced(handle: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        noted.append(("sync", "folder" if is_folder else f"{os.fstat(handle).st_size} bytes"))
        fsync(handle)

    def replaced(old: Any, new: Any, **more: Any) -> None:
        noted.append(("name", Path(new).name))
        replace(old, new, **more)

    def renamed(old: Any, new: Any, **more: Any) -> None:
        noted.append(("name", Path(new).name))
        rename(old, new, **more)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(os, "rename", renamed)
    return noted


@pytest.fixture(params=["nameless", "hidden"])
def system(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand for systems with nameless files and for those without."""
    if request.param == "hidden":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


@pytest.mark.usefixtures("system")
def test_a_file_is_synced_before_it_is_named_and_its_folder_after(
    tmp_path: Path, calls: Calls
) -> None:
    with replacing(tmp_path / "x") as file:
        file.write(b"12345")
        assert calls == []
    assert calls == [("sync", "5 bytes"), ("name", "x"), ("sync", "folder")]


def test_vectors_are_synced(tmp_path: Path, calls: Calls) -> None:
    save(tmp_path / "v.txt", ["a", "b"], np.eye(2, dtype=np.float32))
    size = (tmp_path / "v.txt").stat().st_size
    assert calls == [("sync", f"{size} bytes"), ("name", "v.txt"), ("sync", "folder")]


def test_a_folder_is_synced_with_all_that_is_in_it(tmp_path: Path, calls: Calls) -> None:
    with new_folder(tmp_path / "out") as folder:
        (folder / "one").write_bytes(b"1")
        (folder / "deep").mkdir()
        (folder / "deep" / "two").write_bytes(b"22")
    named = calls.index(("name", "out"))
    assert sorted(calls[:named]) == [
        ("sync", "1 bytes"),
        ("sync", "2 bytes"),
        ("sync", "folder"),
        ("sync", "folder"),
    ]
    assert calls[named + 1 :] == [("sync", "folder")]


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_that_cannot_sync_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refused(handle: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refused)
    with replacing(tmp_path / "x") as file:
        file.write(b"12345")
    assert (tmp_path / "x").read_bytes() == b"12345"


def test_a_folder_that_cannot_be_opened_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def refused(path: Any, flags: int, *more: Any) -> int:
        if Path(path) == tmp_path and flags == os.O_RDONLY:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, flags, *more)

    monkeypatch.setattr(os, "open", refused)
    with replacing(tmp_path / "x") as file:
        file.write(b"12345")
    assert (tmp_path / "x").read_bytes() == b"12345"


@pytest.mark.usefixtures("system")
def test_a_disk_that_fails_when_it_is_synced_gives_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").write_bytes(b"before")

    def failed(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failed)
    with (
        pytest.raises(WordbiasError, match="could not be written"),
        replacing(tmp_path / "x") as file,
    ):
        file.write(b"12345")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_bytes() == b"before"


def test_every_rename_of_the_package_is_a_synced_one() -> None:
    """Other code gives names through `atomic.rename`, or moves what is thrown away."""
    package = Path(files.__file__).parent.parent
    allowed = {"formats/files.py": 2, "resources/storage.py": 1}  # there, of what is replaced
    allowed["outcomes/inputs.py"] = 1  # labels of a frame
    renames: dict[str, int] = {}
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        count = sum(text.count(call) for call in ("os.replace(", "os.rename(", ".rename("))
        if count:
            renames[path.relative_to(package).as_posix()] = count
    assert renames == allowed
