"""Telling by its content what kind of vectors a file holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from wordbias.errors import WordbiasError
from wordbias.formats.source import Source

Kind = Literal["glove", "word2vec", "word2vec-binary", "safetensors", "gensim", "fasttext"]

_HEAD = 1 << 18
_HEADER = re.compile(rb"[ \t]*(\d+)[ \t]+(\d+)[ \t]*\r?\n")
_TEXT_VALUES = re.compile(rb"[-+.0-9eEnaifNAIFty \t\r\n]*\Z")
_FASTTEXT_MAGIC = b"\xba\x16\x4f\x2f"
_BOM = b"\xef\xbb\xbf"
_EXPECTED = (
    "expected GloVe or word2vec text, word2vec binary, fastText .bin, gensim .kv or safetensors"
)


@dataclass(frozen=True)
class Layout:
    """What a file holds.

    Attributes
    ----------
    kind
        The format.
    dim
        Values a word has; 0 where only opening the file tells.
    count
        Words that the header promises; None where there is no header.
    skip
        Bytes before the first row: a byte order mark, a header.
    mend
        Replacements that make every line ``word v1 … vd\\n``: Windows line ends, tabs, trailing
        spaces, where the first line has them.
    """

    kind: Kind
    dim: int = 0
    count: int | None = None
    skip: int = 0
    mend: tuple[tuple[bytes, bytes], ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether a row is a line of text."""
        return self.kind in ("glove", "word2vec")

    @property
    def first_line(self) -> int:
        """Number of the first line that holds a row."""
        return 2 if self.kind == "word2vec" else 1

    @property
    def is_rows(self) -> bool:
        """Whether the file can be read row by row, in blocks, by this package alone."""
        return self.is_text or self.kind == "word2vec-binary"


def detect(source: Source) -> Layout:
    """Recognise the format of `source` by its first bytes, never by its name.

    Raises
    ------
    WordbiasError
        If it is none of the known formats.
    """
    head = source.head(_HEAD)
    if head[:4] == _FASTTEXT_MAGIC:
        return Layout("fasttext")
    if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05":
        return Layout("gensim")
    if head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") < 1 << 30:
        return Layout("safetensors")
    skip = len(_BOM) if head.startswith(_BOM) else 0
    header = _HEADER.match(head, skip)
    if header is None:
        return _headless(source, head, skip)
    count, dim = int(header[1]), int(header[2])
    if count == 0 or dim == 0:
        raise WordbiasError(f"{source.name}: the header promises {count} words of {dim} values")
    rows = head[header.end() :]
    if not _looks_like_text(rows):
        return Layout("word2vec-binary", dim, count, header.end())
    return Layout("word2vec", dim, count, header.end(), _mending(rows))


def _headless(source: Source, head: bytes, skip: int) -> Layout:
    rows = head[skip:]
    mend = _mending(rows)
    line = mended(rows.partition(b"\n")[0] + b"\n", mend)[:-1]
    values = line.split(b" ")[1:]
    dim = 0
    for value in reversed(values):
        if not value or not _is_value(value):
            break
        dim += 1
    if dim < 2:
        shown = line[:60].decode("utf-8", "replace")
        found = repr(shown) if shown.isprintable() else "binary data"
        raise WordbiasError(f"{source.name}: is no embedding: {_EXPECTED}; it begins with {found}")
    return Layout("glove", dim, None, skip, mend)


def _mending(rows: bytes) -> tuple[tuple[bytes, bytes], ...]:
    first, ended, _ = rows.partition(b"\n")
    mend = []
    if ended and first.endswith(b"\r"):
        mend.append((b"\r\n", b"\n"))
        first = first[:-1]
    if b"\t" in first:
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


def _looks_like_text(rows: bytes) -> bool:
    line = rows.partition(b"\n")[0].rstrip(b"\r \t")
    values = line.replace(b"\t", b" ").split(b" ")[1:]
    return bool(values) and bool(_TEXT_VALUES.match(values[-1])) and _is_value(values[-1])


def _is_value(token: bytes) -> bool:
    if not _TEXT_VALUES.match(token):
        return False
    try:
        float(token)
    except ValueError:
        return False
    return True
