"""A new folder is there complete, or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from wordbias.errors import WordbiasError
from wordbias.formats.files import check_new, check_writable, new_folder


def test_it_takes_its_name_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "made"
    with new_folder(target) as part:
        (part / "deep").mkdir()
        (part / "deep" / "file").write_text("whole")
        assert not target.exists()
        assert part.parent == tmp_path  # so that renaming is one step
    assert (target / "deep" / "file").read_text() == "whole"
    assert list(tmp_path.iterdir()) == [target]


def write(target: Path, content: str, error: BaseException | None) -> None:
    with new_folder(target) as part:
        (part / "file").write_text(content)
        if error is not None:
            raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("bad")])
def test_nothing_is_left_of_it_after_an_error(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)):
        write(tmp_path / "made", "half", error)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(WordbiasError, match=r"made: could not be written: No space left"):
        write(tmp_path / "made", "half", full)
    assert list(tmp_path.iterdir()) == []


def test_somebody_else_s_folder_of_that_name_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "made"
    rename = Path.rename

    def overtaken(part: Path, to: Path) -> Path:
        target.mkdir()
        (target / "file").write_text("theirs")
        return rename(part, to)

    monkeypatch.setattr(Path, "rename", overtaken)
    with pytest.raises(WordbiasError, match="could not be written"):
        write(target, "ours", None)
    assert (target / "file").read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [target]


def test_what_cannot_be_made_is_refused_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_new(tmp_path / "made")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(WordbiasError, match="exists already; name a new folder"):
        check_new(tmp_path)
    with pytest.raises(WordbiasError, match=r"none/made: cannot be made, the folder .*none does"):
        check_new(tmp_path / "none" / "made")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(WordbiasError, match="is read-only to you"):
        check_new(tmp_path / "made")


def test_no_file_is_written_to_standard_output() -> None:
    with pytest.raises(WordbiasError, match="-: a file is not written to standard output"):
        check_writable("-")
