"""Vectors of texts that were made elsewhere, from a file, as an encoder of texts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.calls import path_of
from wordbias.errors import WordbiasError
from wordbias.formats.files import check_writable, replacing
from wordbias.formats.rows import matrix_of, open_rows
from wordbias.formats.source import sha256_of
from wordbias.formats.tables import kind_of, numbered_lines
from wordbias.rendering import how_many

TEXT = "text"
"""Column of the texts in both files."""
_LINES = (".jsonl", ".ndjson")
Float32 = NDArray[np.float32]
TextVectorsLike = str | os.PathLike[str] | NDArray[Any] | Mapping[str, object] | object
"""A file, an array of shape ``(n, d)``, or a table of vectors of texts."""


def write_texts(path: str | os.PathLike[str], texts: Sequence[str]) -> None:
    """Write texts as JSON lines with the one column `TEXT`."""
    check_texts_file(path)
    with replacing(path) as file:
        for text in texts:
            file.write(json.dumps({TEXT: text}, ensure_ascii=False).encode() + b"\n")


def check_texts_file(path: str | os.PathLike[str]) -> None:
    """Refuse a file that `write_texts` cannot write."""
    if Path(path).suffix.lower() not in _LINES:
        raise WordbiasError(
            f"--write-texts: {os.fspath(path)}: texts are written as JSON lines; name a file .jsonl"
        )
    check_writable(path)


@dataclass(frozen=True, eq=False)
class ReadVectors:
    """Vectors in a file or in memory."""

    name: str
    path: str | None  # the file; None in memory
    vectors: Float32  # the vectors, shape `(n, d)`
    texts: Sequence[str] | None  # text of each; None if there is no column of texts
    notes: tuple[str, ...] = ()

    @classmethod
    def open(cls, source: Any) -> ReadVectors:
        """Read a file, an array or a table."""
        path = path_of(source)
        name = "vectors" if path is None else Path(path).name.partition(".")[0]
        if path is not None and kind_of(Path(path)) == "jsonl":
            texts, raw_vectors = _lines(path)
        else:
            try:
                rows = open_rows(source)
            except WordbiasError as error:
                reason, several, _ = str(error).partition("; choose with --array")
                if not several:
                    raise
                raise WordbiasError(f"{reason}; leave one") from None
            raw_vectors = rows.vectors()
            texts = rows.cells(TEXT) if TEXT in rows.columns else None
        with np.errstate(over="ignore"):  # what is too large is refused below
            vectors = np.asarray(raw_vectors, np.float32)
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise WordbiasError(
                f"{path or name}: vector {bad[0] + 1} has a value that is not finite; mend it"
            )
        return cls(name, path, vectors, texts)

    @property
    def about(self) -> dict[str, Any]:
        """Return the file and its hash."""
        return {} if self.path is None else {"path": self.path, "sha256": sha256_of(self.path)}

    def encode(self, texts: Sequence[str]) -> Float32:
        """Return the vectors of texts, shape ``(n, d)``."""
        what, distinct = self.path or self.name, list(dict.fromkeys(texts))
        remedy = "write the texts again with --write-texts, and encode all of them"
        if self.texts is None:
            if len(self.vectors) != len(distinct):
                raise WordbiasError(
                    f"{what}: has {how_many(len(self.vectors), 'vector')} and no column {TEXT!r}; "
                    f"expected one for each of {len(distinct):,} texts, in their order; {remedy}"
                )
            places = {text: i for i, text in enumerate(distinct)}
        else:
            places = {text: i for i, text in enumerate(self.texts)}
            for i, text in enumerate(self.texts):
                if not np.array_equal(self.vectors[i], self.vectors[places[text]]):
                    raise WordbiasError(
                        f"{what}: has two vectors of {text!r:.60}, which differ; remove one"
                    )
            if missing := [text for text in distinct if text not in places]:
                raise WordbiasError(
                    f"{what}: has no vector of {len(missing):,} of {len(distinct):,} texts, such "
                    f"as {missing[0]!r}; {remedy}"
                )
        vectors: Float32 = self.vectors[[places[text] for text in texts]]
        return vectors


def _lines(path: str) -> tuple[list[str] | None, NDArray[Any]]:
    """Read JSON lines: the texts, if all lines have one, and the vectors."""
    texts: list[str] = []
    rows: list[Any] = []
    column = ""
    for number, line in numbered_lines(Path(path)):
        if not line.strip():
            continue
        where = f"{path}: line {number}"
        record = _object(where, line)
        column = column or _column_of_vectors(where, record)
        if column not in record:
            raise WordbiasError(f"{where}: has no {column!r}; expected a vector on each line")
        rows.append(record[column])
        texts += [record[TEXT]] if isinstance(record.get(TEXT), str) else []
    if not rows:
        raise WordbiasError(f"{path}: holds no vectors; expected one on each line")
    if texts and len(texts) != len(rows):
        lacking = how_many(len(rows) - len(texts), "line")
        raise WordbiasError(f"{path}: {lacking} without {TEXT!r}; add it")
    try:
        vectors = matrix_of(rows)
    except WordbiasError as error:
        raise WordbiasError(f"{path}: {error}") from None
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
        raise WordbiasError(f"{path}: {column!r} holds no vectors; expected lists of numbers")
    return texts or None, vectors


def _object(where: str, line: str) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise WordbiasError(f"{where}: is no object of JSON; expected one such on each line")
    return record


def _column_of_vectors(where: str, record: Mapping[str, Any]) -> str:
    listed = [name for name, value in record.items() if isinstance(value, list)]
    if len(listed) != 1:
        named = ", ".join(listed) or "none"
        raise WordbiasError(
            f"{where}: expected one list of numbers, the vector, found {named}; leave one"
        )
    return listed[0]
