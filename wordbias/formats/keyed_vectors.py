"""gensim's own formats and objects, through gensim (the extra `gensim`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.fasttext import check_fasttext
from wordbias.optional import need


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
