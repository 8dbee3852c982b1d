"""gensim ``KeyedVectors`` and fastText models, read through gensim (the extra `gensim`)."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, need


def read_kv(path: Path, allow_pickle: bool) -> tuple[list[str], NDArray[np.float32]]:
    """Read a gensim ``.kv`` file."""
    if not allow_pickle:
        raise WordbiasError(
            f"{path}: is a Python pickle (gensim .kv), and opening a pickle can run any code; "
            f"if you trust its author, convert it once: wordbias convert --allow-pickle {path} "
            f"{path.with_suffix('.safetensors').name}"
        )
    gensim = need("gensim.models", extra="gensim", purpose="Reading a gensim .kv file")
    try:
        vectors = gensim.KeyedVectors.load(str(path))
    except Exception as error:  # a pickle can raise anything
        raise WordbiasError(f"{path}: gensim cannot load it: {error}") from None
    vectors = getattr(vectors, "wv", vectors)
    if not hasattr(vectors, "index_to_key"):
        raise WordbiasError(f"{path}: expected gensim KeyedVectors, found {type(vectors).__name__}")
    return from_keyed_vectors(vectors)


def read_fasttext(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Read the word vectors of a fastText ``.bin`` model, with their n-gram vectors added."""
    _check_fasttext(path)
    fasttext = need(
        "gensim.models.fasttext", extra="gensim", purpose="Reading a fastText .bin file"
    )
    try:
        return from_keyed_vectors(fasttext.load_facebook_vectors(str(path)))
    except Exception as error:  # of struct, numpy or gensim itself
        raise WordbiasError(f"{path}: gensim cannot load this fastText model: {error}") from None


def write_kv(file: IO[bytes], words: Sequence[str], vectors: NDArray[np.float32]) -> None:
    """Write a gensim ``.kv`` file."""
    to_keyed_vectors(words, vectors).save(file)


def from_keyed_vectors(vectors: Any) -> tuple[list[str], NDArray[np.float32]]:
    """Return the words and vectors of a gensim ``KeyedVectors``."""
    return list(vectors.index_to_key), np.ascontiguousarray(vectors.vectors, np.float32)


def to_keyed_vectors(words: Sequence[str], vectors: NDArray[np.float32]) -> Any:
    """Return a gensim ``KeyedVectors`` with a copy of the vectors."""
    gensim = need("gensim.models", extra="gensim", purpose="A gensim KeyedVectors object")
    keyed = gensim.KeyedVectors(vectors.shape[1], dtype=np.float32)
    keyed.add_vectors(list(words), vectors)
    return keyed


_HEADER = struct.Struct("<2i12id")
_SIZES = struct.Struct("<3i2q")
_MATRIX = struct.Struct("<?2q")
_COUNT_AND_TYPE, _PRUNED = 9, 8  # bytes
_LONGEST_NGRAM = 1_000
"""Largest `maxn` in characters; fastText's own default is 6."""


def _check_fasttext(path: Path) -> None:
    """Compare the sizes in the header of a fastText ``.bin`` file with its length."""
    # gensim trusts these sizes, and loops forever over a vocabulary that is cut off. This check
    # walks over the file without reading its vectors.
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
    """Return what is wrong with the file; empty if nothing is."""
    dim, maxn = (_HEADER.unpack_from(data)[i] for i in (2, 12))
    count, _, _, _, pruned = _SIZES.unpack_from(data, _HEADER.size)
    if not (0 < dim < 1 << 20 and maxn <= _LONGEST_NGRAM and count > 0):
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
    """Return where the vocabulary ends; an entry is a word, a zero byte, a count and a type."""
    for _ in range(count):
        zero = data.find(b"\0", at)
        if zero < 0:
            raise struct.error
        at = zero + 1 + _COUNT_AND_TYPE
    return at
