"""Hashes of files."""

from __future__ import annotations

import hashlib
import os
from typing import Protocol


class Digest(Protocol):
    """A hash that grows while a file is read, such as ``hashlib.sha256()``."""

    def update(self, data: bytes, /) -> None:
        """Add the next bytes of the file."""


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the hash of a whole file."""
    return hash_of(path, "sha256")


def hash_of(path: str | os.PathLike[str], algorithm: str) -> str:
    """Return the hash of a whole file by an algorithm of `hashlib`."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()
