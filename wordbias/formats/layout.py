"""Recognition of the format of a file of vectors, by its content."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from wordbias.errors import WordbiasError
from wordbias.formats.decimal import is_decimal
from wordbias.formats.source import Source

Kind = Literal[
    "glove", "word2vec", "word2vec-binary", "safetensors", "gensim", "fasttext", "static-model"
]
BOM = b"\xef\xbb\xbf"
_HEAD = 1 << 18
_HEADER = re.compile(rb"[ \t]*(\d{1,99})[ \t]+(\d{1,99})[ \t]*\r?\n")
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_LARGEST = 1 << 20
_FIRST_ROW = 24 << 20  # bytes: a million values of about ten bytes, and more
_LEAST_LIMIT, _TIMES = 1 << 20, 64  # a row may have so many bytes, or so many times the first row's
_VOTERS = 8
_FASTTEXT_MAGIC = b"\xba\x16\x4f\x2f"
_EXPECTED = (
    "expected GloVe or word2vec text, word2vec binary, fastText .bin, gensim .kv or safetensors"
)


@dataclass(frozen=True)
class Layout:
    """Format and dimensions of a file of vectors."""

    kind: Kind
    dim: int = 0  # number of values of a word; 0 for the formats that are read whole
    count: int | None = None  # number of words in the header; None without a header
    skip: int = 0  # bytes before the first row: a byte order mark, a header
    # replacements that make every line `word v1 … vd\\n`: of Windows line ends, tabs and trailing
    # spaces, where the first line has them
    mend: tuple[tuple[bytes, bytes], ...] = ()
    first_row: int = 0  # bytes of the first row of a text

    @property
    def longest(self) -> int:
        """Largest length of a line in bytes."""
        return max(_LEAST_LIMIT, _TIMES * self.first_row)

    @property
    def is_text(self) -> bool:
        """True if a row is a line of text."""
        return self.kind in ("glove", "word2vec")

    @property
    def first_line(self) -> int:
        """Number of the first line that holds a row."""
        return 2 if self.kind == "word2vec" else 1

    @property
    def is_rows(self) -> bool:
        """True if the file is read row by row, in blocks."""
        return self.is_text or self.kind == "word2vec-binary"


def detect(source: Source) -> Layout:
    """Recognise the format of `source` by its first bytes, never by its name."""
    head = source.head(_HEAD)
    if head[:4] == _FASTTEXT_MAGIC:
        return Layout("fasttext")
    if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05":
        return Layout("gensim")
    if head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") < 1 << 30:
        return Layout("safetensors")
    skip = len(BOM) if head.startswith(BOM) else 0
    header = _HEADER.match(head, skip)
    if header is None:
        return _headless(source, head, skip)
    count, dim = int(header[1]), int(header[2])
    if count == 0 or dim == 0:
        raise WordbiasError(f"{source.name}: the header promises {count} words of {dim} values")
    if dim > _LARGEST:
        raise WordbiasError(
            f"{source.name}: the header promises {dim} values a word; no embedding has so many"
        )
    if not _looks_like_text(head[header.end() :], dim, count):
        return Layout("word2vec-binary", dim, count, header.end())
    rows = _rows(source, head, header.end())
    return Layout("word2vec", dim, count, header.end(), _mending(rows), _length(rows))


def _headless(source: Source, head: bytes, skip: int) -> Layout:
    """Recognise text without a header, or refuse the file."""
    rows = head[skip:] if _BINARY.search(head) else _rows(source, head, skip)
    mend = _mending(rows)
    pieces = rows.split(b"\n", _VOTERS)
    lines = [mended(line + b"\n", mend)[:-1] for line in pieces[:-1] or pieces]
    dim = _vote([line for line in lines if line])
    if dim < 2:
        excerpt = lines[0][:60].decode("utf-8", "replace")
        beginning = repr(excerpt) if excerpt.isprintable() else "binary data"
        raise WordbiasError(
            f"{source.name}: is not an embedding: {_EXPECTED}; it begins with {beginning}"
        )
    if dim > _LARGEST:
        raise WordbiasError(
            f"{source.name}: line 1 has {dim} values; no embedding has so many a word"
        )
    return Layout("glove", dim, None, skip, mend, _length(rows))


def _rows(source: Source, head: bytes, start: int) -> bytes:
    """Return the first rows of a text, at least one whole."""
    if head.find(b"\n", start) < 0 and len(head) == _HEAD:
        head = source.head(_FIRST_ROW)
        if head.find(b"\n", start) < 0 and len(head) == _FIRST_ROW:
            raise source.too_long(1 + head.count(b"\n"), _FIRST_ROW)
    return head[start:]


def _length(rows: bytes) -> int:
    end = rows.find(b"\n")
    return len(rows) if end < 0 else end


def _vote(lines: list[bytes]) -> int:
    """Return the dimension by a vote of the first lines: the number of values at their ends."""
    # A single line can be ambiguous: its word may end in a possible value ("to infinity"), or one
    # of its values may be a nan. So each line votes twice, with and without such values.
    votes: Counter[int] = Counter()
    for line in lines:
        values = line.split(b" ")[:0:-1]
        for is_value in (_is_value, is_decimal):
            votes[sum(1 for _ in takewhile(is_value, values))] += 1
    return max(votes, key=lambda dim: (votes[dim], dim), default=0)


def _looks_like_text(rows: bytes, dim: int, count: int) -> bool:
    """Return whether the rows are text: the first ends in `dim` numbers, or none is binary."""
    line = mended(rows.partition(b"\n")[0] + b"\n", _mending(rows))[:-1]
    values = line.split(b" ")[1:][-dim:]
    if len(values) == dim and all(map(_is_value, values)):
        return True
    return not _is_binary(rows, dim, count)


def _is_binary(rows: bytes, dim: int, count: int) -> bool:
    """Return whether the rows have control characters, or fit word2vec binary to the last byte."""
    if _BINARY.search(rows):
        return True
    end = 0
    for _ in range(count):
        space = rows.find(b" ", end)
        if space < 0:
            return False
        end = space + 1 + 4 * dim
    return end == len(rows.rstrip(b"\n")) or end == len(rows)


def _is_value(token: bytes) -> bool:
    return is_decimal(token) or token.lower().lstrip(b"+-") in (b"nan", b"inf", b"infinity")


def _mending(rows: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Return the replacements that the first line needs; see `Layout.mend`."""
    first, ended, _ = rows.partition(b"\n")
    mend = []
    if ended and first.endswith(b"\r"):
        mend.append((b"\r\n", b"\n"))
        first = first[:-1]
    if b"\t" in first and b" " not in first.rstrip(b" "):
        mend.append((b"\t", b" "))
        first = first.replace(b"\t", b" ")
    if first.endswith(b" "):
        mend.append((b" \n", b"\n"))
    return tuple(mend)


def mended(text: bytes, mend: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Apply a layout's replacements to whole lines."""
    for old, new in mend:
        text = text.replace(old, new)
    return text
