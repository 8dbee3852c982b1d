"""Data folder: one folder for each fetched resource, replaced atomically.

``DATA/NAME/`` holds the files and ``.fetched.json``, the record of their origin and hashes.
``DATA/.downloads/`` holds unfinished downloads.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import overload

from wordbias.errors import WordbiasError
from wordbias.resources.catalogue import Resource, catalogue, resembling
from wordbias.resources.hub import fetched, is_address

_RECORD = ".fetched.json"
_LIKE_A_PATH = re.compile(r"[/\\:]|\.[A-Za-z]{2,}$")
_SIMILARITY = 0.75


@dataclass(frozen=True)
class Record:
    """Record of a fetched resource."""

    url: str
    origin: str  # the actual source: that URL, one of a mirror, or a file
    sha256: tuple[str, ...]  # hash of each download, in the order of the catalogue's URLs
    fetched: str
    # size in bytes of every file, by its path in the folder
    files: dict[str, int] = field(default_factory=dict)


def folder() -> Path:
    """Return the folder of all data: ``$WORDBIAS_DATA``, or the user's data folder."""
    named = os.environ.get("WORDBIAS_DATA")
    if named:
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("wordbias", appauthor=False)


def place(resource: Resource) -> Path:
    """Return the path of the file, or of the folder, of a resource."""
    target = folder() / resource.name
    return target if resource.is_folder or not resource.files else target / resource.files[0]


def recorded(resource: Resource) -> Record | None:
    """Return the record of an earlier download, even if its files are gone; None without one."""
    if not resource.urls:
        return None
    try:
        fields = json.loads((folder() / resource.name / _RECORD).read_text(encoding="utf-8"))
        record = Record(**{**fields, "sha256": tuple(fields["sha256"])})
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return record if record.url == resource.urls[0] else None


def available(resource: Resource) -> Record | None:
    """Return the record of a resource whose files are all there in their sizes; else None."""
    record = recorded(resource)
    if record is None or not record.files:
        return None
    target = folder() / resource.name
    whole = all(
        _size(target / name) == size and _is_usable(target / name, resource)
        for name, size in record.files.items()
    )
    return record if whole else None


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _is_usable(path: Path, resource: Resource) -> bool:
    """Return whether a file is this user's, of a trusted owner, or has its published hash."""
    # Files that were taken out of an archive have no published hash.
    status = path.stat()
    if not hasattr(os, "geteuid") or status.st_uid in (0, os.geteuid()):
        return True
    from wordbias.formats.files import is_trusted  # needs numpy; completion does not

    if is_trusted(status):
        return True
    state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    is_download = not (resource.member or resource.gunzip) and len(resource.urls) == 1
    return bool(is_download and resource.hash) and _has_hash(path, resource.hash, state)


@cache
def _has_hash(path: Path, expected: str, state: tuple[int, ...]) -> bool:
    """Return whether a file in this state has a hash."""
    from wordbias.formats.source import hash_of

    algorithm, _, digest = expected.partition(":")
    return hash_of(path, algorithm) == digest


@overload
def located(name: str) -> str: ...
@overload
def located(name: None) -> None: ...
def located(name: str | None) -> str | None:
    """Return the path that a name means: the name itself if that path exists, else fetched data."""
    # None, for an option that is not given, stays None.
    if name is None or os.path.exists(name):
        return name
    if is_address(name):
        return fetched(name)
    resource = catalogue().get(name)
    if resource is None:
        members = [r.name for r in catalogue().values() if r.group == name]
        if members:
            raise WordbiasError(f"{name}: stands for {', '.join(members)}; name one of them")
        similar = "" if _LIKE_A_PATH.search(name) else resembling(name, catalogue(), _SIMILARITY)
        if similar:
            raise WordbiasError(
                f"{name}: there is no such file, nor are data of that name{similar}"
            )
        return name
    if resource.how:
        raise WordbiasError(f"{name}: cannot be fetched: {resource.how}")
    if available(resource) is None:
        raise WordbiasError(
            f"{name}: there is no such file, and the data of that name is not fetched yet; run: "
            f"wordbias fetch {name}"
        )
    return str(place(resource))


@contextmanager
def replacing_folder(resource: Resource) -> Iterator[Path]:
    """Fill a folder that replaces the resource's folder only when it is complete."""
    # Unfinished folders of an earlier process are removed first.
    from wordbias.formats.files import rename, sync_folder  # needs numpy; completion does not

    clear_unfinished(resource)
    target, new, old = _places(resource)
    try:
        new.mkdir(parents=True)
        yield new
        sync_folder(new)
        if target.exists():
            os.replace(target, old)
        rename(new, target)
    finally:
        for leftover in (new, old):
            shutil.rmtree(leftover, ignore_errors=True)


def clear_unfinished(resource: Resource) -> None:
    """Remove the unfinished folders of a killed process; restore the folder it was replacing."""
    from wordbias.formats.files import rename  # needs numpy; completion does not

    target, new, old = _places(resource)
    if old.exists() and not target.exists():
        rename(old, target)
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)


def _places(resource: Resource) -> tuple[Path, Path, Path]:
    """Return the folder of a resource, and those of its next and previous content meanwhile."""
    target = folder() / resource.name
    return target, target.with_name(f".{target.name}.new"), target.with_name(f".{target.name}.old")


def write_record(record: Record, into: Path) -> None:
    """Write a record into the folder of its files."""
    (into / _RECORD).write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")
