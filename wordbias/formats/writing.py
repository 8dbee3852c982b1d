"""A whole embedding to a file of any format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats import binary, keyed_vectors, tensors, text
from wordbias.formats.atomic import check_writable, compressing, replacing
from wordbias.formats.layout import Kind
from wordbias.formats.source import as_bytes
from wordbias.formats.streaming import ROW_FORMATS, header
from wordbias.progress import progress
from wordbias.threads import ordered_map

_SUFFIX: dict[str, Kind] = {
    ".vec": "word2vec",
    ".bin": "word2vec-binary",
    ".safetensors": "safetensors",
    ".kv": "gensim",
}
_PACKED = (".gz", ".bz2", ".xz", ".zip")
WRITABLE: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "fasttext")


def output_format(output: str | os.PathLike[str], read: Kind | None = None) -> Kind:
    """Decide the format of a file to be written: by its suffix, or as the input was.

    ``.txt`` is text, with a header if the input had one; ``.vec`` is word2vec text. A suffix that
    says nothing means the format of the input, `read`.
    """
    path = Path(output)
    if path.suffix.lower() in _PACKED:
        path = path.with_suffix("")
    suffix = path.suffix.lower()
    if suffix in _SUFFIX:
        return _SUFFIX[suffix]
    if suffix == ".txt":
        return "word2vec" if read == "word2vec" else "glove"
    return read if read in WRITABLE else "glove"


def save(
    output: str | os.PathLike[str],
    words: Sequence[str],
    vectors: NDArray[np.float32],
    kind: Kind | None = None,
) -> None:
    """Write an embedding; the file takes its name only when it is complete.

    Parameters
    ----------
    output
        The file; row formats are compressed if it ends in .gz, .bz2, .xz or .zip.
    words, vectors
        `n` words and their vectors, shape ``(n, d)``.
    kind
        The format; by default what the suffix says.

    Raises
    ------
    WordbiasError
        If the file cannot be written, or the format cannot hold one of the words.
    """
    kind = kind or output_format(output)
    path = Path(output)
    check_writable(path)
    if kind in ROW_FORMATS:
        _save_rows(path, words, vectors, kind)
        return
    if path.suffix.lower() in _PACKED:
        raise WordbiasError(f"{path}: {kind} files are written uncompressed; drop {path.suffix}")
    if kind == "gensim":
        _save_gensim(path, words, vectors)
        return
    with replacing(path) as file:
        tensors.write(file, words, vectors)


def _save_rows(path: Path, words: Sequence[str], vectors: NDArray[np.float32], kind: Any) -> None:
    room: Any = binary if kind == "word2vec-binary" else text
    step = max(1, (1 << 17) // vectors.shape[1])

    def encode(start: int) -> bytes:
        chosen = [as_bytes(word) for word in words[start : start + step]]
        encoded: bytes = room.encode(chosen, np.ascontiguousarray(vectors[start : start + step]))
        return encoded

    with replacing(path) as raw, compressing(raw, path.name) as out:
        out.write(header(kind, *vectors.shape))
        with progress(f"writing {path.name}", len(words), "word") as bar:
            for encoded in ordered_map(encode, range(0, len(words), step)):
                out.write(encoded)
                bar.update(step)


def _save_gensim(path: Path, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
    """Let gensim, which wants a path and not a file, write to a neighbour that then moves in."""
    hidden = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        keyed_vectors.write_kv(hidden, words, vectors)
        os.replace(hidden, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WordbiasError(f"{path}: could not be written: {reason}") from None
    finally:
        hidden.unlink(missing_ok=True)
