"""Text files that are read whole or line by line, with a limit on the length of a line."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import IO, Any, NamedTuple

from wordbias.arguments import named_file
from wordbias.errors import WordbiasError

LONGEST = 64_000_000
"""Default limit of a line in bytes; see `set_longest_line`."""
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""Functions that open a compressed file, by suffix; others are opened by `open`."""
HELD = 1 << 22
"""Bytes of a line that are read before its length is checked."""
WAIT = 10
"""Seconds that a pipe is waited for until something opens it for writing."""
STEP = 1 << 18
"""Bytes that are read at a time while the end of a longer line is searched."""
_longest = LONGEST
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def without_packing(name: str) -> str:
    """Return the name of a file without the ending of its compression."""
    stem, ending = os.path.splitext(name)
    return stem if ending.lower() in OPENERS else name


def parse_size(text: str) -> int:
    """Return the bytes of a size such as 500MB or 20G."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?B|[KMGT])", text.strip().upper())
    if match is None:
        raise WordbiasError(f"{text!r}: expected a size with its unit, such as 500MB or 20G")
    size = float(match[1]) * _UNITS[match[2].removesuffix("B")]
    if size >= 1 << 63:
        raise WordbiasError(f"{text!r}: expected a size of at most 9223372TB")
    return round(size)


def set_longest_line(size: int | None) -> None:
    """Set the limit of a line in bytes for the whole process; None for `LONGEST`."""
    global _longest
    _longest = LONGEST if size is None else size


def longest_line() -> int:
    """Return the limit of a line in bytes."""
    return _longest


def check_regular(path: str | os.PathLike[str]) -> None:
    """Refuse a pipe or a device where a file is read more than once."""
    # Waiting for its content, or its end, could take for ever.
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise WordbiasError(
            f"{path}: is not a regular file, and is read more than once; write it to one first"
        )


@contextmanager
def opened(path: str | os.PathLike[str], opener: Callable[..., Any] = open) -> Iterator[IO[bytes]]:
    """Open a file that is read once and may be a pipe, such as of ``<(command)``."""
    name = named_file(path)
    mode = os.stat(name).st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise WordbiasError(f"{name}: is a device, which may have no end; give a file or a pipe")
    with _pipe(name) if stat.S_ISFIFO(mode) else Path(name).open("rb") as source:
        if opener is open:
            yield source
        else:
            with opener(source, "rb") as stream:
                yield stream


def _pipe(path: str) -> IO[bytes]:
    """Open a pipe when something has opened it for writing, which is not waited for long."""
    pipes: list[IO[bytes]] = []
    waiting = Thread(target=lambda: pipes.append(Path(path).open("rb")), daemon=True)  # noqa: SIM115
    waiting.start()
    waiting.join(WAIT)
    if waiting.is_alive():
        os.close(os.open(path, os.O_RDWR))  # the thread goes on
        waiting.join()
        pipes[0].close()
        raise WordbiasError(
            f"{path}: is a pipe to which nothing has been written for {WAIT} seconds; start what "
            "writes to it first, or give a file"
        )
    return pipes[0] if pipes else Path(path).open("rb")  # which raises again what the thread met


def read_bounded(path: str | os.PathLike[str], opener: Callable[..., Any] = open) -> bytes:
    """Read a whole file; `opener` is one of `OPENERS` if it is compressed."""
    with opened(path, opener) as stream:
        if not stream.seekable():  # a pipe
            return b"".join(bounded_lines(stream, path))
        _check_lines(stream, path)
        stream.seek(0)
        data: bytes = stream.read()
        return data


def bounded_lines(stream: IO[bytes], name: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield the lines of a file, with their ends; the last may have none."""
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


# text that people edit: read whole, with errors that name the line


class Source(NamedTuple):
    """The text of a file, and the hash of its uncompressed bytes."""

    path: str
    text: str
    sha256: str


def read_text(path: str | os.PathLike[str]) -> Source:
    """Read UTF-8 text, which may be compressed (.gz, .bz2, .xz)."""
    file = Path(path)
    try:
        data = read_bounded(file, OPENERS.get(file.suffix.lower(), open))
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise WordbiasError(f"{path}: cannot be read: {reason}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WordbiasError(
            f"{path}: line {line}: is not UTF-8 (byte {data[error.start : error.start + 1]!r}); "
            "convert the file"
        ) from None
    return Source(str(path), text, hashlib.sha256(data).hexdigest())
