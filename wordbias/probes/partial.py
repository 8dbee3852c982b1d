"""A file of representations while it is being filled, and the note of how far it has come.

It has the bytes that the finished file will have, vectors of zero where a text is still to be
encoded; its note, ``FILE.json``, says how many have been.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.formats.atomic import rename, replacing, sync_file
from wordbias.probes.provenance import check_same
from wordbias.probes.representations import Representations
from wordbias.probes.storage import header

Vectors = np.memmap[Any, np.dtype[np.float32]]


@dataclass(frozen=True, eq=False)
class Partial:
    """A file that is being filled.

    Attributes
    ----------
    path
        Where it is.
    wanted
        What it will hold; of the vectors only the shape matters.
    """

    path: Path
    wanted: Representations = field(repr=False)

    @property
    def note(self) -> Path:
        """The file that says how many texts are encoded."""
        return self.path.with_name(f"{self.path.name}.json")

    def begin(self) -> int:
        """Make the file, or find how many texts are encoded in it.

        Raises
        ------
        WordbiasError
            If there is a file of something else, or the disk is full.
        """
        if self.path.exists():
            check_same(self.path, self.wanted)
            return noted(self.note, self.wanted.vectors.shape[-2])
        self.note.unlink(missing_ok=True)
        head = header(self.wanted)
        with replacing(self.path) as file:
            file.write(head)
            _reserve(file, len(head) + self.wanted.vectors.size * 4)
            for column in self.wanted.columns.values():
                file.write(np.ascontiguousarray(column.codes, np.int32).data)
        return 0

    def vectors(self) -> Vectors:
        """Map the vectors, to be written."""
        shape = self.wanted.vectors.shape
        return np.memmap(self.path, np.float32, "r+", len(header(self.wanted)), shape)

    def save(self, vectors: Vectors, done: int) -> None:
        """Bring the vectors to the disk, then say that they are there."""
        vectors.flush()
        with replacing(self.note) as file:
            file.write(json.dumps({"done": done}).encode())

    def finish(self, target: Path) -> None:
        """Give the file its name."""
        with self.path.open("r+b") as file:
            sync_file(file)
        rename(self.path, target)
        self.note.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the file and its note."""
        self.note.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


def noted(note: Path, rows: int) -> int:
    """Return how many texts are encoded, of at most as many as there are rows.

    Raises
    ------
    WordbiasError
        If the note is damaged.
    """
    try:
        done = int(json.loads(note.read_bytes())["done"])
        if 0 <= done <= rows:
            return done
        raise ValueError
    except FileNotFoundError:  # stopped before anything was said to be there
        return 0
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise WordbiasError(f"{note}: is damaged; remove it") from None


def _reserve(file: IO[bytes], size: int) -> None:
    """Take the room on the disk now, for a map of a file whose disk is full kills the process."""
    if hasattr(os, "posix_fallocate"):
        file.flush()
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        zeros = bytes(1 << 20)
        while file.tell() < size:
            file.write(zeros[: size - file.tell()])
    file.seek(size)
