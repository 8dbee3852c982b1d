"""Where fetched data is kept: a folder for each resource, put there in one step.

``DATA/NAME/`` holds the files and ``.fetched.json``, which says where they came from and what was
sent. ``DATA/.downloads/`` holds what is on its way.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import overload

from wordbias.errors import WordbiasError
from wordbias.resources.catalogue import Resource, catalogue, resembling

_RECORD = ".fetched.json"
_LIKE_A_PATH = re.compile(r"[/\\:]|\.[A-Za-z]{2,}$")
_SURE = 0.75


@dataclass(frozen=True)
class Record:
    """What was fetched.

    Attributes
    ----------
    url
        Of the catalogue.
    origin
        Where it came from in truth: that URL, one of a mirror, or a file.
    sha256
        Of each download, in the order of the catalogue's URLs.
    fetched
        The day.
    files
        Bytes of every file, by its path in the folder.
    """

    url: str
    origin: str
    sha256: tuple[str, ...]
    fetched: str
    files: dict[str, int] = field(default_factory=dict)


def folder() -> Path:
    """Return the folder of all data: ``$WORDBIAS_DATA``, or the user's own for data."""
    named = os.environ.get("WORDBIAS_DATA")
    if named:
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("wordbias", appauthor=False)


def place(resource: Resource) -> Path:
    """Return the path of the file, or of the folder, that commands are given."""
    home = folder() / resource.name
    return home if resource.is_folder or not resource.files else home / resource.files[0]


def recorded(resource: Resource) -> Record | None:
    """Return what an earlier call wrote down, whether or not the files are still there."""
    if not resource.urls:
        return None
    try:
        found = json.loads((folder() / resource.name / _RECORD).read_text(encoding="utf-8"))
        record = Record(**{**found, "sha256": tuple(found["sha256"])})
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return record if record.url == resource.urls[0] else None


def state(resource: Resource) -> Record | None:
    """Return the record of a resource whose files are all there, with the sizes they had."""
    record = recorded(resource)
    if record is None or not record.files:
        return None
    home = folder() / resource.name
    whole = all(_size(home / name) == size for name, size in record.files.items())
    return record if whole else None


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


@overload
def located(name: str) -> str: ...
@overload
def located(name: None) -> None: ...
def located(name: str | None) -> str | None:
    """Return the path that `name` means: itself if there is such a path, else fetched data.

    None, an option that was not given, stays None.

    Raises
    ------
    WordbiasError
        If it is a name of the catalogue that has not been fetched, or stands for several; if it
        is no path, but resembles a name.
    """
    if name is None or os.path.exists(name):
        return name
    resource = catalogue().get(name)
    if resource is None:
        members = [r.name for r in catalogue().values() if r.group == name]
        if members:
            raise WordbiasError(f"{name}: stands for {', '.join(members)}; name one of them")
        return _path(name)
    if resource.how:
        raise WordbiasError(f"{name}: cannot be fetched: {resource.how}")
    if state(resource) is None:
        raise WordbiasError(
            f"{name}: there is no such file, and the data of that name is not fetched yet; run: "
            f"wordbias fetch {name}"
        )
    return str(place(resource))


def _path(name: str) -> str:
    """Return what is no name of the catalogue, unless it looks as if it were meant to be one."""
    meant = "" if _LIKE_A_PATH.search(name) else resembling(name, catalogue(), _SURE)
    if meant:
        raise WordbiasError(f"{name}: there is no such file, nor are data of that name{meant}")
    return name


@contextmanager
def replacing_folder(resource: Resource) -> Iterator[Path]:
    """Fill a folder that takes the resource's place only when it is complete.

    What an earlier process left half-done is cleared first.
    """
    from wordbias.formats.files import (
        rename,
        sync_folder,  # loads numpy, which Tab must not
    )

    clear_unfinished(resource)
    home, new, old = _places(resource)
    try:
        new.mkdir(parents=True)
        yield new
        sync_folder(new)
        if home.exists():
            os.replace(home, old)
        rename(new, home)
    finally:
        for leftover in (new, old):
            shutil.rmtree(leftover, ignore_errors=True)


def clear_unfinished(resource: Resource) -> None:
    """Remove what a killed process left beside the resource's place; put back what was there."""
    from wordbias.formats.files import rename  # loads numpy, which Tab must not

    home, new, old = _places(resource)
    if old.exists() and not home.exists():
        rename(old, home)
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)


def _places(resource: Resource) -> tuple[Path, Path, Path]:
    """Return the folder of a resource, and where its next and its last content stand meanwhile."""
    home = folder() / resource.name
    return home, home.with_name(f".{home.name}.new"), home.with_name(f".{home.name}.old")


def write_record(record: Record, at: Path) -> None:
    """Write a record into the folder of its files."""
    (at / _RECORD).write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")
