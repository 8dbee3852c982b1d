"""gensim's vectors and fastText models, through gensim (the extra `gensim`)."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, need

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
