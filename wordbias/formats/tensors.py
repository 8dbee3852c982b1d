"""safetensors: an embedding as two tensors, `vectors` (n, d) and `words` (UTF-8, one a line).

Files are written and memory-mapped here rather than by the library `safetensors`, which would copy
the matrix; the tests compare both ways with the library.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arguments import named_file
from wordbias.errors import WordbiasError
from wordbias.formats.source import as_bytes, as_text
from wordbias.text_files import check_regular

_HEADER = 248  # bytes: enough for any size, so that the header can be written last
_FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
_DTYPES = {**_FLOATS, "I64": "<i8", "I32": "<i4", "U8": "u1"}


def read(path: Path) -> tuple[list[str], NDArray[np.float32], dict[str, str]]:
    """Memory-map an embedding: words, read-only float32 vectors (n, d), metadata."""
    header, start = _header(path)
    for name in ("vectors", "words"):
        if name not in header:
            names = ", ".join(sorted(set(header) - {"__metadata__"})) or "none"
            raise WordbiasError(
                f"{path}: expected the tensors 'vectors' and 'words', found {names[:200]}; "
                "write such a file with: wordbias convert"
            )
    vectors = _map(path, header["vectors"], start, "vectors", _FLOATS)
    words = split_words(_map(path, header["words"], start, "words").tobytes())
    if vectors.ndim != 2 or len(words) != len(vectors):
        raise WordbiasError(
            f"{path}: {len(words)} words do not fit vectors of shape {vectors.shape}"
        )
    return words, vectors.astype(np.float32, copy=False), header.get("__metadata__", {})


def metadata(path: Path) -> dict[str, str]:
    """Read only the metadata."""
    return dict(_header(path)[0].get("__metadata__", {}))


def map_tensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    """Return the tensors of a file and its metadata."""
    header, start = _header(path)
    metadata = dict(header.pop("__metadata__", {}))
    return Tensors(path, header, start), metadata


class Tensors(Mapping[str, NDArray[Any]]):
    """The tensors of a file, each memory-mapped, read-only, on access."""

    # A tensor that is not accessed may have any type, also one that numpy lacks, such as BF16.

    def __init__(self, path: Path, entries: Mapping[str, Any], start: int) -> None:
        self._path, self._entries, self._start = path, entries, start

    def __getitem__(self, name: str) -> NDArray[Any]:
        return _map(self._path, self._entries[name], self._start, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def known(self) -> list[str]:
        """Return the names of the tensors whose types are known."""
        return [
            name
            for name, entry in self._entries.items()
            if not isinstance(entry, dict) or str(entry.get("dtype")) in _DTYPES
        ]


def _header(path: Path) -> tuple[dict[str, Any], int]:
    named_file(path)
    check_regular(path)
    with path.open("rb") as file:
        begin = file.read(9)
        if begin[8:] != b"{":
            raise WordbiasError(f"{path}: is no safetensors file")
        length = int.from_bytes(begin[:8], "little")
        if length > path.stat().st_size:
            raise WordbiasError(f"{path}: is cut off inside its header")
        file.seek(8)
        try:
            header = json.loads(file.read(length))
        except (ValueError, RecursionError) as error:
            raise WordbiasError(f"{path}: its safetensors header is damaged: {error}") from None
    if not isinstance(header, dict) or not isinstance(header.get("__metadata__", {}), dict):
        raise WordbiasError(f"{path}: its safetensors header is no table")
    spans = [tensor.get("data_offsets") for tensor in header.values() if isinstance(tensor, dict)]
    known = sorted(
        span for span in spans if isinstance(span, list) and list(map(type, span)) == [int] * 2
    )
    if any(before[1] > after[0] for before, after in pairwise(known) if before[0] < before[1]):
        raise WordbiasError(f"{path}: its safetensors header is damaged: two tensors overlap")
    return header, 8 + length


def _map(
    path: Path, entry: Any, start: int, name: str, known: Mapping[str, str] = _DTYPES
) -> NDArray[Any]:
    try:
        dtype = np.dtype(known[entry["dtype"]])
        shape = tuple(int(n) for n in entry["shape"])
        begin, end = (int(n) for n in entry["data_offsets"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise WordbiasError(
            f"{path}: expected the tensor '{name}' as one of {', '.join(known)}, found {entry}"
        ) from None
    size = math.prod(shape) * dtype.itemsize
    if end - begin != size or start + end > path.stat().st_size or min((begin, *shape)) < 0:
        raise WordbiasError(f"{path}: is cut off or damaged inside the tensor '{name}'")
    if not size:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, "r", start + begin, shape)


def write(
    file: IO[bytes],
    words: Sequence[str],
    vectors: NDArray[Any],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write an embedding: `n` words without line feeds, float32 or float16 vectors (n, d)."""
    blob = join_words(words)
    code = {4: "F32", 2: "F16"}[vectors.dtype.itemsize]
    file.write(_embedding_header(code, vectors.shape, len(blob), metadata or {}))
    file.write(np.ascontiguousarray(vectors).data)
    file.write(blob)


def write_rows(
    file: IO[bytes], blocks: Iterable[tuple[Sequence[bytes], NDArray[np.float32]]], dim: int
) -> tuple[int, int]:
    """Write an embedding block by block to a seekable file; return numbers of rows and repeats."""
    # Of a repeated word the first row is kept. The file is the same as that of `write`.
    file.write(_embedding_header("F32", (0, dim), 0, {}))
    written: set[bytes] = set()
    blob = bytearray()
    duplicates = 0
    for words, rows in blocks:
        fresh = []
        for i, word in enumerate(words):
            if word not in written:
                written.add(word)
                fresh.append(i)
                blob += word
                blob += b"\n"
        duplicates += len(words) - len(fresh)
        chosen = rows if len(fresh) == len(words) else rows[fresh]
        file.write(np.ascontiguousarray(chosen, np.float32).data)
    del blob[-1:]
    file.write(blob)
    file.seek(0)
    file.write(_embedding_header("F32", (len(written), dim), len(blob), {}))
    return len(written), duplicates


def _embedding_header(
    code: str, shape: tuple[int, ...], words: int, metadata: Mapping[str, str]
) -> bytes:
    """Return the header of an embedding; its length does not depend on the sizes."""
    return header_of({"vectors": (code, shape), "words": ("U8", (words,))}, metadata, _HEADER)


def header_of(
    tensors: Mapping[str, tuple[str, tuple[int, ...]]],
    metadata: Mapping[str, str],
    least: int = 0,
) -> bytes:
    """Return the header of a file of tensors, by type and shape, with its length in front."""
    # It is filled with spaces to `least` bytes.
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, (code, shape) in tensors.items():
        start, end = end, end + math.prod(shape) * np.dtype(_DTYPES[code]).itemsize
        header[name] = {"dtype": code, "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * max(least - len(text), -len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def join_words(words: Sequence[str]) -> bytes:
    """Return the words as UTF-8, one a line, without a line feed at the end."""
    return as_bytes("\n".join(words))


def split_words(blob: bytes) -> list[str]:
    """Undo `join_words`."""
    return as_text(blob).split("\n")
