"""Where the bytes of an embedding come from: a file, possibly compressed, possibly in a zip."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from wordbias.accepting import named_file
from wordbias.errors import WordbiasError
from wordbias.formats.digest import Digest
from wordbias.formats.members import choose_member
from wordbias.lines import bounded_lines
from wordbias.progress import Bar, progress

DECOMPRESSION_ERRORS = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile)
ZIP_ERRORS = (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, struct.error)
"""What opening a damaged archive raises."""
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}
_OPENERS: dict[str, Any] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
CHUNK = 1 << 19


@dataclass(frozen=True)
class Source:
    """A readable file, its compression (``""``, gz, bz2, xz, zip) and the member inside a zip."""

    path: Path
    compression: str = ""
    member: str = ""

    @classmethod
    def find(cls, name: str | os.PathLike[str]) -> Source:
        """Find what `name` means: a path, or ``archive.zip::member``.

        Raises
        ------
        WordbiasError
            If there is no such file, it is a folder, empty or unreadable, or a zip needs a
            member named.
        """
        text, member = named_file(name), ""
        if not os.path.exists(text):
            text, _, member = text.partition("::")
        path = Path(text)
        if os.path.exists(text) and not (path.is_file() or path.is_dir()):
            raise WordbiasError(f"{path}: is not a regular file; vectors are read more than once")
        with _readable(path), path.open("rb") as file:
            head = file.read(8)
        if not head:
            raise WordbiasError(f"{path}: the file is empty")
        compression = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")
        if compression == "zip":
            member = choose_member(path, _members(path), member)
        elif member:
            raise WordbiasError(f"{path}: is not a zip archive, '::{member}' names nothing in it")
        return cls(path, compression, member)

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return f"{self.path}::{self.member}" if self.member else str(self.path)

    @property
    def stem(self) -> str:
        """The file's name without its folder and its suffixes, to name an embedding after."""
        base = Path(self.member).name if self.member else self.path.name
        for suffix in (".gz", ".bz2", ".xz", ".txt", ".vec", ".bin", ".kv", ".safetensors"):
            base = base.removesuffix(suffix)
        return base

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open for reading, decompressed; damage found while reading becomes one clear line."""
        with self._opened() as (file, _):
            yield file

    @contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Yield the decompressed file, and the file on disk for its position."""
        with _readable(self.path), self._intact(), ExitStack() as stack:
            raw = stack.enter_context(self.path.open("rb"))
            if self.compression == "zip":
                archive = stack.enter_context(zipfile.ZipFile(raw))
                yield stack.enter_context(archive.open(self.member)), raw
            elif self.compression:
                yield stack.enter_context(_OPENERS[self.compression](raw, "rb")), raw
            else:
                yield raw, raw

    @contextmanager
    def _intact(self) -> Iterator[None]:
        try:
            yield
        except DECOMPRESSION_ERRORS as error:
            raise self._damaged(error) from None
        except OSError as error:
            # bz2 gives no number; zip seeks to where its directory says, which may be nowhere
            if error.errno is not None and not (self.compression and error.errno == errno.EINVAL):
                raise
            raise self._damaged(error) from None
        except (NotImplementedError, RuntimeError) as error:
            if self.compression != "zip":
                raise
            raise WordbiasError(f"{self.name}: cannot be unpacked: {error}") from None

    def _damaged(self, error: Exception) -> WordbiasError:
        return WordbiasError(
            f"{self.name}: the compressed data is damaged or cut off ({error}); "
            "fetch or make the file again"
        )

    def head(self, size: int = 1 << 16) -> bytes:
        """Return the first `size` decompressed bytes."""
        with self.open() as file:
            return file.read(size)

    def chunks(self, what: str, digest: Digest | None = None) -> Iterator[bytes]:
        """Yield the decompressed bytes in order, with progress, hashing the file as it is read."""
        with self._opened() as (file, raw), progress(what, self.path.stat().st_size) as bar:
            counted = _position(raw, bar)
            while chunk := file.read(CHUNK):
                if digest is not None and not self.compression:
                    digest.update(chunk)
                counted()
                yield chunk
        if digest is not None and self.compression:
            with self.path.open("rb") as packed:
                while chunk := packed.read(CHUNK):
                    digest.update(chunk)

    def lines(self, what: str, longest: int, digest: Digest | None = None) -> Iterator[bytes]:
        """Yield the decompressed bytes in chunks of whole lines; the last gets its line feed.

        Raises
        ------
        WordbiasError
            While a line of more than `longest` bytes is read, with its number.
        """
        held: list[bytes] = []
        size, line = 0, 1
        for chunk in self.chunks(what, digest):
            first, end = chunk.find(b"\n"), chunk.rfind(b"\n") + 1
            if held or not end:
                size += first if end else len(chunk)
                if size > longest:
                    raise self.too_long(line, longest)
            if not end:
                held.append(chunk)
                continue
            line += chunk.count(b"\n")
            yield b"".join([*held, chunk[:end]])
            held = [chunk[end:]]
            size = len(held[0])
        if rest := b"".join(held):
            yield rest + b"\n"

    def text_lines(self, what: str) -> Iterator[bytes]:
        """Yield the lines of a text, with their ends, with progress; see `bounded_lines`."""
        with self._opened() as (file, raw), progress(what, self.path.stat().st_size) as bar:
            counted = _position(raw, bar)
            for i, line in enumerate(bounded_lines(file, self.name)):
                if i % 1024 == 0:
                    counted()
                yield line

    def too_long(self, line: int, longest: int) -> WordbiasError:
        """Return the error of a line of more than `longest` bytes."""
        return WordbiasError(
            f"{self.name}: line {line}: is over {longest:,} bytes long, where one word and its "
            "values were expected; is that a file of vectors, with a line for each word?"
        )


def _position(raw: IO[bytes], bar: Bar) -> Any:
    """Return a function that moves the bar to how far the file on disk has been read."""
    done = 0

    def move() -> None:
        nonlocal done
        now = raw.tell()
        bar.update(now - done)
        done = now

    return move


def _members(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return [info.filename for info in archive.infolist() if not info.is_dir()]
    except ZIP_ERRORS as error:
        raise WordbiasError(
            f"{path}: the zip archive is damaged or cut off ({error}); fetch it again"
        ) from None


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        if error.filename is None or Path(error.filename) != path:
            raise
        raise WordbiasError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise WordbiasError(f"{path}: is a folder; name the file with the vectors in it") from None
    except PermissionError as error:
        if error.filename is None or Path(error.filename) != path:
            raise
        raise WordbiasError(f"{path}: may not be read (permission denied)") from None
    except OSError as error:
        if error.filename is None or Path(error.filename) != path:
            raise
        raise WordbiasError(f"{path}: cannot be read: {error.strerror}") from None
