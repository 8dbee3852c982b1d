"""Rows in Parquet, in Arrow IPC files and streams (Feather), and in tables of pyarrow in memory.

The file is long because the three are read and written by one set of functions on pyarrow's
columns.
"""

from __future__ import annotations

import base64
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, first_line, listed, need
from wordbias.formats.rows.source import (
    BLOCK,
    Cells,
    Floats,
    Map,
    RowBlock,
    block_rows,
    choose,
    mapped,
    side_by_side,
)
from wordbias.formats.tables import cell_of

LARGEST = 1 << 26
"""Bytes of vectors in the largest row group of Parquet that is written."""
_STEP = 256
_COUNTED = re.compile(r"(.*?)(\d+)", re.DOTALL)
_CODECS = {0: "lz4", 1: "zstd"}
"""Codecs of Arrow IPC by their numbers in its BodyCompression."""


# The column of vectors


def runs(names: Sequence[str], usable: Sequence[bool]) -> dict[str, tuple[str, ...]]:
    """Return the runs of usable columns whose names share a prefix and count up, by their first."""
    by_first: dict[str, tuple[str, ...]] = {}
    run: list[str] = []
    last: tuple[str, int] | None = None
    for name, is_usable in zip([*names, ""], [*usable, False], strict=True):
        match = _COUNTED.fullmatch(name) if is_usable else None
        counted = (match[1], int(match[2])) if match else None
        follows = counted and last and counted == (last[0], last[1] + 1)
        if not follows:
            if len(run) > 1:
                by_first[run[0]] = tuple(run)
            run = []
        if counted:
            run.append(name)
        last = counted
    return by_first


def choose_columns(
    path: str, lists: Sequence[str], counted: Mapping[str, tuple[str, ...]], array: str | None,
    names: Sequence[str],
) -> tuple[str, ...]:  # fmt: skip
    """Return the column of vectors, or the run of `counted` columns, by the name of its first."""
    if twice := next((name for name, count in Counter(names).items() if count > 1), None):
        raise WordbiasError(f"{path}: two columns are named {twice!r}; rename one")
    others = (
        " (lists of floats, or columns that count up such as e0, e1, …); its columns: "
        f"{listed(names)}"
    )
    name = choose(path, [*lists, *counted], array, "column", others)
    return counted.get(name, (name,))


# Arrays of Arrow and of numpy


def _value_type(kind: Any) -> Any:
    """Return the type of the values in a list of floats; None for other types."""
    pa = need("pyarrow", extra="parquet", purpose="Arrow")
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        is_vector = len(getattr(kind, "shape", (0,))) == 1
        return _value_type(kind.storage_type) if is_vector else None
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return kind.value_type if is_list and types.is_floating(kind.value_type) else None


def _lists(array: Any, dim: int, path: str, start: int) -> Floats:
    """Return an array of lists as a matrix; refuse missing values and lists of other lengths."""
    pa = need("pyarrow", extra="parquet", purpose="Arrow")
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if array.null_count:
        row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise WordbiasError(f"{path}: row {start + row + 1} has no vector (null); leave it out")
    flat = array.flatten()
    if not pa.types.is_fixed_size_list(array.type):
        lengths = np.diff(array.offsets.to_numpy())
        wrong = np.flatnonzero(lengths != dim)
        if len(wrong):
            row = int(wrong[0])
            raise WordbiasError(
                f"{path}: row {start + row + 1} has {lengths[row]} values, but the first row "
                f"{dim}; expected vectors of one length"
            )
    if flat.null_count:
        place = int(np.flatnonzero(flat.is_null().to_numpy(zero_copy_only=False))[0])
        raise WordbiasError(
            f"{path}: row {start + place // dim + 1}: value {place % dim + 1} is missing (null); "
            "leave the row out"
        )
    matrix: Floats = flat.to_numpy(zero_copy_only=False).reshape(len(array), dim)
    return matrix


def _listed_again(values: Floats, kind: Any) -> Any:
    """Return a matrix as an array of lists of a type."""
    pa = need("pyarrow", extra="parquet", purpose="Arrow")
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _listed_again(values, kind.storage_type))
    flat = pa.array(np.ascontiguousarray(values).reshape(-1), kind.value_type)
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(flat, type=kind)
    n, dim = values.shape
    large = pa.types.is_large_list(kind)
    list_class = pa.LargeListArray if large else pa.ListArray
    offsets = np.arange(n + 1, dtype=np.int64 if large else np.int32) * dim
    return list_class.from_arrays(pa.array(offsets), flat, type=kind)


@dataclass(frozen=True)
class Vectors:
    """The vectors of a table: a column of lists, or a run of columns."""

    path: str  # name of the table in messages
    names: tuple[str, ...]  # names of the columns
    dim: int  # values of a vector
    dtype: np.dtype[Any]  # type of the values

    @classmethod
    def find(cls, path: str, schema: Any, array: str | None) -> Vectors:
        """Find the vectors in a schema; the dimensions of lists of any length are 0."""
        pa = need("pyarrow", extra="parquet", purpose="Arrow")
        try:
            names = tuple(schema.names)
        except UnicodeDecodeError:
            raise WordbiasError(
                f"{path}: the name of a column is not UTF-8; write the file again"
            ) from None
        lists = [field.name for field in schema if _value_type(field.type) is not None]
        floats = [pa.types.is_floating(field.type) for field in schema]
        names = choose_columns(path, lists, runs(names, floats), array, names)
        types = {schema.field(name).type for name in names}
        if len(types) > 1:
            raise WordbiasError(
                f"{path}: the columns {names[0]} … {names[-1]} have several types, "
                f"{listed(map(str, types))}; give them one"
            )
        (kind,) = types
        value_type = _value_type(kind)
        dim = len(names)
        if value_type is not None:
            storage = getattr(kind, "storage_type", kind)
            dim = storage.list_size if pa.types.is_fixed_size_list(storage) else 0
        return cls(path, names, dim, np.dtype((value_type or kind).to_pandas_dtype()))

    def of(self, table: Any, start: int) -> Floats:
        """Return the matrix of a table or record batch, whose first row has a number, from 0."""
        if not len(table):
            return np.zeros((0, self.dim), self.dtype)
        if len(self.names) > 1:
            return np.stack([self._numbers(table, name, start) for name in self.names], axis=1)
        parts = []
        for chunk in _chunks(table.column(self.names[0])):
            parts.append(_lists(chunk, self.dim, self.path, start))
            start += len(chunk)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _numbers(self, table: Any, name: str, start: int) -> NDArray[Any]:
        column = table.column(name)
        if column.null_count:
            row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
            raise WordbiasError(
                f"{self.path}: row {start + row + 1} has no {name!r} (null); leave it out"
            )
        numbers: NDArray[Any] = np.asarray(column)
        return numbers

    def put(self, table: Any, values: Floats) -> Any:
        """Return the table or record batch with other vectors."""
        pa = need("pyarrow", extra="parquet", purpose="Arrow")
        columns = list(table.columns)
        for i, name in enumerate(self.names):
            place = table.schema.get_field_index(name)
            kind = table.schema.field(place).type
            columns[place] = (
                pa.array(np.ascontiguousarray(values[:, i]), kind)
                if len(self.names) > 1
                else _listed_again(values, kind)
            )
        return type(table).from_arrays(columns, schema=table.schema)


def _chunks(column: Any) -> list[Any]:
    """Return the parts of a column that have rows."""
    return [chunk for chunk in getattr(column, "chunks", [column]) if len(chunk)]


def _cells(batch: Any, name: str, path: str) -> Cells:
    """Return one column as text."""
    try:
        return [cell_of(value) for value in batch.column(name).to_pylist()]
    except UnicodeDecodeError:
        raise WordbiasError(
            f"{path}: column {name!r} holds text that is not UTF-8; write it again as UTF-8"
        ) from None


class _Table:
    """Rows of a table, read by `_batches`."""

    kind: str
    path: str
    schema: Any
    vectors: Vectors
    dim: int
    dtype: np.dtype[Any]
    columns: tuple[str, ...]

    def _begin(self, array: str | None) -> None:
        self.vectors = Vectors.find(self.path, self.schema, array)
        if not self.vectors.dim:
            first = next((b for b in self._batches(self.vectors.names, 1) if len(b)), None)
            dim = 0 if first is None else self._length(_chunks(first.column(0))[0])
            self.vectors = Vectors(self.path, self.vectors.names, dim, self.vectors.dtype)
        self.dim, self.dtype = self.vectors.dim, self.vectors.dtype
        self.columns = tuple(n for n in self.schema.names if n not in self.vectors.names)

    def _length(self, column: Any) -> int:
        first = getattr(column, "storage", column)[0]
        if not first.is_valid:
            raise WordbiasError(f"{self.path}: row 1 has no vector (null); leave it out")
        if not len(first):
            raise WordbiasError(f"{self.path}: row 1 has an empty vector; leave it out")
        return len(first)

    def _batches(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield at most `rows` rows of some columns at a time."""
        raise NotImplementedError

    def blocks(self, columns: Sequence[str], rows: int) -> Iterator[RowBlock]:
        """Yield the rows; see `RowSource`."""
        start = 0
        for batch in self._batches([*self.vectors.names, *columns], rows):
            x = self.vectors.of(batch, start)
            yield RowBlock(start, x, {name: _cells(batch, name, self.path) for name in columns})
            start += len(batch)

    def cells(self, name: str) -> Cells:
        """Return one column, without reading the vectors."""
        cells: list[str | None] = []
        for batch in self._batches([name], 1 << 16):
            cells += _cells(batch, name, self.path)
        return cells

    def like(self, other: Any) -> str:
        """Return how another table differs; see `RowSource`."""
        if self.schema.equals(other.schema):
            return ""
        for field in self.schema:
            place = other.schema.get_field_index(field.name)
            if place < 0:
                return f"has no column {field.name!r}"
            if (kind := other.schema.field(place).type) != field.type:
                return f"has {field.name!r} as {kind}, not {field.type}"
        more = [name for name in other.schema.names if name not in self.schema.names]
        return f"has a column {more[0]!r} more" if more else "has its columns in another order"


@contextmanager
def intact(path: str, what: str) -> Iterator[None]:
    """Turn the errors of pyarrow for a damaged file into a `WordbiasError`."""
    pa = need("pyarrow", extra="parquet", purpose=f"Reading {what}")
    try:
        yield
    except WordbiasError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise WordbiasError(
            f"{path}: cannot be read as {what}: {first_line(error).rstrip('.')}; write it again"
        ) from None


class ParquetRows(_Table):
    """Rows of a Parquet file."""

    kind = "parquet"

    def __init__(self, path: str, array: str | None) -> None:
        self.path = path
        with self._open() as file:
            self.schema: Any = file.schema_arrow
            self._n = file.metadata.num_rows
        self._begin(array)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self._n)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        with intact(self.path, "Parquet"):
            parquet = need("pyarrow.parquet", extra="parquet", purpose="Reading Parquet")
            # pages are read as they are needed; column chunks can be as large as the file
            with parquet.ParquetFile(self.path, buffer_size=1 << 20, pre_buffer=False) as file:
                yield file

    def _batches(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        with self._open() as file:
            yield from file.iter_batches(rows, columns=list(names))

    def take(self, places: NDArray[np.intp]) -> Floats:
        """Return rows by number, reading only the row groups that have some."""
        matrix = np.zeros((len(places), self.dim), self.dtype)
        names, rows = list(self.vectors.names), block_rows(self.dim, self.dtype.itemsize)
        with self._open() as file:
            start = 0
            for group in range(file.num_row_groups):
                end = start + file.metadata.row_group(group).num_rows
                if not ((places >= start) & (places < end)).any():
                    start = end
                    continue
                for batch in file.iter_batches(rows, row_groups=[group], columns=names):
                    chosen = np.flatnonzero((places >= start) & (places < start + len(batch)))
                    if len(chosen):
                        matrix[chosen] = self.vectors.of(batch, start)[places[chosen] - start]
                    start += len(batch)
        return matrix

    def rewrite(self, file: IO[bytes], transform: Map, written: Callable[[int], None]) -> None:
        """Write the same table with other vectors; see `RowSource`."""
        # Row groups stay as they are, but for those of more than `LARGEST` bytes of vectors, which
        # pyarrow would hold in memory whole: they are split evenly.
        pa = need("pyarrow", extra="parquet", purpose="Writing Parquet")
        parquet = need("pyarrow.parquet", extra="parquet", purpose="Writing Parquet")
        group: list[Any] = []

        def work(piece: tuple[int, Any, bool]) -> Any:
            start, batch, is_last = piece
            x = mapped(transform, self.vectors.of(batch, start), self.path, start)
            group.append(self.vectors.put(batch, x))
            if not is_last:
                return None
            table = pa.Table.from_batches(group)
            group.clear()
            return table

        def write(table: Any) -> None:
            writer.write_table(table, max(1, len(table)))
            written(len(table))

        with self._open() as source:
            how = _settings(source, self.vectors.names)
            with parquet.ParquetWriter(file, _stored_schema(source), **how) as writer:
                side_by_side(self._pieces(source), work, write)

    def _pieces(self, source: Any) -> Iterator[tuple[int, Any, bool]]:
        """Yield the number of the first row, some rows, and whether a row group ends there."""
        start, itemsize = 0, self.dim * self.dtype.itemsize
        step = max(_STEP, BLOCK // 8 // itemsize // _STEP * _STEP) if itemsize else _STEP
        most = max(step, LARGEST // max(1, itemsize) // step * step)
        for group in range(source.num_row_groups):
            n = source.metadata.row_group(group).num_rows
            parts = -(-n // most)
            rows = n if parts == 1 else -(-n // parts // step) * step
            in_group = in_part = 0
            for batch in source.iter_batches(step, row_groups=[group]):
                in_group, in_part = in_group + len(batch), in_part + len(batch)
                is_last = in_part >= rows or in_group == n
                yield start, batch, is_last
                start += len(batch)
                in_part = 0 if is_last else in_part


def _stored_schema(source: Any) -> Any:
    """Return the schema that a Parquet file was written with."""
    # That in its metadata has the names within lists that its writer used, unless Parquet's own ids
    # of fields show that another writer made the file.
    pa = need("pyarrow", extra="parquet", purpose="Reading Parquet")
    schema = source.schema_arrow
    data = (source.metadata.metadata or {}).get(b"ARROW:schema")
    if data is None or any(b"PARQUET:field_id" in (field.metadata or {}) for field in schema):
        return schema
    stored = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(data)))
    return stored.with_metadata(schema.metadata) if stored.equals(schema) else schema


def _settings(source: Any, vectors: Sequence[str]) -> dict[str, Any]:
    """Return the settings with which a Parquet file was written, as far as the file has them."""
    # Vectors are never stored by a dictionary: mapped, hardly one value occurs twice.
    about = source.metadata
    settings: dict[str, Any] = {
        "use_compliant_nested_type": True,
        "store_schema": b"ARROW:schema" in (about.metadata or {}),
        "version": about.format_version if about.format_version in ("1.0", "2.4") else "2.6",
    }
    if not about.num_row_groups:
        return settings
    group = about.row_group(0)
    chunks = [group.column(i) for i in range(about.num_columns)]
    paths = [chunk.path_in_schema for chunk in chunks]
    of_vectors = [path.partition(".")[0] in vectors or path in vectors for path in paths]
    nested = [path for path in paths if path.endswith((".list.item", ".list.element"))]
    settings["use_compliant_nested_type"] = not any(path.endswith(".item") for path in nested)
    settings["compression"] = {
        path: "NONE" if chunk.compression == "UNCOMPRESSED" else chunk.compression.lower()
        for path, chunk in zip(paths, chunks, strict=True)
    }
    by_dictionary = [
        path
        for path, chunk, is_vector in zip(paths, chunks, of_vectors, strict=True)
        if not is_vector and any("DICTIONARY" in encoding for encoding in chunk.encodings)
    ]
    settings["use_dictionary"] = by_dictionary or False
    split = {
        path: "BYTE_STREAM_SPLIT"
        for path, chunk in zip(paths, chunks, strict=True)
        if "BYTE_STREAM_SPLIT" in chunk.encodings
    }
    if split:
        settings["column_encoding"] = split
    with_statistics = [
        path
        for path, chunk in zip(paths, chunks, strict=True)
        if chunk.is_stats_set and chunk.statistics is not None
    ]
    settings["write_statistics"] = with_statistics or False
    settings["write_page_index"] = any(chunk.has_offset_index for chunk in chunks)
    if any(chunk.physical_type == "INT96" for chunk in chunks):
        settings["use_deprecated_int96_timestamps"] = True
    if group.sorting_columns:
        settings["sorting_columns"] = group.sorting_columns
    return settings


class ArrowRows(_Table):
    """Rows of an Arrow IPC file (also called Feather) or stream."""

    def __init__(self, path: str, kind: str, array: str | None) -> None:
        self.path: str = path
        self.kind: str = kind
        with self._open() as reader:
            self.schema: Any = reader.schema
        self._begin(array)

    @cached_property
    def n(self) -> int:
        """Number of rows."""
        with self._open() as reader:
            return sum(len(batch) for batch, _ in _read(reader))

    @contextmanager
    def _open(self) -> Iterator[Any]:
        pa = need("pyarrow", extra="parquet", purpose="Reading Arrow")
        opened = pa.ipc.open_file if self.kind == "arrow" else pa.ipc.open_stream
        with intact(self.path, "Arrow"), pa.memory_map(self.path) as file, opened(file) as reader:
            yield reader

    def _batches(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        with self._open() as reader:
            for batch, _ in _read(reader):
                chosen = batch.select(list(names))
                for start in range(0, len(batch), rows):
                    yield chosen.slice(start, rows)

    def rewrite(self, file: IO[bytes], transform: Map, written: Callable[[int], None]) -> None:
        """Write the same batches with other vectors; see `RowSource`."""
        pa = need("pyarrow", extra="parquet", purpose="Writing Arrow")
        with self._open() as reader:
            options = pa.ipc.IpcWriteOptions(compression=_codec(self.path, self.kind))
            opener = pa.ipc.new_file if self.kind == "arrow" else pa.ipc.new_stream
            with opener(file, self.schema, options=options) as writer:

                def work(piece: tuple[int, Any, Any]) -> tuple[Any, Any]:
                    start, batch, about = piece
                    x = self.vectors.of(batch, start)
                    step = block_rows(self.dim, self.dtype.itemsize)
                    y = np.empty_like(x)
                    for i in range(0, len(x), step):
                        y[i : i + step] = mapped(transform, x[i : i + step], self.path, start + i)
                    return self.vectors.put(batch, y), about

                def write(piece: tuple[Any, Any]) -> None:
                    batch, about = piece
                    writer.write_batch(batch, about)
                    written(len(batch))

                side_by_side(self._pieces(reader), work, write)

    def _pieces(self, reader: Any) -> Iterator[tuple[int, Any, Any]]:
        start = 0
        for batch, about in _read(reader):
            yield start, batch, about
            start += len(batch)


def _read(reader: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the record batches of a file or stream, with the metadata of each."""
    # Offsets are checked: pyarrow would follow those of a damaged file out of its memory.
    for i in range(getattr(reader, "num_record_batches", sys.maxsize)):
        try:
            if hasattr(reader, "num_record_batches"):
                batch, about = reader.get_batch_with_custom_metadata(i)
            else:
                batch, about = reader.read_next_batch_with_custom_metadata()
        except StopIteration:
            return
        batch.validate(full=True)
        yield batch, about


def _codec(path: str, kind: str) -> str | None:
    """Return the compression of an Arrow file, from the header of its first batch."""
    # pyarrow does not tell it. The header is a flatbuffer: of the message its field 2 is the batch,
    # whose field 3 is the compression, whose field 0 is the codec.
    pa = need("pyarrow", extra="parquet", purpose="Reading Arrow")
    with Path(path).open("rb") as file:
        if kind == "arrow":
            file.seek(8)
        try:
            for message in pa.ipc.MessageReader.open_stream(file):
                if message.type == "record batch":
                    data = message.metadata.to_pybytes()
                    batch = _field(data, _offset(data, 0), 2)
                    packed = None if batch is None else _field(data, _offset(data, batch), 3)
                    if packed is None:
                        return None
                    codec = _field(data, _offset(data, packed), 0)
                    return _CODECS.get(0 if codec is None else data[codec])
        except (pa.ArrowException, OSError, IndexError):
            pass  # a file without batches ends here, too
    return None


def _offset(data: bytes, place: int) -> int:
    """Return the place to which a flatbuffer's offset refers."""
    return place + int.from_bytes(data[place : place + 4], "little")


def _field(data: bytes, table: int, number: int) -> int | None:
    """Return the place of a field in a table of a flatbuffer; None if it has its default."""
    fields = table - int.from_bytes(data[table : table + 4], "little", signed=True)
    size = int.from_bytes(data[fields : fields + 2], "little")
    entry = 4 + 2 * number
    at = int.from_bytes(data[fields + entry : fields + entry + 2], "little") if entry < size else 0
    return table + at if at else None


class ArrowTable(_Table):
    """Rows of a table of pyarrow in memory."""

    kind = "memory"

    def __init__(self, table: Any, array: str | None, name: str) -> None:
        self.table: Any = table
        self.schema: Any = table.schema
        self.path: str = name
        self._begin(array)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.table)

    def _batches(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        chosen = self.table.select(list(names))
        for start in range(0, len(chosen), rows):
            yield chosen.slice(start, rows)

    def changed(self, transform: Map) -> Any:
        """Return the table with other vectors."""
        rows, parts = block_rows(self.dim, self.dtype.itemsize), []
        for start in range(0, self.n, rows):
            part = self.table.slice(start, rows)
            parts.append(mapped(transform, self.vectors.of(part, start), self.path, start))
        return self.vectors.put(self.table, np.concatenate(parts))

    def rewrite(self, file: IO[bytes], transform: Map, written: Callable[[int], None]) -> None:
        """Refuse: a table in memory has no format."""
        raise WordbiasError("a table in memory is not written; its result is a table")
