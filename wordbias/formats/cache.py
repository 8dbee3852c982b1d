"""Cache of parsed embeddings: text is parsed once and memory-mapped afterwards.

An entry holds a checksum of each of its blocks. They are verified once for each state of the entry
(inode, size, times of modification and change); a file beside the entry, ``….verified``, records
the state that was verified. Damage that changes none of these is not detected.

Others may write to the folder. Entries and notes count only if they are regular files, no links, of
a trusted owner, whom `wordbias.formats.files.is_trusted` knows, and writable by nobody else.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import ordered_map
from wordbias.errors import WordbiasError
from wordbias.formats import tensors
from wordbias.formats.files import is_trusted, remove_abandoned, replacing
from wordbias.formats.source import Source

_FORMAT = "2"  # version of the entries; raise it when parsing changes, so that no old one is used
_ENDS = 1 << 16
_HEADER = 1 << 14  # bytes: more than the description of an entry without its checksums
_BLOCK = 1 << 22  # bytes of a checksum
_DEFAULT_LIMIT = 20 << 30
_VERIFIED = ".verified"


@dataclass(frozen=True)
class Key:
    """Identity of a file's content, found without reading all of it."""

    name: str
    options: str
    size: int
    modified: int
    changed: int
    ends: str

    @classmethod
    def of(cls, source: Source, skip_bad: bool) -> Key:
        """Return the key of a file: its size, its times, and a hash of its first and last 64 kB."""
        path = Path(os.path.realpath(source.path))
        ends = hashlib.sha256()
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            ends.update(file.read(_ENDS))
            file.seek(max(0, status.st_size - _ENDS))
            ends.update(file.read(_ENDS))
        options = f"{_FORMAT} {source.member} {'skip-bad' if skip_bad else ''}"
        # the change time, where the system has one, also changes when the other times are reset
        changed = status.st_ctime_ns if sys.platform != "win32" else 0
        return cls(
            str(path), options, status.st_size, status.st_mtime_ns, changed, ends.hexdigest()
        )

    @property
    def entry(self) -> Path:
        """The entry for this path and these options, whatever the file's content was."""
        name = hashlib.sha256(f"{self.name}\0{self.options}".encode(errors="surrogateescape"))
        return folder() / f"{Path(self.name).name[:60]}-{name.hexdigest()[:16]}.safetensors"

    def describe(self) -> dict[str, str]:
        """Return the key as strings, which are stored in the entry."""
        return {f"key.{field}": str(value) for field, value in vars(self).items()}


class Entry(NamedTuple):
    """A file of the cache: its path, its size, its source and the time of its last use."""

    path: Path
    size: int
    source: str
    used: float


@cache
def _user_folder() -> Path:
    from platformdirs import user_cache_path

    return Path(user_cache_path("wordbias", appauthor=False), "vectors")


def folder() -> Path:
    """Return the folder of the cache: ``$WORDBIAS_CACHE``, or the user's cache folder."""
    named = os.environ.get("WORDBIAS_CACHE")
    return Path(named) if named else _user_folder()


def get(key: Key) -> tuple[list[str], NDArray[np.float32], dict[str, str]] | None:
    """Memory-map the entry of a key; None if there is none, or it is stale or damaged."""
    entry = key.entry
    try:
        state = trusted_state(entry)
        stored = tensors.metadata(entry)
        if any(stored.get(field) != value for field, value in key.describe().items()):
            return None
        words, vectors, stored = tensors.read(entry)
        verified = _verified(entry) == state
        if not verified and stored["checksums"] != _checksums(words, vectors, stored):
            return None
        if trusted_state(entry) != state:  # another process has replaced it
            return None
    except (OSError, WordbiasError, KeyError):
        return None
    with suppress(OSError, WordbiasError):  # the folder may be read-only
        if verified:
            os.utime(_note(entry))  # time of the last use; the entry itself stays untouched
        else:
            _mark_verified(entry, state)
    return words, vectors, stored


def put(
    key: Key, words: Sequence[str], vectors: NDArray[np.float32], description: dict[str, str]
) -> None:
    """Store an embedding; where that fails, such as on a full disk, go on without the cache."""
    described = {**description, **key.describe()}
    described["checksums"] = _checksums(words, vectors, described)
    size = vectors.nbytes + len(tensors.join_words(words)) + _HEADER + len(described["checksums"])
    if size > limit():
        return
    try:
        make_folder()
        _remove(key.entry)
        shrink(limit() - size)
        with replacing(key.entry, follow=False) as file:
            tensors.write(file, words, vectors, described)
            file.flush()
            _only_ours(file)
            written = os.fstat(file.fileno())
        with suppress(FileNotFoundError):  # another process removes it, to store its own
            state = trusted_state(key.entry)  # naming the file has changed its change time
            if state.startswith(_state_of(written, change=False)):
                _mark_verified(key.entry, state)
    except (OSError, WordbiasError) as error:
        import click

        click.echo(f"not cached, going on without: {error}", err=True)


def entries() -> list[Entry]:
    """List the cache, the most recently used first."""
    listing = []
    for path in folder().glob("*.safetensors"):
        try:
            source = tensors.metadata(path).get("key.name", "?")
            at = path.lstat()
        except (OSError, WordbiasError):
            if not path.exists():  # another process has removed it
                continue
            source, at = "(damaged)", path.lstat()
        used = at.st_mtime
        with suppress(OSError):  # not verified yet
            used = max(used, _note(path).stat().st_mtime)
        listing.append(Entry(path, at.st_size, source, used))
    return sorted(listing, key=lambda entry: -entry.used)


def shrink(size: int) -> list[Entry]:
    """Remove the least recently used entries until at most `size` bytes remain."""
    # Unfinished entries that killed processes left a day ago or earlier are removed too, and the
    # `.verified` files of entries that are gone.
    remove_abandoned(folder(), "*")
    for note in folder().glob(f"*{_VERIFIED}"):
        if not note.with_name(note.name.removesuffix(_VERIFIED)).exists():
            note.unlink(missing_ok=True)
    removed, total = [], 0
    for entry in entries():
        total += entry.size
        if total > size:
            _remove(entry.path)
            removed.append(entry)
    return removed


def limit() -> int:
    """Return the largest size of the cache in bytes: 20 GiB unless `set_limit` changed it."""
    try:
        return int((folder() / "limit").read_text())
    except (OSError, ValueError):
        return _DEFAULT_LIMIT


def set_limit(size: int) -> list[Entry]:
    """Set the largest size of the cache permanently; return the entries removed for it."""
    make_folder()
    with replacing(folder() / "limit", follow=False) as file:
        file.write(str(size).encode())
    return shrink(size)


def age(entry: Entry) -> float:
    """Return the days since an entry was last used."""
    return (time.time() - entry.used) / 86400


def _checksums(
    words: Sequence[str], vectors: NDArray[np.float32], described: Mapping[str, str]
) -> str:
    """Return a checksum of the description, of the words and of each block of the vectors."""
    about = repr(sorted(item for item in described.items() if item[0] != "checksums"))
    parts: Iterator[Any] = chain(
        [about.encode("utf-8", "surrogateescape"), tensors.join_words(words)], _blocks(vectors)
    )
    return " ".join(f"{crc:08x}" for crc in ordered_map(zlib.crc32, parts))


def _blocks(vectors: NDArray[np.float32]) -> Iterator[memoryview]:
    rows = max(1, _BLOCK // max(1, vectors[:1].nbytes))
    for start in range(0, len(vectors), rows):
        yield np.ascontiguousarray(vectors[start : start + rows]).data.cast("B")


def _note(entry: Path) -> Path:
    """Return the file that records the verified state of an entry."""
    return entry.with_name(entry.name + _VERIFIED)


def _verified(entry: Path) -> str:
    """Return the verified state of an entry; empty if there is none."""
    try:
        trusted_state(_note(entry))  # refuses a link and a file of others
        return _note(entry).read_text("ascii")
    except (OSError, ValueError):
        return ""


def _mark_verified(entry: Path, state: str) -> None:
    """Record the verified state of an entry."""
    with replacing(_note(entry), follow=False) as file:
        file.write(state.encode("ascii"))
        _only_ours(file)


def trusted_state(entry: Path) -> str:
    """Return the state of a file of the cache."""
    status = entry.lstat()
    writable = hasattr(os, "geteuid") and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not stat.S_ISREG(status.st_mode) or writable or not is_trusted(status):
        raise PermissionError(f"{entry}: is not used")
    return _state_of(status)


def _only_ours(file: IO[bytes]) -> None:
    """Let nobody else write to a file of the cache."""
    if os.chmod in os.supports_fd:
        os.chmod(file.fileno(), 0o644)


def make_folder() -> None:
    """Make the folder for this user alone; say once that others may write to one that is there."""
    place = folder()
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(mode=0o700, exist_ok=True)
    elif hasattr(os, "geteuid") and place.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        _say_loose(place)


@cache
def _say_loose(place: Path) -> None:
    import click

    click.echo(
        f"{place}: others may write to this cache; their entries are not used (see SECURITY.md)",
        err=True,
    )


def _state_of(status: os.stat_result, *, change: bool = True) -> str:
    changed = f"{status.st_ctime_ns}" if change else ""
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {changed}"


def _remove(entry: Path) -> None:
    entry.unlink(missing_ok=True)
    _note(entry).unlink(missing_ok=True)
