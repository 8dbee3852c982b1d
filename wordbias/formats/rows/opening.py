"""Opening of rows: the format of a file, the shards of a folder, and what is in memory."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import numbers
from wordbias.errors import WordbiasError, listed
from wordbias.formats.arrays import NUMPY, ZIP, beginning, is_npz, is_safetensors
from wordbias.formats.rows.source import (
    Floats,
    RowBlock,
    RowSource,
    block_rows,
    check_finite,
    computed,
)
from wordbias.formats.tables import cell_of
from wordbias.formats.tensors import map_tensors
from wordbias.text_files import without_packing

_OF_MODELS = (
    "tokenizer.json",
    "config.json",
    "modules.json",
    "config_sentence_transformers.json",
)
"""Files of a folder that is a model."""
_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow stream",
    NUMPY: "npy",
    ZIP: "npz",
}
_FEATHER_1 = b"FEA1"


class Rows:
    """Rows of vectors with other columns; nothing is read until it is asked for."""

    name: str  # name in results
    dim: int  # values of a vector
    columns: tuple[str, ...]  # names of the other columns
    shards: tuple[RowSource, ...]  # the files, in order; one of the kind `memory` is none
    folder: str  # folder of the shards; empty for one file or memory
    array: str | None  # name of the array or column of vectors, as asked for

    def __init__(
        self,
        name: str,
        shards: Sequence[RowSource],
        folder: str = "",
        array: str | None = None,
    ) -> None:
        self.name, self.shards, self.folder, self.array = name, tuple(shards), folder, array
        first = next((candidate for candidate in shards if candidate.dim), shards[0])
        self.dim, self.columns = first.dim, first.columns
        for shard in shards:
            _check_alike(first, shard)

    @property
    def path(self) -> str:
        """The file or folder; empty in memory."""
        first_shard = self.shards[0]
        return self.folder or ("" if first_shard.kind == "memory" else first_shard.path)

    @cached_property
    def n(self) -> int:
        """Number of rows."""
        count = sum(shard.n for shard in self.shards)
        if not count:
            raise WordbiasError(f"{self.path or self.name}: holds no rows")
        return count

    def __repr__(self) -> str:
        shards = f", {len(self.shards)} shards" if self.folder else ""
        return f"<Rows {self.name!r}: {self.shards[0].kind}, × {self.dim}{shards}>"

    def blocks(self, columns: Sequence[str] = (), *, rows: int = 65_536) -> Iterator[RowBlock]:
        """Yield all rows in order, at most `rows` at once: vectors, and cells of some columns."""
        for name in columns:
            self._check_column(name)
        before = 0
        for source in self.shards:
            for block in source.blocks(columns, block_rows(self.dim, 8, rows)):
                check_finite(block.vectors, source.path, block.start)
                yield RowBlock(before + block.start, computed(block.vectors), block.columns)
            before += source.n

    def vectors(self) -> Floats:
        """Return all rows, shape ``(n, d)``, in memory."""
        matrix = np.empty(
            (self.n, self.dim), np.result_type(*(shard.dtype for shard in self.shards))
        )
        matrix = computed(matrix)
        for block in self.blocks():
            matrix[block.start : block.start + len(block.vectors)] = block.vectors
        return matrix

    def cells(self, name: str) -> list[str]:
        """Return a column as text; missing values are empty."""
        self._check_column(name)
        return [cell or "" for shard in self.shards for cell in shard.cells(name)]

    def _check_column(self, name: str) -> None:
        if name not in self.columns:
            raise WordbiasError(
                f"{self.path or self.name}: no column {name!r}; it holds {listed(self.columns)}"
            )

    def take(self, places: ArrayLike) -> Floats:
        """Return rows by number, from 0, in any order."""
        wanted = np.asarray(places, np.intp)
        if wanted.size and (wanted.min() < 0 or wanted.max() >= self.n):
            raise WordbiasError(
                f"{self.path or self.name}: holds {self.n:,} rows, not {int(wanted.max()) + 1:,}"
            )
        rows = computed(np.zeros((len(wanted), self.dim), self.shards[0].dtype))
        before = 0
        for source in self.shards:
            chosen = np.flatnonzero((wanted >= before) & (wanted < before + source.n))
            if len(chosen):
                rows[chosen] = _taken(source, wanted[chosen] - before)
            before += source.n
        return rows


def _taken(source: RowSource, places: NDArray[np.intp]) -> Floats:
    """Return rows of one source by number."""
    quick = getattr(source, "take", None)
    if quick is not None:
        rows: Floats = quick(places)
    else:
        rows = np.zeros((len(places), source.dim), source.dtype)
        for block in source.blocks((), block_rows(source.dim, source.dtype.itemsize)):
            inside = (places >= block.start) & (places < block.start + len(block.vectors))
            rows[inside] = block.vectors[places[inside] - block.start]
    for i in np.flatnonzero(~np.isfinite(rows).all(axis=1)):
        check_finite(rows[i : i + 1], source.path, int(places[i]))
    return rows


def _check_alike(first: RowSource, other: RowSource) -> None:
    """Refuse a shard of another form than the first."""
    problem = ""
    if other.kind != first.kind:
        problem = f"is {other.kind}, not {first.kind}"
    elif other.dim not in (0, first.dim):
        problem = f"has vectors of {other.dim} values, not {first.dim}"
    elif other.dtype != first.dtype and first.kind not in ("csv", "tsv"):
        problem = f"has vectors of {other.dtype}, not {first.dtype}"
    else:
        problem = first.like(other)
    if problem:
        raise WordbiasError(
            f"{other.path}: {problem}, unlike {Path(first.path).name}; shards of a folder need one "
            "form"
        )


# Opening


def open_rows(source: Any, *, array: str | None = None) -> Rows:
    """Open rows of vectors in a file, a folder of files or memory; only headers are read."""
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if path.is_dir():
            files = row_files(path)
            return Rows(path.name, [_open_file(file, array) for file in files], str(path), array)
        shard = _open_file(path, array)
        return Rows(_stem(path), [shard], array=array)
    return Rows("vectors", [_open_in_memory(source, array)], array=array)


def is_rows(path: str | os.PathLike[str]) -> bool:
    """Return whether a file or folder holds rows of vectors, rather than words and vectors."""
    path = Path(path)
    if path.is_dir():
        return not any((path / name).exists() for name in _OF_MODELS)
    return path.is_file() and path.stat().st_size > 0 and bool(_kind(path))


def row_files(folder: Path) -> list[Path]:
    """Return the shards in a folder by name, without hidden files and those that begin with _."""
    if not is_rows(folder):
        raise WordbiasError(
            f"{folder}: is the folder of a model, not of rows of vectors; write vectors of texts "
            f"with: wordbias encode {folder} TEXTS -o FILE"
        )
    files = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
    if not files:
        raise WordbiasError(
            f"{folder}: holds no files of vectors (a model's are written with: wordbias encode)"
        )
    for file in files:
        if file.is_dir():
            raise WordbiasError(f"{file}: is a folder; expected files of vectors in {folder} only")
        if file.exists() and not file.is_file():  # reading a pipe would wait for its writer
            raise WordbiasError(f"{file}: is no regular file; move it out of {folder}")
        if not _kind(file):
            raise WordbiasError(
                f"{file}: holds no rows of vectors (.parquet, .npy, .npz, .arrow, .feather, "
                f".safetensors, .csv, .tsv); move it out of {folder}"
            )
    return files


def _kind(path: Path) -> str:
    """Return the format of a file of rows by its content; empty for other files."""
    start = beginning(path)
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return "" if kind == "npz" and not is_npz(path) else kind
    if start.startswith(_FEATHER_1):
        raise WordbiasError(
            f"{path}: is Feather of version 1; write it as version 2, with pyarrow.feather"
        )
    if is_safetensors(start):
        tensors, _ = map_tensors(path)
        return "" if {"vectors", "words"} <= tensors.keys() else "safetensors"
    from wordbias.formats.rows.delimited import is_table
    from wordbias.formats.tables import kind_of

    return kind_of(path) if is_table(path) else ""


def _open_file(path: Path, array: str | None) -> RowSource:
    kind, name = _kind(path), str(path)
    if not kind:
        raise WordbiasError(
            f"{path}: holds no rows of vectors; expected .npy, .npz, safetensors, Parquet, Arrow "
            "or Feather, or .csv or .tsv with a header"
        )
    if kind in ("csv", "tsv"):
        from wordbias.formats.rows.delimited import DelimitedRows

        return DelimitedRows(name, array)
    if kind in ("parquet", "arrow", "arrow stream"):
        from wordbias.formats.rows.arrow import ArrowRows, ParquetRows

        return ParquetRows(name, array) if kind == "parquet" else ArrowRows(name, kind, array)
    from wordbias.formats.rows.arrays import NpzRows, RawRows

    return NpzRows(name, array) if kind == "npz" else RawRows(name, kind, array)


def _stem(path: Path) -> str:
    """Return the name of a file without the suffixes of its format and compression."""
    return Path(without_packing(path.name)).stem


def _open_in_memory(source: Any, array: str | None) -> RowSource:
    from wordbias.formats.rows.arrays import ArrayRows

    if hasattr(source, "vectors") and hasattr(source, "layers"):  # representations
        columns = {name: column.cells() for name, column in source.columns.items()}
        return ArrayRows(np.asarray(source.vectors), columns, source.name)
    if isinstance(getattr(source, "column_names", None), Mapping):  # splits of a dataset
        raise WordbiasError(f"expected one dataset, got several, {listed(source)}; choose one")
    if hasattr(source, "column_names") and not hasattr(source, "schema"):  # of Hugging Face
        source = source.with_format("arrow")[:]
    if is_polars(source):
        source = source.to_arrow()
    if hasattr(source, "column_names"):
        from wordbias.formats.rows.arrow import ArrowTable

        return ArrowTable(source, array, "the table")
    names = list(source) if isinstance(source, Mapping) else getattr(source, "columns", None)
    if names is not None:
        return _of_columns({str(name): source[name] for name in names}, array)
    if array is not None:
        raise WordbiasError("--array is for files and tables that hold several; this is one array")
    x = matrix_of(source)
    return ArrayRows(x.astype(np.float64) if x.dtype.kind in "iu" else x, {}, "vectors")


def is_table(source: Any) -> bool:
    """Return whether an object is a table with vectors in columns, not words with vectors."""
    # A frame of pandas is words with vectors if its index has texts and all its columns numbers.
    if hasattr(source, "column_names"):  # of pyarrow, or a dataset of Hugging Face
        return True
    if not hasattr(source, "columns") or not hasattr(source, "to_numpy"):
        return False
    if is_polars(source):
        return True
    index = source.index
    named = len(index) and all(isinstance(word, str) for word in index)
    return not named or any(getattr(kind, "kind", "O") not in "fiu" for kind in source.dtypes)


def is_polars(source: object) -> bool:
    """Return whether an object is a frame of polars, which has no index."""
    return type(source).__module__.partition(".")[0] == "polars" and hasattr(source, "columns")


def matrix_of(given: Any) -> NDArray[Any]:
    """Return an array of rows; of objects, such as a column of pandas, a row for each."""
    try:
        x = np.asarray(given)
    except ValueError:  # lists of several lengths
        x = np.fromiter(given, object)
    if x.dtype == object and not x.ndim:
        raise WordbiasError(f"vectors: expected an array of rows, got {type(given).__name__}")
    if x.dtype == object and x.size:
        vectors = [np.asarray(row) for row in x]
        for i, row in enumerate(vectors):
            if row.ndim != 1 or row.shape != vectors[0].shape:
                raise WordbiasError(
                    f"vectors: row {i + 1} is {reprlib.repr(x[i])}; expected vectors of one length "
                    "and none missing, so leave it out or mend it"
                )
        x = np.stack(vectors)
        numbers(x, "vectors")
        try:
            x = x.astype(np.float64) if x.dtype == object else x
        except (TypeError, ValueError) as error:
            raise WordbiasError(f"vectors: expected rows of numbers: {error}") from None
    return x


def _of_columns(given: Mapping[str, Any], array: str | None) -> RowSource:
    """Open columns in memory: arrays, lists, or the columns of a pandas frame."""
    from wordbias.formats.rows.arrays import ArrayRows
    from wordbias.formats.rows.arrow import choose_columns, runs

    columns: dict[str, NDArray[Any]] = {}
    lists: dict[str, NDArray[Any]] = {}
    for name, given_cells in given.items():
        if not isinstance(given_cells, Iterable):
            raise WordbiasError(
                f"column {name!r}: expected a list or an array, got {type(given_cells).__name__}"
            )
        cells = list(given_cells)
        try:
            stacked = np.stack([np.asarray(cell) for cell in cells]) if cells else np.zeros(0)
        except ValueError:
            # lists of texts, such as tokens, are no vectors and may have any length
            first = (
                np.asarray(cells[0]) if isinstance(cells[0], (list, tuple, np.ndarray)) else None
            )
            if first is not None and first.size and first.dtype.kind in "fiu":
                raise WordbiasError(
                    f"column {name!r}: expected vectors of one length, and none missing"
                ) from None
            stacked = np.fromiter(cells, object, len(cells))
        columns[name] = stacked
        if stacked.ndim == 2 and stacked.dtype.kind == "f":
            lists[name] = stacked
    floats = [column.ndim == 1 and column.dtype.kind == "f" for column in columns.values()]
    names = choose_columns("the columns", list(lists), runs(list(columns), floats), array,
                           list(columns))  # fmt: skip
    if names[0] in lists:
        x = lists[names[0]]
    else:
        x = np.stack([columns[name] for name in names], axis=1)
    others = {
        name: [cell_of(value) for value in given[name]]
        for name, column in columns.items()
        if name not in names and column.ndim == 1
    }
    return ArrayRows(x, others, "the columns")
