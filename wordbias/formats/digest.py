"""The hash of a file, taken while it is read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


class Digest:
    """A sha256 that grows while a file is read."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, data: bytes) -> None:
        """Add the next bytes of the file."""
        self._hash.update(data)

    def read(self, path: Path) -> None:
        """Add a whole file."""
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                self._hash.update(chunk)

    def hex(self) -> str:
        """Return the hash of what was added, in hexadecimal."""
        return self._hash.hexdigest()


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the hash of a whole file."""
    digest = Digest()
    digest.read(Path(path))
    return digest.hex()
