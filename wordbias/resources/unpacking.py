"""Taking one file out of an archive, without the archive's other files, in bounded memory."""

from __future__ import annotations

import gzip
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, cast

from wordbias.errors import WordbiasError
from wordbias.progress import progress

_CHUNK = 1 << 20


class Damaged(WordbiasError):
    """An archive that cannot be unpacked, and never will be."""


def unzip(archive: Path, member: str, to: Path, what: str) -> None:
    """Write the one member of a zip archive whose path or name matches `member`.

    Raises
    ------
    WordbiasError
        If the archive is damaged, if none or several match, or if there is no room.
    """
    with _intact(archive, what), zipfile.ZipFile(archive) as file:
        info = _find(file, member, what)
        _check_room(to, what, info.file_size)
        with file.open(info) as source:
            _copy(source, to, what, info.file_size)


def gunzip(archive: Path, to: Path, what: str) -> None:
    """Write what a gzip file holds.

    Raises
    ------
    WordbiasError
        If it is damaged or cut off.
    """
    with _intact(archive, what), gzip.open(archive, "rb") as source:
        _copy(cast(IO[bytes], source), to, what, None)


def copy(file: Path, to: Path, what: str) -> None:
    """Copy a file with progress."""
    _check_room(to, what, file.stat().st_size)
    with file.open("rb") as source:
        _copy(source, to, what, file.stat().st_size)


def _find(archive: zipfile.ZipFile, member: str, what: str) -> zipfile.ZipInfo:
    infos = [info for info in archive.infolist() if not info.is_dir()]
    ours = [info for info in infos if not info.filename.startswith("__MACOSX")]
    base = member.rpartition("/")[2]
    found = [info for info in ours if fnmatchcase(info.filename, member)]
    found = found or [i for i in ours if fnmatchcase(i.filename.rpartition("/")[2], base)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(info.filename for info in ours[:8]) or "nothing"
    many = ", …" if len(ours) > 8 else ""
    raise WordbiasError(
        f"{what}: expected one {member} in the archive, found {len(found)}; it holds {names}{many}"
    )


def _copy(source: IO[bytes], to: Path, what: str, size: int | None) -> None:
    with to.open("xb") as target, progress(f"{what}: unpacking", size) as bar:
        while chunk := source.read(_CHUNK):
            target.write(chunk)
            bar.update(len(chunk))


def _check_room(to: Path, what: str, needed: int) -> None:
    free = shutil.disk_usage(to.parent).free
    if needed > free:
        raise WordbiasError(
            f"{what}: needs {needed:,} bytes unpacked in {to.parent.parent}, {free:,} are free; "
            "make room, or set WORDBIAS_DATA to a folder elsewhere"
        )


@contextmanager
def _intact(archive: Path, what: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise Damaged(
            f"{what}: {archive.name} is damaged or is no archive ({error}); fetch it again"
        ) from None
    except (NotImplementedError, RuntimeError) as error:
        raise Damaged(f"{what}: {archive.name} cannot be unpacked: {error}") from None
