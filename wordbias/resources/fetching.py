"""Fetching: one download at a time, verified, unpacked, put in its place in one step.

Getting hold of a download, from the network or from a folder, and verifying it.

Taking one file out of an archive, without the archive's other files, in bounded memory.
"""

from __future__ import annotations

import datetime
import gzip
import logging
import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, cast
from urllib.parse import urlsplit

from wordbias.errors import WordbiasError, need
from wordbias.formats.files import locked
from wordbias.formats.source import hash_of, sha256_of
from wordbias.progress import progress
from wordbias.resources import storage
from wordbias.resources.catalogue import Resource, catalogue
from wordbias.resources.http import Resuming
from wordbias.resources.storage import Record


@dataclass(frozen=True)
class FetchOptions:
    """How to get at the data.

    Attributes
    ----------
    mirror
        URL that stands in for the scheme and the host of every URL; empty for none.
    source
        Folder of files that were downloaded by other means; nothing is downloaded then.
    again
        Fetch also what is there.
    keep
        Keep archives, to take other members out of them later.
    timeout
        Seconds without any answer after which a connection counts as broken.

    Raises
    ------
    WordbiasError
        If the mirror is no http or https URL, even where nothing needs to be downloaded.
    """

    mirror: str = ""
    source: str = ""
    again: bool = False
    keep: bool = False
    timeout: float = 60

    def __post_init__(self) -> None:
        if self.mirror and not self.mirror.startswith(("http://", "https://")):
            raise WordbiasError(
                f"{self.mirror}: is no mirror; expected a URL that begins with https:// or http://"
            )

    def origin(self, url: str) -> str:
        """Return the URL to ask instead of one of the catalogue."""
        return f"{self.mirror.rstrip('/')}{urlsplit(url).path}" if self.mirror else url


@dataclass(frozen=True)
class Got:
    """One verified download, and whether it is the user's own file."""

    path: Path
    sha256: str
    origin: str
    foreign: bool


def obtain(resource: Resource, i: int, downloads: Path, options: FetchOptions) -> Got:
    """Return the `i`-th download of a resource, whose hash is what it has to be."""
    url, what = resource.urls[i], resource.group
    base = urlsplit(url).path.rpartition("/")[2]
    known, why = expected_hash(resource, i)
    if options.source:
        path = _in_folder(Path(options.source), resource, i, base)
        _check_taken(path, known, why, what)
        return Got(path, sha256_of(path), str(path), True)
    # the files of one set may have one name in different folders
    name = base if len(resource.urls) == 1 else f"{i}-{base}"
    pooch = need("pooch", extra="data", purpose="Fetching data")
    pooch.get_logger().setLevel(logging.WARNING)
    downloader = Resuming(
        downloads / f"{name}.part", what, bool(known), options.timeout, resource.size
    )
    origin = options.origin(url)
    try:
        path = Path(pooch.retrieve(origin, known or None, name, downloads, downloader=downloader))
    except ValueError as error:
        if isinstance(error, WordbiasError):
            raise
        found = re.search(r"got (\w+)", str(error))
        raise _mismatch(what, origin, known, found[1] if found else "another", why) from None
    return Got(path, sha256_of(path), origin, False)


def expected_hash(resource: Resource, i: int = 0) -> tuple[str, str]:
    """Return the hash that the `i`-th download must have, if any, and who says so."""
    if resource.hash:
        return resource.hash, "published"
    record = storage.recorded(resource)
    if record is None:
        return "", ""
    return f"sha256:{record.sha256[i]}", f"recorded on {record.fetched}"


def _in_folder(folder: Path, resource: Resource, i: int, base: str) -> Path:
    """Find a file that was downloaded by other means."""
    kept = base if resource.member or resource.gunzip else resource.files[i]
    candidates = [folder / resource.name / kept, folder / kept, folder / base]
    for path in candidates:
        if path.is_file():
            if not path.stat().st_size:
                raise WordbiasError(f"{resource.name}: {path} is empty; download it again")
            return path
    raise WordbiasError(
        f"{resource.name}: {folder} has no {base}; download {resource.urls[i]} and put it there"
    )


def _check_taken(path: Path, known: str, why: str, what: str) -> None:
    if not known:
        return
    algorithm, _, expected = known.partition(":")
    found = hash_of(path, algorithm)
    if found != expected:
        raise _mismatch(what, str(path), known, found, why)


def _mismatch(what: str, origin: str, known: str, found: str, why: str) -> WordbiasError:
    algorithm, _, expected = known.partition(":")
    return WordbiasError(
        f"{what}: {origin} is not the file that was {why}: expected {algorithm} "
        f"{expected[:16]}…, found {found[:16]}…; nothing was kept, try another --mirror"
    )


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


@dataclass(frozen=True)
class Fetched:
    """A resource that is there now; `new` says whether this call fetched it."""

    resource: Resource
    path: Path
    record: Record
    new: bool


def fetch(resources: Sequence[Resource], options: FetchOptions | None = None) -> Iterator[Fetched]:
    """Fetch what is not there yet; resources of one archive download it once.

    Yields
    ------
    Fetched
        Each resource when it is in its place. An interrupted call leaves whole resources and a
        part that the next call goes on from.

    Raises
    ------
    WordbiasError
        If one cannot be had, is not what was published or recorded, or cannot be written; what
        was there before is still there.
    """
    groups = dict.fromkeys(resource.group for resource in resources)
    for group in groups:
        wanted = [resource for resource in resources if resource.group == group]
        yield from _fetch_group(wanted, options or FetchOptions())


def _fetch_group(wanted: Sequence[Resource], options: FetchOptions) -> Iterator[Fetched]:
    first = wanted[0]
    if first.how:
        raise WordbiasError(f"{first.name}: cannot be fetched: {first.how}")
    with _writing(first.group):
        new = _bring(wanted, options) if _missing(wanted, options) else {}
    for resource in wanted:
        record = new.get(resource.name) or storage.state(resource)
        if record is None:
            raise WordbiasError(
                f"{resource.name}: was removed while it was fetched; fetch it again"
            )
        yield Fetched(resource, storage.place(resource), record, resource.name in new)


def _missing(wanted: Sequence[Resource], options: FetchOptions) -> list[Resource]:
    return [r for r in wanted if options.again or storage.state(r) is None]


def _bring(wanted: Sequence[Resource], options: FetchOptions) -> dict[str, Record]:
    """Download once what the resources of a group are made of, and put them in their places."""
    first = wanted[0]
    with _downloads(first.group) as downloads:
        missing = _missing(wanted, options)  # another process may have been quicker
        if not missing:
            return {}
        got = [obtain(first, i, downloads, options) for i in range(len(first.urls))]
        new = {resource.name: _put(resource, got) for resource in missing}
        if not options.keep:
            shutil.rmtree(downloads, ignore_errors=True)
    return new


def _put(resource: Resource, got: Sequence[Got]) -> Record:
    """Put a resource in its place, unpacked."""
    with storage.replacing_folder(resource) as new:
        for file, download in zip(resource.files, got, strict=True):
            target = new / file
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                _unpack(resource, download, target)
            except Damaged:
                if not download.foreign:
                    download.path.unlink()  # or the next call would take it for whole
                raise
        record = Record(
            url=resource.urls[0],
            origin=got[0].origin,
            sha256=tuple(download.sha256 for download in got),
            fetched=datetime.datetime.now(datetime.UTC).date().isoformat(),
            files={file: (new / file).stat().st_size for file in resource.files},
        )
        storage.write_record(record, new)
    return record


def _unpack(resource: Resource, download: Got, target: Path) -> None:
    if resource.member:
        unzip(download.path, resource.member, target, resource.name)
    elif resource.gunzip:
        gunzip(download.path, target, resource.name)
    elif download.foreign:
        copy(download.path, target, resource.name)
    else:
        try:  # a second name for the same bytes, so that a kill here loses nothing
            os.link(download.path, target)
        except OSError:
            copy(download.path, target, resource.name)


@contextmanager
def _downloads(group: str) -> Iterator[Path]:
    """Yield the folder of a download, locked; a second process is told so.

    What killed processes left is cleared, theirs and others': locks, unfinished copies and empty
    folders; but not what has arrived of a download, from which the next call goes on.
    """
    downloads = storage.folder() / ".downloads" / group
    downloads.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(downloads))
        except WordbiasError:
            raise WordbiasError(
                f"{group}: another process is fetching it; wait for that one"
            ) from None
        downloads.mkdir(exist_ok=True)
        _clear(downloads)
        try:
            yield downloads
        finally:
            _remove_empty(downloads)
    for lock in downloads.parent.glob("*.lock"):
        left = lock.with_name(lock.name.removesuffix(".lock"))
        with suppress(WordbiasError), locked(left):  # which removes the lock, if it was nobody's
            _clear(left)
            _remove_empty(left)


def _clear(downloads: Path) -> None:
    """Remove what a killed process was copying or unpacking; the caller has the lock."""
    for unfinished in downloads.glob(f"{tempfile.gettempprefix()}????????"):  # pooch's names
        unfinished.unlink(missing_ok=True)
    for resource in catalogue().values():
        if resource.group == downloads.name:
            storage.clear_unfinished(resource)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def _writing(what: str) -> Iterator[None]:
    """Turn a full disk or a folder that cannot be written into one line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        where = storage.folder()
        free = ""
        with suppress(OSError):
            free = f" ({shutil.disk_usage(where).free:,} bytes free)"
        raise WordbiasError(
            f"{what}: cannot be written to {where}{free}: {reason}; mend that, or set "
            "WORDBIAS_DATA to a folder elsewhere"
        ) from None
