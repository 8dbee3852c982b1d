"""One process at a time at a file: a second one is told so instead of taking part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError


@contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes from a file as long as the block lasts.

    A file ``PATH.lock`` beside it is locked and removed at the end. The lock is the system's: that
    of a killed process is gone with it, and what is left of its file keeps nobody out. Where the
    system has no such locks nothing is kept from anyone.

    Raises
    ------
    WordbiasError
        If another process is inside such a block.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        yield
        return
    lock = Path(f"{os.fspath(path)}.lock")
    handle = _opened(lock)
    try:
        while not _locked(fcntl, handle, path, lock):
            os.close(handle)
            handle = _opened(lock)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _opened(lock: Path) -> int:
    return os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)


def _locked(fcntl: Any, handle: int, path: str | os.PathLike[str], lock: Path) -> bool:
    """Lock an open file; False if it was removed before, and is no longer what others open."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise WordbiasError(
            f"{path}: another process is writing it; wait for that one, or name another output"
        ) from None
    except OSError:  # a file system without locks
        return True
    try:
        return os.path.samestat(os.fstat(handle), lock.stat())
    except FileNotFoundError:
        return False
