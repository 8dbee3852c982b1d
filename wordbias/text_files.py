"""Lines of text files, with a limit on their length.

A line that is too long is refused while it is read: after a few megabytes its end is searched
before it is held in memory whole.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
from collections.abc import Callable, Iterator
from typing import IO, Any

from wordbias.errors import WordbiasError

LONGEST = 64_000_000
"""Default limit of a line in bytes; see `set_longest_line`."""
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""Functions that open a compressed file, by suffix; others are opened by `open`."""
HELD = 1 << 22
"""Bytes of a line that are read before its length is checked."""
STEP = 1 << 18
"""Bytes that are read at a time while the end of a longer line is searched."""
_longest = LONGEST
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def parse_size(text: str) -> int:
    """Return the bytes of a size such as 500MB or 20G.

    Raises
    ------
    WordbiasError
        If it is no size, or has no unit.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?B|[KMGT])", text.strip().upper())
    if match is None:
        raise WordbiasError(f"{text!r}: expected a size with its unit, such as 500MB or 20G")
    return int(float(match[1]) * _UNITS[match[2].removesuffix("B")])


def set_longest_line(size: int | None) -> None:
    """Set the limit of a line in bytes for the whole process; None for `LONGEST`."""
    global _longest
    _longest = LONGEST if size is None else size


def longest_line() -> int:
    """Return the limit of a line in bytes."""
    return _longest


def read_bounded(path: str | os.PathLike[str], opener: Callable[..., Any] = open) -> bytes:
    """Read a whole file; `opener` is one of `OPENERS` if it is compressed.

    Raises
    ------
    WordbiasError
        If one of its lines is too long.
    OSError, EOFError, zlib.error, lzma.LZMAError
        If it cannot be read.
    """
    with opener(path, "rb") as stream:
        if not stream.seekable():  # a pipe
            return b"".join(bounded_lines(stream, path))
        _check_lines(stream, path)
        stream.seek(0)
        data: bytes = stream.read()
        return data


def bounded_lines(stream: IO[bytes], name: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield the lines of a file, with their ends; the last may have none.

    Parameters
    ----------
    stream
        Open for reading bytes.
    name
        Name of the file in messages.

    Raises
    ------
    WordbiasError
        If a line is too long.
    """
    number, held = 0, HELD if stream.seekable() else _longest + 2
    while line := stream.readline(held):
        number += 1
        if len(line) == HELD and not line.endswith(b"\n"):
            start = stream.tell() - len(line)
            size = len(line)
            del line  # free the memory while the end is searched
            while part := stream.readline(STEP):
                size += len(part)
                check_length(size - part.endswith(b"\n"), number, name)
                if part.endswith(b"\n"):
                    break
            stream.seek(start)
            line = stream.readline(size)
        check_length(len(line) - line.endswith(b"\n"), number, name)
        yield line


def _check_lines(stream: IO[bytes], name: str | os.PathLike[str]) -> None:
    """Refuse lines that are too long, without holding one in memory."""
    number, size = 1, 0
    while part := stream.readline(STEP):
        ended = part.endswith(b"\n")
        size += len(part) - ended
        check_length(size, number, name)
        if ended:
            number, size = number + 1, 0


def check_length(size: int, number: int, name: str | os.PathLike[str]) -> None:
    """Refuse a record of `size` bytes that begins at line `number`, if it is too long."""
    if size > _longest:
        raise WordbiasError(
            f"{os.fspath(name)}: line {number}: is over {_longest:,} bytes long; is that a text "
            "with a record on each line? A higher limit can be given with --longest-line"
        )
