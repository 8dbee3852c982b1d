"""A whole embedding in memory, from any format, with the parse cache in front."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats import cache as parse_cache
from wordbias.formats import keyed_vectors, tensors
from wordbias.formats.digest import sha256_of
from wordbias.formats.file import Tally, VectorFile
from wordbias.formats.layout import Kind
from wordbias.formats.lines import Block
from wordbias.formats.spelling import as_text


@dataclass(frozen=True)
class FileInfo:
    """Where vectors came from, for the provenance of a result.

    Attributes
    ----------
    path, format, sha256
        The file, its format, the hash of its bytes.
    words, dim
        Its size as loaded.
    duplicates
        Rows dropped because their word stood in an earlier row.
    skipped, first_problem
        Rows dropped because they could not be used, and what the first of them was.
    """

    path: str
    format: Kind | Literal["memory"]
    sha256: str
    words: int
    dim: int
    duplicates: int = 0
    skipped: int = 0
    first_problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that have something to say."""
        return {key: value for key, value in asdict(self).items() if value not in (0, "")}


@dataclass(frozen=True)
class Loaded:
    """Words, float32 vectors of shape ``(n, d)``, and where they came from."""

    words: list[str]
    vectors: NDArray[np.float32]
    info: FileInfo
    name: str


def load(
    name: str | os.PathLike[str],
    *,
    cache: bool = True,
    skip_bad: bool = False,
    allow_pickle: bool = False,
) -> Loaded:
    """Load an embedding of any known format.

    Parameters
    ----------
    name
        A path, or ``archive.zip::member``.
    cache
        Keep parsed text in the user's cache folder and map it from there the next time.
    skip_bad
        Drop and count rows that cannot be used.
    allow_pickle
        Open gensim's ``.kv`` pickles; only for files whose author you trust.

    Raises
    ------
    WordbiasError
        See `VectorFile.open`, `VectorFile.map`, and the readers of the other formats.
    """
    file = VectorFile.open(name)
    if not file.layout.is_rows:
        return _load_whole(file, allow_pickle)
    if cache and (hit := cached(file, skip_bad)) is not None:
        return hit
    key = parse_cache.Key.of(file.source, skip_bad) if cache else None
    loaded = _load_rows(file, skip_bad)
    if key is not None and key == parse_cache.Key.of(file.source, skip_bad):
        kept = {field: str(value) for field, value in asdict(loaded.info).items()}
        parse_cache.put(key, loaded.words, loaded.vectors, kept)
    return loaded


def cached(file: VectorFile, skip_bad: bool = False) -> Loaded | None:
    """Map what the cache has of a file of rows; None if there is nothing, or it is damaged."""
    hit = parse_cache.get(parse_cache.Key.of(file.source, skip_bad))
    if hit is not None:
        words, vectors, kept = hit
        with suppress(KeyError, ValueError):  # what it says of itself is damaged
            return Loaded(words, vectors, _info_from(kept, file), file.source.stem)
    return None


def first_of_each(words: list[str]) -> NDArray[np.intp] | None:
    """Return the indices of the first occurrence of every word; None if all are distinct."""
    if len(set(words)) == len(words):
        return None
    first: dict[str, int] = {}
    for i, word in enumerate(words):
        first.setdefault(word, i)
    return np.fromiter(first.values(), np.intp, len(first))


def collect(blocks: Iterable[Block], dim: int, guess: int) -> tuple[list[str], NDArray[np.float32]]:
    """Put blocks together; the matrix grows where it stands and is never held twice."""
    words: list[str] = []
    vectors = np.empty((guess, dim), np.float32)
    for block in blocks:
        start, end = len(words), len(words) + len(block.words)
        if end > len(vectors):
            vectors.resize((end + end // 8, dim), refcheck=False)
        vectors[start:end] = block.rows
        words += map(as_text, block.words)
    vectors.resize((len(words), dim), refcheck=False)
    return words, vectors


def _load_rows(file: VectorFile, skip_bad: bool) -> Loaded:
    dim, tally = file.layout.dim, Tally()
    blocks = file.blocks(tally, what=f"reading {file.source.path.name}", skip_bad=skip_bad)
    words, vectors = collect(blocks, dim, guess_rows(file))
    info = FileInfo(
        file.source.name,
        file.layout.kind,
        tally.sha256,
        len(words),
        dim,
        skipped=tally.skipped,
        first_problem=tally.first_problem,
    )
    return _without_duplicates(Loaded(words, vectors, info, file.source.stem))


def guess_rows(file: VectorFile) -> int:
    """Guess the number of rows from the first ones; a wrong guess costs only a resize.

    What a header promises is not trusted with memory.
    """
    head = file.source.head()
    lines, binary = head.count(b"\n"), 4 * file.layout.dim + 2
    text = len(head) / lines if lines else max(len(head), file.layout.first_row)
    row = text if file.layout.is_text else binary
    guess = max(16, int(file.source.path.stat().st_size / row * 1.1))
    return min(guess, file.layout.count or guess)


def _load_whole(file: VectorFile, allow_pickle: bool) -> Loaded:
    path, kind = file.source.path, file.layout.kind
    if kind == "safetensors":
        words, vectors, _ = tensors.read(path)
    elif kind == "gensim":
        words, vectors = keyed_vectors.read_kv(path, allow_pickle)
    else:
        words, vectors = keyed_vectors.read_fasttext(path)
    _check_finite(path, words, vectors)
    info = FileInfo(file.source.name, kind, sha256_of(path), len(words), vectors.shape[1])
    return _without_duplicates(Loaded(words, vectors, info, file.source.stem))


def _check_finite(path: Path, words: list[str], vectors: NDArray[np.float32]) -> None:
    for start in range(0, len(vectors), 8192):
        bad = ~np.isfinite(vectors[start : start + 8192]).all(axis=1)
        if bad.any():
            row = start + int(bad.argmax())
            raise WordbiasError(
                f"{path}: the vector of word {row + 1}, {words[row]!r}, "
                "holds a nan or an infinity; drop that word from the file"
            )


def _without_duplicates(loaded: Loaded) -> Loaded:
    first = first_of_each(loaded.words)
    if first is None:
        return loaded
    info = replace(loaded.info, words=len(first), duplicates=len(loaded.words) - len(first))
    words = [loaded.words[i] for i in first.tolist()]
    return Loaded(words, loaded.vectors[first], info, loaded.name)


def _info_from(kept: dict[str, str], file: VectorFile) -> FileInfo:
    words, dim, duplicates, skipped = (
        int(kept[key]) for key in ("words", "dim", "duplicates", "skipped")
    )
    problem, digest = kept["first_problem"], kept["sha256"]
    name, kind = file.source.name, file.layout.kind
    return FileInfo(name, kind, digest, words, dim, duplicates, skipped, problem)
