"""The parse cache: text parsed once, memory-mapped afterwards."""

from __future__ import annotations

import hashlib
import os
import sys
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats import tensors
from wordbias.formats.atomic import remove_abandoned, replacing
from wordbias.formats.source import Source

_FORMAT = "1"  # of what is stored; raise it when parsing changes, and old entries are not used
_ENDS = 1 << 16
_HEADER = 1 << 14  # more than the description of an entry takes
_DEFAULT_LIMIT = 20 << 30


@dataclass(frozen=True)
class Key:
    """What identifies the content of a file without reading all of it."""

    name: str
    options: str
    size: int
    modified: int
    changed: int
    ends: str

    @classmethod
    def of(cls, source: Source, skip_bad: bool) -> Key:
        """Look at the file: its size, its times, and a hash of its first and last 64 kB."""
        path = Path(os.path.realpath(source.path))
        ends = hashlib.sha256()
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            ends.update(file.read(_ENDS))
            file.seek(max(0, stat.st_size - _ENDS))
            ends.update(file.read(_ENDS))
        options = f"{_FORMAT} {source.member} {'skip-bad' if skip_bad else ''}"
        # the change time, where the system has one, also sees edits that reset the other times
        changed = stat.st_ctime_ns if sys.platform != "win32" else 0
        return cls(str(path), options, stat.st_size, stat.st_mtime_ns, changed, ends.hexdigest())

    @property
    def entry(self) -> Path:
        """The file of the cache for this path and these options, whatever its content was."""
        name = hashlib.sha256(f"{self.name}\0{self.options}".encode(errors="surrogateescape"))
        return folder() / f"{Path(self.name).name[:60]}-{name.hexdigest()[:16]}.safetensors"

    def describe(self) -> dict[str, str]:
        """Return the key as strings, to be stored in the entry and compared."""
        return {f"key.{field}": str(value) for field, value in vars(self).items()}


class Entry(NamedTuple):
    """One file of the cache: where it is, its size, its source and when it was last used."""

    path: Path
    size: int
    source: str
    used: float


@cache
def _user_folder() -> Path:
    from platformdirs import user_cache_path

    return Path(user_cache_path("wordbias", appauthor=False), "vectors")


def folder() -> Path:
    """Return the cache's folder: ``$WORDBIAS_CACHE``, or the user's own for caches."""
    named = os.environ.get("WORDBIAS_CACHE")
    return Path(named) if named else _user_folder()


def get(key: Key) -> tuple[list[str], NDArray[np.float32], dict[str, str]] | None:
    """Map what was stored under `key`; None if there is nothing, or it is stale or damaged."""
    try:
        stored = tensors.metadata(key.entry)
        if any(stored.get(field) != value for field, value in key.describe().items()):
            return None
        words, vectors, stored = tensors.read(key.entry)
        if stored["check"] != _check(words, vectors):
            return None
        os.utime(key.entry)
    except (OSError, WordbiasError, KeyError):
        return None
    return words, vectors, stored


def put(key: Key, words: Sequence[str], vectors: NDArray[np.float32], kept: dict[str, str]) -> None:
    """Store an embedding; a full disk or a read-only folder is no failure, only no cache."""
    described = {**kept, **key.describe(), "check": _check(words, vectors)}
    size = vectors.nbytes + len(tensors.join_words(words)) + _HEADER
    if size > limit():
        return
    try:
        folder().mkdir(parents=True, exist_ok=True)
        key.entry.unlink(missing_ok=True)
        shrink(limit() - size)
        with replacing(key.entry) as file:
            tensors.write(file, words, vectors, described)
    except (OSError, WordbiasError) as error:
        import click

        click.echo(f"not cached, going on without: {error}", err=True)


def entries() -> list[Entry]:
    """List the cache, the most recently used first."""
    found = []
    for path in folder().glob("*.safetensors"):
        try:
            source = tensors.metadata(path).get("key.name", "?")
            stat = path.stat()
        except (OSError, WordbiasError):
            if not path.exists():  # another process has removed it
                continue
            source, stat = "(damaged)", path.lstat()
        found.append(Entry(path, stat.st_size, source, stat.st_mtime))
    return sorted(found, key=lambda entry: -entry.used)


def shrink(size: int) -> list[Entry]:
    """Remove the least recently used entries until at most `size` bytes remain.

    Half entries that killed processes left a day ago or earlier go, too.
    """
    remove_abandoned(folder(), "*")
    removed, total = [], 0
    for entry in entries():
        total += entry.size
        if total > size:
            entry.path.unlink(missing_ok=True)
            removed.append(entry)
    return removed


def limit() -> int:
    """Return the largest size of the cache in bytes: what was set, by default 20 GB."""
    try:
        return int((folder() / "limit").read_text())
    except (OSError, ValueError):
        return _DEFAULT_LIMIT


def set_limit(size: int) -> list[Entry]:
    """Set the largest size of the cache, now and from now on; return what had to go."""
    folder().mkdir(parents=True, exist_ok=True)
    with replacing(folder() / "limit") as file:
        file.write(str(size).encode())
    return shrink(size)


def age(entry: Entry) -> float:
    """Days since an entry was last used."""
    return (time.time() - entry.used) / 86400


def _check(words: Sequence[str], vectors: NDArray[Any]) -> str:
    """Return a checksum that sees damage without reading a matrix of gigabytes."""
    some = np.ascontiguousarray(vectors[:: max(1, len(vectors) // 256)])
    return f"{zlib.crc32(tensors.join_words(words)):08x}{zlib.crc32(some.data):08x}"
