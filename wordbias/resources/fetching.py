"""Fetching of published data: download or copy, verify the hash, unpack, store atomically."""

from __future__ import annotations

import datetime
import gzip
import logging
import math
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

from wordbias.errors import WordbiasError, need, without_secrets
from wordbias.formats.files import locked
from wordbias.formats.source import hash_of, sha256_of
from wordbias.progress import progress
from wordbias.resources import storage
from wordbias.resources.catalogue import Resource, catalogue
from wordbias.resources.http import ResumingDownloader
from wordbias.resources.storage import Record


@dataclass(frozen=True)
class FetchOptions:
    """Options of fetching."""

    mirror: str = ""  # URL that replaces the scheme and the host of every URL; empty for none
    # folder of files that were downloaded by other means; then nothing is downloaded
    source: str = ""
    again: bool = False  # also fetch resources that are available
    keep: bool = False  # keep archives, to take other members out of them later
    # seconds in which less than 1 kB arrives after which a connection counts as broken
    timeout: float = 60

    def __post_init__(self) -> None:
        if self.mirror and not self.mirror.startswith(("http://", "https://")):
            raise WordbiasError(
                f"{self.mirror}: is no mirror; expected a URL that begins with https:// or http://"
            )

    def origin(self, url: str) -> str:
        """Return the URL to download from, in place of one of the catalogue."""
        return f"{self.mirror.rstrip('/')}{urlsplit(url).path}" if self.mirror else url


@dataclass(frozen=True)
class Fetched:
    """An available resource; `new` is True if this call fetched it."""

    resource: Resource
    path: Path
    record: Record
    new: bool


@dataclass(frozen=True)
class Download:
    """A verified download, or a file of the user in its place."""

    path: Path
    sha256: str
    origin: str
    is_users: bool


class DamagedArchive(WordbiasError):
    """An archive that cannot be unpacked."""


def fetch(resources: Sequence[Resource], options: FetchOptions | None = None) -> Iterator[Fetched]:
    """Fetch the resources that are not available yet; yield each as soon as it is there."""
    # An archive of several is downloaded once. An interrupted call leaves complete resources and a
    # partial download that the next call resumes.
    groups = dict.fromkeys(resource.group for resource in resources)
    for group in groups:
        wanted = [resource for resource in resources if resource.group == group]
        yield from _fetch_group(wanted, options or FetchOptions())


def _fetch_group(wanted: Sequence[Resource], options: FetchOptions) -> Iterator[Fetched]:
    first = wanted[0]
    if first.how:
        raise WordbiasError(f"{first.name}: cannot be fetched: {first.how}")
    with _writing(first.group):
        new = _fetch_missing(wanted, options) if _missing(wanted, options) else {}
    for resource in wanted:
        record = new.get(resource.name) or storage.available(resource)
        if record is None:
            raise WordbiasError(
                f"{resource.name}: was removed while it was fetched; fetch it again"
            )
        yield Fetched(resource, storage.place(resource), record, resource.name in new)


def _missing(wanted: Sequence[Resource], options: FetchOptions) -> list[Resource]:
    return [r for r in wanted if options.again or storage.available(r) is None]


def _fetch_missing(wanted: Sequence[Resource], options: FetchOptions) -> dict[str, Record]:
    """Download what a group of resources needs, once, and store those that are missing."""
    first = wanted[0]
    with _downloads(first.group) as downloads:
        missing = _missing(wanted, options)  # another process may have fetched them meanwhile
        if not missing:
            return {}
        files = [_download(first, i, downloads, options) for i in range(len(first.urls))]
        new = {resource.name: _store(resource, files) for resource in missing}
        if not options.keep:
            shutil.rmtree(downloads, ignore_errors=True)
    return new


def _store(resource: Resource, downloads: Sequence[Download]) -> Record:
    """Unpack the downloads of a resource into its folder."""
    with storage.replacing_folder(resource) as new:
        for file, download in zip(resource.files, downloads, strict=True):
            target = new / file
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                _unpack(resource, download, target)
            except DamagedArchive:
                if not download.is_users:
                    download.path.unlink()  # or the next call would use it again
                raise
        record = Record(
            url=resource.urls[0],
            origin=without_secrets(downloads[0].origin),
            sha256=tuple(download.sha256 for download in downloads),
            fetched=datetime.datetime.now(datetime.UTC).date().isoformat(),
            files={file: (new / file).stat().st_size for file in resource.files},
        )
        storage.write_record(record, new)
    return record


@contextmanager
def _downloads(group: str) -> Iterator[Path]:
    """Lock the folder of a group's downloads and yield it; refuse a second process."""
    # What killed processes left is removed, in this folder and in others: locks, unfinished copies
    # and empty folders, but not partial downloads, which the next call resumes.
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
        with suppress(WordbiasError), locked(left):  # removes the lock unless a process holds it
            _clear(left)
            _remove_empty(left)


def _clear(downloads: Path) -> None:
    """Remove unfinished copies and folders of a killed process; the caller holds the lock."""
    for unfinished in downloads.glob(f"{tempfile.gettempprefix()}????????"):  # names of pooch
        unfinished.unlink(missing_ok=True)
    for resource in catalogue().values():
        if resource.group == downloads.name:
            storage.clear_unfinished(resource)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def _writing(what: str) -> Iterator[None]:
    """Turn the errors of a full disk or a read-only folder into a `WordbiasError`."""
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


# Getting and verifying one download


def _download(resource: Resource, i: int, downloads: Path, options: FetchOptions) -> Download:
    """Return the `i`-th download of a resource, with its hash verified."""
    url, what = resource.urls[i], resource.group
    base = urlsplit(url).path.rpartition("/")[2]
    known, why = expected_hash(resource, i)
    if options.source:
        path = _in_folder(Path(options.source), resource, i, base)
        algorithm, _, expected = known.partition(":")
        if known and (actual := hash_of(path, algorithm)) != expected:
            raise _mismatch(what, str(path), known, actual, why)
        return Download(path, sha256_of(path), str(path), True)
    # the files of one set may have one name in different folders
    name = base if len(resource.urls) == 1 else f"{i}-{base}"
    pooch = need("pooch", extra="data", purpose="Fetching data")
    pooch.get_logger().setLevel(logging.WARNING)
    downloader = ResumingDownloader(
        downloads / f"{name}.part", what, bool(known), options.timeout, resource.size
    )
    origin = options.origin(url)
    try:
        path = Path(pooch.retrieve(origin, known or None, name, downloads, downloader=downloader))
    except ValueError as error:
        if isinstance(error, WordbiasError):
            raise
        match = re.search(r"got (\w+)", str(error))
        raise _mismatch(what, origin, known, match[1] if match else "another", why) from None
    if not (known or resource.member or resource.gunzip):  # unpacking tells
        _check_beginning(path, base, what, origin)
    return Download(path, sha256_of(path), origin, False)


_BEGINNINGS = {".zip": b"PK", ".gz": b"\x1f\x8b", ".parquet": b"PAR1", ".bin": b""}


def _check_beginning(path: Path, name: str, what: str, origin: str) -> None:
    """Refuse, and remove, what cannot be a file of its name; where there is no hash to tell."""
    with path.open("rb") as file:
        data = file.read(1 << 16)
    expected = _BEGINNINGS.get(Path(name).suffix)
    if not data.startswith(expected) if expected is not None else b"\0" in data:
        path.unlink()
        raise WordbiasError(
            f"{what}: {origin} is no {Path(name).suffix or 'text'} file, as its first bytes show; "
            "nothing was kept, try another --mirror"
        )


def expected_hash(resource: Resource, i: int = 0) -> tuple[str, str]:
    """Return the hash that the `i`-th download must have and its origin; both may be empty."""
    if resource.hash:
        return resource.hash, "published"
    record = storage.recorded(resource)
    if record is None:
        return "", ""
    return f"sha256:{record.sha256[i]}", f"recorded on {record.fetched}"


def _in_folder(folder: Path, resource: Resource, i: int, base: str) -> Path:
    """Return the file in a user's folder that replaces a download."""
    file_name = base if resource.member or resource.gunzip else resource.files[i]
    candidates = [folder / resource.name / file_name, folder / file_name, folder / base]
    for path in candidates:
        if path.is_file():
            if not path.stat().st_size:
                raise WordbiasError(f"{resource.name}: {path} is empty; download it again")
            return path
    raise WordbiasError(
        f"{resource.name}: {folder} has no {base}; download {resource.urls[i]} and put it there"
    )


def _mismatch(what: str, origin: str, known: str, actual: str, why: str) -> WordbiasError:
    algorithm, _, expected = known.partition(":")
    return WordbiasError(
        f"{what}: {origin} is not the file that was {why}: expected {algorithm} "
        f"{expected[:16]}…, found {actual[:16]}…; nothing was kept, try another --mirror"
    )


# Unpacking, in bounded memory

_CHUNK = 1 << 20
_RATIO = 100
"""Most times that an archive is unpacked to; texts of vectors are three times as large."""


def _unpack(resource: Resource, download: Download, target: Path) -> None:
    if resource.member:
        _unzip(download.path, resource.member, target, resource.name)
    elif resource.gunzip:
        _gunzip(download.path, target, resource.name)
    elif download.is_users:
        _copy_file(download.path, target, resource.name)
    else:
        try:  # so that a killed process loses no download
            os.link(download.path, target)
        except OSError:
            _copy_file(download.path, target, resource.name)


def _unzip(archive: Path, member: str, to: Path, what: str) -> None:
    """Write the one member of a zip archive whose path or name matches `member`."""
    with _intact(archive, what), zipfile.ZipFile(archive) as file:
        info = _find_member(file, member, what)
        if info.file_size > _RATIO * archive.stat().st_size + _CHUNK:
            raise DamagedArchive(
                f"{what}: {archive.name} unpacks to {info.file_size:,} bytes, more than {_RATIO} "
                "times its size; fetch it again"
            )
        _check_room(to, what, info.file_size)
        with file.open(info) as source:
            _copy(source, to, what, info.file_size)


def _find_member(archive: zipfile.ZipFile, member: str, what: str) -> zipfile.ZipInfo:
    """Return the only member whose path, or else whose name, matches a pattern."""
    infos = [info for info in archive.infolist() if not info.is_dir()]
    infos = [info for info in infos if not info.filename.startswith("__MACOSX")]
    base = member.rpartition("/")[2]
    matches = [info for info in infos if fnmatchcase(info.filename, member)]
    matches = matches or [i for i in infos if fnmatchcase(i.filename.rpartition("/")[2], base)]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(info.filename for info in infos[:8]) or "nothing"
    many = ", …" if len(infos) > 8 else ""
    raise WordbiasError(
        f"{what}: expected one {member} in the archive, found {len(matches)}; it holds "
        f"{names}{many}"
    )


def _gunzip(archive: Path, to: Path, what: str) -> None:
    """Write the content of a gzip file."""
    with _intact(archive, what), gzip.open(archive, "rb") as source:
        _copy(cast(IO[bytes], source), to, what, None, _RATIO * archive.stat().st_size + _CHUNK)


def _copy_file(file: Path, to: Path, what: str) -> None:
    """Copy a file with progress."""
    _check_room(to, what, file.stat().st_size)
    with file.open("rb") as source:
        _copy(source, to, what, file.stat().st_size)


def _copy(source: IO[bytes], to: Path, what: str, size: int | None, most: float = math.inf) -> None:
    done = 0
    with to.open("xb") as target, progress(f"{what}: unpacking", size) as bar:
        while chunk := source.read(_CHUNK):
            done += len(chunk)
            if done > most:
                raise DamagedArchive(
                    f"{what}: unpacks to more than {_RATIO} times its size; fetch it again"
                )
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
    """Turn the errors of a damaged archive into `DamagedArchive`."""
    try:
        yield
    except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DamagedArchive(
            f"{what}: {archive.name} is damaged or is no archive ({error}); fetch it again"
        ) from None
    except (NotImplementedError, RuntimeError) as error:
        raise DamagedArchive(f"{what}: {archive.name} cannot be unpacked: {error}") from None
