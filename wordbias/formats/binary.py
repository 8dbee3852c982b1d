"""word2vec binary: ``word``, a space, the float32 values, perhaps a line feed.

Whether a fastText ``.bin`` file is whole, before gensim reads it.

gensim reads words until it meets their end, for ever where a file is cut off among them, and
believes the sizes that a header names. This walks over the file without reading its vectors.

gensim's own formats and objects, through gensim (the extra `gensim`).

What a format can hold: refused when writing, rather than found out when reading.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, need
from wordbias.formats.decimal import is_decimal
from wordbias.formats.layout import Kind, Layout
from wordbias.formats.source import Digest, Source
from wordbias.formats.text import LONGEST_WORD, Block, Problem


class BinaryJob(NamedTuple):
    """Words, and their values as bytes."""

    words: list[bytes]
    values: bytes


def jobs(
    source: Source, layout: Layout, what: str, digest: Digest | None = None
) -> Iterator[BinaryJob]:
    """Cut the file at the words' borders.

    Raises
    ------
    WordbiasError
        If the file ends inside a row, or goes on behind the last row that its header promises.
    """
    rest, row, skip = b"", 1, layout.skip
    for chunk in source.chunks(what, digest):
        data = rest + chunk[skip:]
        skip = max(0, skip - len(chunk))
        job, end = _cut(data, layout, row)
        rest = data[end:]
        if job.words:
            row += len(job.words)
            yield job
        _check_rest(source, layout, row, rest)
    if row <= (layout.count or 0):
        raise WordbiasError(
            f"{source.name}: is cut off: the header promises {layout.count} words, "
            f"word {row} is not complete; fetch or make the file again"
        )


def _cut(data: bytes, layout: Layout, row: int) -> tuple[BinaryJob, int]:
    """Take the complete rows off the beginning of `data`; return them and where they end."""
    size = 4 * layout.dim
    left = (layout.count or 0) - row + 1
    words: list[bytes] = []
    values: list[bytes] = []
    end = 0
    while len(words) < left:
        space = data.find(b" ", end)
        start = space + 1
        if space < 0 or start + size > len(data):
            break
        words.append(data[end:space].lstrip(b"\n"))
        end = start + size
        values.append(data[start:end])
    return BinaryJob(words, b"".join(values)), end


def _check_rest(source: Source, layout: Layout, row: int, rest: bytes) -> None:
    if row > (layout.count or 0) and rest.strip(b"\n\r "):
        raise WordbiasError(
            f"{source.name}: goes on behind the {layout.count} words that its header promises; "
            "the header or the dimension in it is wrong"
        )
    if len(rest) > 4 * layout.dim + LONGEST_WORD and b" " not in rest[:LONGEST_WORD]:
        raise WordbiasError(f"{source.name}: is damaged: word {row} is over 65,536 bytes long")


def parse(job: BinaryJob, dim: int) -> Block:
    """Turn one job into words and rows; rows with a nan or an infinity are left out."""
    rows = np.frombuffer(job.values, "<f4").reshape(-1, dim)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if not len(bad):
        return Block(job.words, rows.astype(np.float32, copy=False))
    problem = Problem(int(bad[0]), "its vector holds a nan or an infinity")
    dropped = set(bad.tolist())
    words = [word for i, word in enumerate(job.words) if i not in dropped]
    return Block(words, np.delete(rows, bad, axis=0), len(bad), problem)


def encode(words: list[bytes], rows: NDArray[np.float32]) -> bytes:
    """Format rows as GoogleNews has them: no line feed between rows."""
    data = rows.astype("<f4", copy=False).tobytes()
    size = 4 * rows.shape[1]
    parts = [
        part
        for i, word in enumerate(words)
        for part in (word, b" ", data[i * size : (i + 1) * size])
    ]
    return b"".join(parts)


_HEADER = struct.Struct("<2i12id")
_SIZES = struct.Struct("<3i2q")
_MATRIX = struct.Struct("<?2q")
_COUNT_AND_TYPE, _PRUNED = 9, 8
_LONGEST = 1_000
"""Characters of a part of a word; fastText's own default is 6."""


def check_fasttext(path: Path) -> None:
    """Hold the sizes in a file against what is there.

    Raises
    ------
    WordbiasError
        If it is cut off, longer than its sizes say, or these are impossible.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            fault = _fault(data)
        except (struct.error, OverflowError):  # sizes beyond the end, or beyond any file
            fault = "it is cut off"
    if fault:
        raise WordbiasError(
            f"{path}: is a damaged fastText model: {fault}; fetch or make the file again"
        )


def _fault(data: mmap.mmap) -> str:
    """Say what is wrong, or nothing."""
    dim, maxn = (_HEADER.unpack_from(data)[i] for i in (2, 12))
    count, _, _, _, pruned = _SIZES.unpack_from(data, _HEADER.size)
    if not (0 < dim < 1 << 20 and maxn <= _LONGEST and count > 0):
        return f"its header says {count} words of {dim} values, parts of up to {maxn} letters"
    end = _words_end(data, _HEADER.size + _SIZES.size, count) + _PRUNED * max(0, pruned)
    for what in ("vectors", "output"):
        quantised, rows, columns = _MATRIX.unpack_from(data, end)
        if quantised:
            return "its vectors are quantised (.ftz), which gensim does not read"
        if columns != dim or rows < 0:
            return f"its {what} have the shape ({rows}, {columns}), expected {dim} columns"
        end += _MATRIX.size + 4 * rows * columns
        if end > len(data):
            return f"it is cut off in its {what}"
    return "" if end == len(data) else f"{len(data) - end:,} bytes follow its end"


def _words_end(data: mmap.mmap, at: int, count: int) -> int:
    """Return where the vocabulary ends: words, a zero byte behind each, their counts and types."""
    for _ in range(count):
        zero = data.find(b"\0", at)
        if zero < 0:
            raise struct.error
        at = zero + 1 + _COUNT_AND_TYPE
    return at


def read_kv(path: Path, allow_pickle: bool) -> tuple[list[str], NDArray[np.float32]]:
    """Read a gensim ``.kv`` file.

    Raises
    ------
    WordbiasError
        Without `allow_pickle`: the file is a Python pickle, which runs whatever code its author
        put in. Also if it holds something else than vectors, or cannot be read.
    """
    if not allow_pickle:
        raise WordbiasError(
            f"{path}: is a Python pickle (gensim .kv), and opening a pickle can run any code; "
            f"if you trust its author, convert it once: wordbias convert --allow-pickle {path} "
            f"{path.with_suffix('.safetensors').name}"
        )
    gensim = need("gensim.models", extra="gensim", purpose="Reading a gensim .kv file")
    try:
        vectors = gensim.KeyedVectors.load(str(path))
    except Exception as error:  # a pickle fails in any way it likes
        raise WordbiasError(f"{path}: gensim cannot load it: {error}") from None
    vectors = getattr(vectors, "wv", vectors)
    if not hasattr(vectors, "index_to_key"):
        raise WordbiasError(f"{path}: expected gensim KeyedVectors, found {type(vectors).__name__}")
    return from_object(vectors)


def read_fasttext(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Read the vocabulary's vectors of a fastText ``.bin`` model (word plus n-gram vectors).

    Raises
    ------
    WordbiasError
        If it is damaged, or gensim cannot load it.
    """
    check_fasttext(path)
    fasttext = need(
        "gensim.models.fasttext", extra="gensim", purpose="Reading a fastText .bin file"
    )
    try:
        return from_object(fasttext.load_facebook_vectors(str(path)))
    except Exception as error:  # gensim raises what struct, numpy or itself raise
        raise WordbiasError(f"{path}: gensim cannot load this fastText model: {error}") from None


def write_kv(file: IO[bytes], words: Sequence[str], vectors: NDArray[np.float32]) -> None:
    """Write a gensim ``.kv`` file, in one piece."""
    to_object(words, vectors).save(file)


def from_object(vectors: Any) -> tuple[list[str], NDArray[np.float32]]:
    """Take words and vectors out of a gensim ``KeyedVectors``."""
    return list(vectors.index_to_key), np.ascontiguousarray(vectors.vectors, np.float32)


def to_object(words: Sequence[str], vectors: NDArray[np.float32]) -> Any:
    """Make a gensim ``KeyedVectors`` that holds a copy of the vectors."""
    gensim = need("gensim.models", extra="gensim", purpose="A gensim KeyedVectors object")
    keyed = gensim.KeyedVectors(vectors.shape[1], dtype=np.float32)
    keyed.add_vectors(list(words), vectors)
    return keyed


def check_rows(words: Sequence[bytes], rows: NDArray[np.float32], kind: Kind) -> None:
    """Refuse rows that could not be read back as they are.

    Raises
    ------
    WordbiasError
        At a nan or an infinity; at a word with a line feed; in word2vec binary, which ends a word
        at its first space, at a word with a space; in text, at a word that begins with a space or,
        since the numbers end a line, whose last part is a number.
    """
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        _refuse(words[int(finite.argmin())], "has a nan or an infinity in its vector", "drop it")
    if kind == "glove" and rows.shape[1] < 2:
        raise WordbiasError(
            "GloVe text has no header and cannot tell one dimension; write .vec or .safetensors"
        )
    for word in _holding(b"\n", words):
        _refuse(word, "has a line feed in it", "rename it")
    spaced = _holding(b" ", words)
    if kind == "word2vec-binary":
        for word in spaced:
            _refuse(word, "has a space in it, which ends a word in word2vec binary", _TEXT)
    if kind in ("glove", "word2vec"):
        for word in spaced:
            if word.startswith(b" "):
                _refuse(word, "begins with a space, which no line of text does", _OTHER_FORMAT)
            if is_decimal(word.rpartition(b" ")[2]):
                _refuse(word, "ends in a number, which text would take for a value", _OTHER_FORMAT)


_TEXT = "write text (.txt, .vec) or .safetensors instead"
_OTHER_FORMAT = "rename it or write .safetensors"


def _holding(byte: bytes, words: Iterable[bytes]) -> list[bytes]:
    return [word for word in words if byte in word]


def _refuse(word: bytes, why: str, remedy: str) -> None:
    shown = repr(word[:60].decode("utf-8", "backslashreplace"))
    raise WordbiasError(f"the word {shown} {why} and cannot be written; {remedy}")
