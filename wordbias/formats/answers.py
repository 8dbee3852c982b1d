"""Vectors of texts that an encoder elsewhere has answered, kept in the cache of wordbias.

An answer may have cost money: each is on the disk as soon as it has arrived, and only `clear`
removes any. Processes may share the file of SQLite.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats import cache

Float32 = NDArray[np.float32]
_STORED = np.dtype("<f4")
_WAIT = 60.0
"""Seconds to wait for another process that writes."""
_FORMAT = 1
_ENDING = ".answers"


class Answers:
    """Kept answers of one encoder."""

    name: str
    path: Path

    def __init__(self, name: str) -> None:
        self.name = name
        plain = re.sub(r"\W+", "-", name).strip("-")[-60:]
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        self.path = _folder() / f"{plain}-{digest[:16]}{_ENDING}"

    def get(self, texts: Sequence[str]) -> dict[int, Float32]:
        """Return the kept vectors, by the places of their texts; none that is damaged."""
        if not self.path.exists():
            return {}
        vectors: dict[int, Float32] = {}
        with self._open() as file:
            for place, text in enumerate(texts):
                cursor = file.execute("SELECT vector FROM answers WHERE text = ?", (_key(text),))
                if (row := cursor.fetchone()) is not None and len(row[0]) % _STORED.itemsize == 0:
                    vector = np.frombuffer(row[0], _STORED).astype(np.float32)
                    if len(vector) and np.isfinite(vector).all():
                        vectors[place] = vector
        return vectors

    def put(self, texts: Sequence[str], vectors: Float32) -> None:
        """Keep the vectors of texts, shape ``(n, d)``."""
        rows = (
            (_key(text), np.ascontiguousarray(row, _STORED).tobytes())
            for text, row in zip(texts, vectors, strict=True)
        )
        with self._open() as file, file:
            file.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file, which is made if there is none."""
        try:
            cache.make_folder()
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            follow_none = getattr(os, "O_NOFOLLOW", 0)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | follow_none, 0o600))
            cache.trusted_state(self.path)
            with closing(sqlite3.connect(self.path, timeout=_WAIT)) as file:
                if file.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
                    with file:
                        file.execute("CREATE TABLE IF NOT EXISTS encoder (name TEXT)")
                        file.execute(
                            "CREATE TABLE IF NOT EXISTS answers (text BLOB PRIMARY KEY, "
                            "vector BLOB NOT NULL)"
                        )
                        file.execute("INSERT INTO encoder VALUES (?)", (self.name,))
                        file.execute(f"PRAGMA user_version = {_FORMAT}")
                yield file
        except (OSError, sqlite3.Error) as error:
            raise WordbiasError(
                f"{self.path}: the kept answers of {self.name} cannot be used: {error}; mend that, "
                "remove the file, or ask without it: --no-cache"
            ) from None


def entries() -> list[cache.Entry]:
    """List the files of answers, the most recently used first."""
    answer_files = []
    for path in _folder().glob(f"*{_ENDING}"):
        at = path.lstat()
        answer_files.append(cache.Entry(path, at.st_size, _name_in(path), at.st_mtime))
    return sorted(answer_files, key=lambda entry: -entry.used)


def clear() -> list[cache.Entry]:
    """Remove all answers; return what was removed."""
    removed = entries()
    for entry in removed:
        entry.path.unlink(missing_ok=True)
    return removed


def _folder() -> Path:
    return cache.folder() / "answers"


def _name_in(path: Path) -> str:
    """Return the name of the encoder whose answers a file has."""
    try:
        cache.trusted_state(path)
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            (name,) = file.execute("SELECT name FROM encoder").fetchone()
            return f"answers of {name}"
    except (OSError, sqlite3.Error, TypeError):
        return "(damaged)"


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
