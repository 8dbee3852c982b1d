"""Input files as bytes: plain, compressed or in a zip archive; their hashes and their encoding."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from wordbias.arguments import named_file
from wordbias.errors import WordbiasError, listed
from wordbias.progress import Bar, progress
from wordbias.text_files import bounded_lines, check_regular

DECOMPRESSION_ERRORS = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile)
ZIP_ERRORS = (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, struct.error)
"""Errors on opening a damaged zip archive."""
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}
_OPENERS: dict[str, Any] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
CHUNK = 1 << 19


class Digest(Protocol):
    """A hash that is updated while a file is read, such as ``hashlib.sha256()``."""

    def update(self, data: bytes, /) -> None:
        """Add the next bytes of the file."""


@dataclass(frozen=True)
class Source:
    """A readable file."""

    path: Path
    compression: str = ""  # empty, `gz`, `bz2`, `xz` or `zip`
    member: str = ""  # name of the file inside a zip archive

    @classmethod
    def find(cls, name: str | os.PathLike[str]) -> Source:
        """Find a file by its path, or by ``archive.zip::member``."""
        text, member = named_file(name), ""
        if not os.path.exists(text):
            text, _, member = text.partition("::")
        path = Path(text)
        check_regular(path)
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
        """Name in messages."""
        return f"{self.path}::{self.member}" if self.member else str(self.path)

    @property
    def stem(self) -> str:
        """File name without folder and suffixes: the default name of an embedding."""
        base = Path(self.member).name if self.member else self.path.name
        for suffix in (".gz", ".bz2", ".xz", ".zip", ".txt", ".vec", ".bin", ".kv", ".safetensors"):
            base = base.removesuffix(suffix)
        return base

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open for reading, decompressed; damage that shows while reading is a `WordbiasError`."""
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
        """Turn the errors of damaged compressed data into a `WordbiasError`."""
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
        """Yield the decompressed bytes in order, with progress; hash the file on the way."""
        with self._opened() as (file, raw), progress(what, self.path.stat().st_size) as bar:
            advance = _advance(raw, bar)
            while chunk := file.read(CHUNK):
                if digest is not None and not self.compression:
                    digest.update(chunk)
                advance()
                yield chunk
        if digest is not None and self.compression:
            with self.path.open("rb") as packed:
                while chunk := packed.read(CHUNK):
                    digest.update(chunk)

    def lines(self, what: str, longest: int, digest: Digest | None = None) -> Iterator[bytes]:
        """Yield the decompressed bytes in chunks of whole lines; the last one gets a line feed."""
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
            advance = _advance(raw, bar)
            for i, line in enumerate(bounded_lines(file, self.name)):
                if i % 1024 == 0:
                    advance()
                yield line

    def too_long(self, line: int, longest: int) -> WordbiasError:
        """Return the error for a line of more than `longest` bytes."""
        return WordbiasError(
            f"{self.name}: line {line}: is over {longest:,} bytes long, where one word and its "
            "values were expected; is that a file of vectors, with a line for each word?"
        )


def _advance(raw: IO[bytes], bar: Bar) -> Callable[[], None]:
    """Return a function that moves the bar to the current position in the file on disk."""
    done = 0

    def move() -> None:
        nonlocal done
        now = raw.tell()
        bar.update(now - done)
        done = now

    return move


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn the errors of opening `path` into a `WordbiasError`."""
    try:
        yield
    except IsADirectoryError:
        if any(
            (path / name).exists()
            for name in ("config.json", "modules.json", "adapter_config.json")
        ):
            raise WordbiasError(
                f"{path}: is the folder of a model, which has no vectors of words; models are for "
                "wordbias encode, audit, project, and erase with --model"
            ) from None
        raise WordbiasError(f"{path}: is a folder; name the file with the vectors in it") from None
    except OSError as error:
        if error.filename is None or Path(error.filename) != path:
            raise
        if isinstance(error, FileNotFoundError):
            problem = "there is no such file"
        elif isinstance(error, PermissionError):
            problem = "may not be read (permission denied)"
        else:
            problem = f"cannot be read: {error.strerror}"
        raise WordbiasError(f"{path}: {problem}") from None


def _members(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return [info.filename for info in archive.infolist() if not info.is_dir()]
    except ZIP_ERRORS as error:
        raise WordbiasError(
            f"{path}: the zip archive is damaged or cut off ({error}); fetch it again"
        ) from None


def choose_member(path: Path, members: Sequence[str], wanted: str) -> str:
    """Return the wanted member of an archive, or by default the only one."""
    if wanted in members:
        return wanted
    if not wanted and len(members) == 1:
        return members[0]
    problem = f"has no member {wanted!r}" if wanted else f"holds {len(members)} files"
    names = (
        listed((f"{path.name}::{name}" for name in members), 200) if members else "(it is empty)"
    )
    raise WordbiasError(f"{path}: {problem}; name one of: {names}")


# Hashes


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the hash of a whole file."""
    return hash_of(path, "sha256")


def hash_of(path: str | os.PathLike[str], algorithm: str) -> str:
    """Return the hash of a whole file by an algorithm of `hashlib`."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


# Files that are no text tables

_UTF = (
    "line 1: byte 1 is not UTF-8 but UTF-{0}; convert it, such as with: iconv -f utf-{0} -t utf-8"
)
_UTF16, _UTF32 = _UTF.format(16), _UTF.format(32)
_GONE = "begins with the byte 0, as binary files do and what a full disk left; fetch it again"
_BEGINNINGS = {
    b"\xff\xfe\x00\x00": _UTF32,
    b"\x00\x00\xfe\xff": _UTF32,
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\x1f\x8b": "is packed by gzip; unpack it, or name it as what it is (.gz)",
    b"BZh9": "is packed by bzip2; unpack it, or name it as what it is (.bz2)",
    b"\xfd7zXZ\x00": "is packed by xz; unpack it, or name it as what it is (.xz)",
    b"PK\x03\x04": "is a zip archive; unpack it first",
    b"\x28\xb5\x2f\xfd": "is packed by zstd; unpack it first",
    b"%PDF-": "is a PDF; give its text",
    b"\x00": _GONE,
}
_PAGES = (b"<!doctype html", b"<html")
_POINTER = b"version https://git-lfs"
_SPACE = b"\xef\xbb\xbf \t\r\n"


def refuse_foreign(file: Path, line: bytes, *, plain: bool = False) -> None:
    """Refuse a file whose first line shows that it is no text table; plain text may be HTML."""
    problem = _foreign(line)
    if problem and not (plain and is_web_page(line)):
        raise WordbiasError(f"{file}: {problem}")


def is_web_page(beginning: bytes) -> bool:
    """Return whether bytes begin as a web page or as a Git LFS pointer does."""
    return beginning[:1024].lstrip(_SPACE).lower().startswith((*_PAGES, _POINTER))


def _foreign(beginning: bytes) -> str:
    """Return what the file is instead of text; empty for text."""
    for magic, problem in _BEGINNINGS.items():
        if beginning.startswith(magic):
            return problem
    if beginning[1:2] == b"\x00":  # UTF-16 without its mark
        return _UTF16
    if not is_web_page(beginning):
        return ""
    if _POINTER in beginning:
        return "is a pointer of Git LFS, not the file itself; fetch that with: git lfs pull"
    return "is a web page, not a table; whoever sent it did not send the file: fetch it again"


# Encoding


def as_text(data: bytes) -> str:
    """Decode a word; bytes that are not UTF-8 become lone surrogates, which is reversible."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(word: str) -> bytes:
    """Encode a word as `as_text` decoded it."""
    return word.encode("utf-8", "surrogateescape")


def has_lone_surrogate(text: str) -> bool:
    """Return whether a text has half of a surrogate pair: valid in JSON escapes, not in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
