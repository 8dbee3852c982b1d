"""A folder that grows while work is done, and that a later call goes on with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.formats.atomic import check_new


def check_growing(folder: str | os.PathLike[str]) -> None:
    """Refuse early, before hours of work, a folder that cannot be made or written to.

    Raises
    ------
    WordbiasError
        If it is a file or read-only, or the folder that it is to be in is not there or read-only.
    """
    target = Path(folder)
    if target.is_dir() and not os.access(target, os.W_OK):
        raise WordbiasError(f"{target}: is read-only to you; name another folder")
    if target.exists() and not target.is_dir():
        raise WordbiasError(f"{target}: is a file; name a folder")
    if not target.exists():
        check_new(target)


@contextmanager
def growing(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder unless it is there; where it is new and stays empty, an error removes it.

    Raises
    ------
    WordbiasError
        As `check_growing`, or if it cannot be made all the same.
    """
    check_growing(folder)
    target = Path(folder)
    is_new = not target.exists()
    try:
        target.mkdir(exist_ok=True)
    except OSError as error:
        raise WordbiasError(f"{target}: cannot be made: {error.strerror or error}") from None
    try:
        yield target
    except BaseException:
        with suppress(OSError):  # it holds something
            if is_new:
                target.rmdir()
        raise
