"""Fetching: one download at a time, verified, unpacked, put in its place in one step."""

from __future__ import annotations

import datetime
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.formats.alone import alone
from wordbias.resources import storage
from wordbias.resources.catalogue import Resource, catalogue
from wordbias.resources.obtaining import Got, Ways, obtain
from wordbias.resources.storage import Record
from wordbias.resources.unpacking import Damaged, copy, gunzip, unzip


@dataclass(frozen=True)
class Fetched:
    """A resource that is there now; `new` says whether this call fetched it."""

    resource: Resource
    path: Path
    record: Record
    new: bool


def fetch(resources: Sequence[Resource], ways: Ways | None = None) -> Iterator[Fetched]:
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
        yield from _fetch_group(wanted, ways or Ways())


def _fetch_group(wanted: Sequence[Resource], ways: Ways) -> Iterator[Fetched]:
    first = wanted[0]
    if first.how:
        raise WordbiasError(f"{first.name}: cannot be fetched: {first.how}")
    with _writing(first.group):
        new = _bring(wanted, ways) if _missing(wanted, ways) else {}
    for resource in wanted:
        record = new.get(resource.name) or storage.state(resource)
        if record is None:
            raise WordbiasError(
                f"{resource.name}: was removed while it was fetched; fetch it again"
            )
        yield Fetched(resource, storage.place(resource), record, resource.name in new)


def _missing(wanted: Sequence[Resource], ways: Ways) -> list[Resource]:
    return [r for r in wanted if ways.again or storage.state(r) is None]


def _bring(wanted: Sequence[Resource], ways: Ways) -> dict[str, Record]:
    """Download once what the resources of a group are made of, and put them in their places."""
    first = wanted[0]
    with _downloads(first.group) as downloads:
        missing = _missing(wanted, ways)  # another process may have been quicker
        if not missing:
            return {}
        got = [obtain(first, i, downloads, ways) for i in range(len(first.urls))]
        new = {resource.name: _put(resource, got) for resource in missing}
        if not ways.keep:
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
            stack.enter_context(alone(downloads))
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
        with suppress(WordbiasError), alone(left):  # which removes the lock, if it was nobody's
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
