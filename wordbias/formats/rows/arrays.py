"""Rows in arrays: .npy, .npz, safetensors and representations of `encode`, and in memory."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, listed
from wordbias.formats.arrays import (
    check_member,
    load_npz,
    map_npy,
    member_of,
    npz_header,
    npz_names,
    read_rows,
    reading_numpy,
)
from wordbias.formats.rows.source import (
    Cells,
    Floats,
    Map,
    RowBlock,
    block_rows,
    choose,
    mapped,
    side_by_side,
)
from wordbias.formats.stored import REPRESENTATIONS
from wordbias.formats.tables import cell_of
from wordbias.formats.tensors import map_tensors

_CHUNK = 1 << 20
_COLUMN = "column."


class _Arrays:
    """Rows of one array, read by `_read`."""

    kind: str
    path: str
    columns: tuple[str, ...] = ()
    n: int
    dim: int
    dtype: np.dtype[Any]

    def _shaped(self, shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> None:
        """Take over the shape ``(n, d)`` of floats; refuse others."""
        what = f"{self.path}: {f'the array {name!r}' if name else 'the array'}"
        if dtype.kind != "f" or dtype.itemsize > 8:
            raise WordbiasError(
                f"{what} holds {dtype}; expected vectors of float16, float32 or float64"
            )
        if len(shape) == 3 and shape[0] != 1:
            raise WordbiasError(
                f"{what} has the shape {shape}, vectors of {shape[0]} layers; expected those of "
                "one, as of: wordbias encode --layers last"
            )
        if len(shape) not in (2, 3) or not shape[-1]:
            raise WordbiasError(f"{what} has the shape {shape}; expected (vectors, dimensions)")
        self.n, self.dim, self.dtype = int(shape[-2]), int(shape[-1]), dtype

    def _read(self, rows: int) -> Iterator[Floats]:
        """Yield at most `rows` rows at a time."""
        raise NotImplementedError

    def cells(self, name: str) -> Cells:
        """Return one column."""
        raise NotImplementedError

    def blocks(self, columns: Sequence[str], rows: int) -> Iterator[RowBlock]:
        """Yield the rows; see `RowSource`."""
        known = {name: self.cells(name) for name in columns}
        start = 0
        for x in self._read(rows):
            end = start + len(x)
            yield RowBlock(start, x, {name: cells[start:end] for name, cells in known.items()})
            start = end

    def like(self, other: Any) -> str:
        """Return how another array differs; see `RowSource`."""
        if self.columns != other.columns:
            return f"has the columns {listed(other.columns)}, not {listed(self.columns)}"
        return ""

    def _write(self, file: IO[bytes], transform: Map, written: Callable[[int], None]) -> None:
        """Write the mapped rows."""

        def write(y: Floats) -> None:
            file.write(np.ascontiguousarray(y).data)
            written(len(y))

        side_by_side(
            self._pieces(), lambda piece: mapped(transform, piece[1], self.path, piece[0]), write
        )

    def _pieces(self) -> Iterator[tuple[int, Floats]]:
        """Yield blocks of rows, each with the number of its first row."""
        start = 0
        for x in self._read(block_rows(self.dim, self.dtype.itemsize)):
            yield start, x
            start += len(x)

    def _of_columns(self, whole: Floats, rows: int) -> Iterator[Floats]:
        """Yield blocks of rows of an array that is column after column in its file."""
        for start in range(0, self.n, rows):
            yield np.ascontiguousarray(whole[start : start + rows])

    def _of_file(self, file: IO[bytes], rows: int) -> Iterator[Floats]:
        """Yield the blocks of rows that follow in a file."""
        for start in range(0, self.n, rows):
            yield read_rows(file, min(rows, self.n - start), self.dim, self.dtype, Path(self.path))


def _matrices(known: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]) -> list[str]:
    """Return the arrays of floats that are matrices; if there is none, those of several layers."""
    floats = {name: len(shape) for name, (shape, dtype) in known.items() if dtype.kind == "f"}
    by_axes = [[name for name, axes in floats.items() if axes == count] for count in (2, 3)]
    return by_axes[0] or by_axes[1]


class RawRows(_Arrays):
    """Rows of a .npy file, or of a tensor of a safetensors file: the numbers as they are."""

    # What stands before and behind them, headers and other tensors, is copied byte for byte.

    def __init__(self, path: str, kind: str, array: str | None) -> None:
        self.path: str = path
        self.kind: str = kind
        self._columns: Mapping[str, NDArray[Any]] = {}
        self._values: Mapping[str, Sequence[str]] = {}
        matrix, name = self._npy(array) if kind == "npy" else self._tensor(array)
        self._shaped(matrix.shape, matrix.dtype, name)
        self._offset = int(getattr(matrix, "offset", 0))
        self._fortran = matrix.flags.f_contiguous and not matrix.flags.c_contiguous
        self.columns: tuple[str, ...] = tuple(
            key.removeprefix(_COLUMN) if key.removeprefix(_COLUMN) in self._values else key
            for key, column in self._columns.items()
            if column.shape == (self.n,)
        )

    def _npy(self, array: str | None) -> tuple[NDArray[Any], str]:
        if array is not None:
            raise WordbiasError(f"{self.path}: is one array, which has no name; leave out --array")
        return map_npy(Path(self.path)), ""

    def _tensor(self, array: str | None) -> tuple[NDArray[Any], str]:
        tensors, metadata = map_tensors(Path(self.path))
        known = {name: tensors[name] for name in tensors.known()}
        floats = _matrices({name: (tensor.shape, tensor.dtype) for name, tensor in known.items()})
        if REPRESENTATIONS in metadata:
            floats = ["vectors"]
            try:
                about = json.loads(metadata[REPRESENTATIONS])
                self._values = {key: list(texts) for key, texts in about["columns"].items()}
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise WordbiasError(
                    f"{self.path}: its header of representations is damaged; write it again"
                ) from None
        others = f"; its tensors: {listed(tensors)}"
        if unknown := [name for name in tensors if name not in known]:
            others += f" (numpy lacks the type of {listed(unknown)}: write them as float32)"
        name = choose(self.path, floats, array, "array", others)
        if name not in known:
            raise WordbiasError(f"{self.path}: lacks the tensor {name!r}{others}")
        self._columns = {key: tensor for key, tensor in known.items() if key != name}
        return known[name], name

    def cells(self, name: str) -> Cells:
        """Return one column: the values of its codes, or the values of a tensor as text."""
        values = self._values.get(name)
        codes = self._columns[name if values is None else _COLUMN + name].tolist()
        if values is None:
            return [cell_of(cell) for cell in codes]
        if not all(0 <= code < len(values) for code in codes):
            raise WordbiasError(f"{self.path}: column {name!r} is damaged; write the file again")
        return [str(values[code]) for code in codes]

    def _read(self, rows: int) -> Iterator[Floats]:
        if self._fortran:
            yield from self._of_columns(map_npy(Path(self.path)), rows)
            return
        with Path(self.path).open("rb") as file:
            file.seek(self._offset)
            yield from self._of_file(file, rows)

    def take(self, places: NDArray[np.intp]) -> Floats:
        """Return rows by number."""
        # They are read one by one: of a memory map the system counts the pages around each as well.
        if self._fortran:
            return np.asarray(map_npy(Path(self.path))[places])
        rows = np.empty((len(places), self.dim), self.dtype)
        with Path(self.path).open("rb") as file:
            for i in np.argsort(places, kind="stable").tolist():
                file.seek(self._offset + int(places[i]) * self.dim * self.dtype.itemsize)
                rows[i] = read_rows(file, 1, self.dim, self.dtype, Path(self.path))[0]
        return rows

    def rewrite(self, file: IO[bytes], transform: Map, written: Callable[[int], None]) -> None:
        """Write the same bytes with other vectors; see `RowSource`."""
        with Path(self.path).open("rb") as source:
            _copy(source, file, self._offset)
            if self._fortran:  # column after column in the file: mapped as a whole
                whole = io.BytesIO()
                self._write(whole, transform, written)
                y = np.frombuffer(whole.getbuffer(), self.dtype).reshape(self.n, self.dim)
                file.write(np.ascontiguousarray(y.T).data)
            else:
                self._write(file, transform, written)
            source.seek(self._offset + self.n * self.dim * self.dtype.itemsize)
            shutil.copyfileobj(source, file, _CHUNK)


def _copy(source: IO[bytes], file: IO[bytes], size: int) -> None:
    while size and (part := source.read(min(size, _CHUNK))):
        file.write(part)
        size -= len(part)


class NpzRows(_Arrays):
    """Rows of one array of a .npz file; arrays of one value for each row are its columns."""

    kind = "npz"

    def __init__(self, path: str, array: str | None) -> None:
        self.path = path
        names = npz_names(Path(path))
        with reading_numpy(Path(path)), zipfile.ZipFile(path) as archive:
            headers = {name: npz_header(archive, name) for name in names}
        floats = _matrices({n: (shape, kind) for n, (shape, _, kind, _) in headers.items()})
        others = f"; its arrays: {listed(names)}"
        self._name = choose(path, floats, array, "array", others)
        shape, self._fortran, dtype, self._begin = headers[self._name]
        self._shaped(shape, dtype, self._name)
        with reading_numpy(Path(path)), zipfile.ZipFile(path) as archive:
            check_member(Path(path), archive, self._name)
        self.columns: tuple[str, ...] = tuple(
            n for n, (shape, *_) in headers.items() if shape == (self.n,)
        )

    def cells(self, name: str) -> Cells:
        """Return one column, the values of an array as text."""
        return [cell_of(cell) for cell in load_npz(Path(self.path), name).tolist()]

    def _read(self, rows: int) -> Iterator[Floats]:
        path = Path(self.path)
        if self._fortran:
            whole = load_npz(path, self._name).reshape(self.n, self.dim)
            yield from self._of_columns(whole, rows)
            return
        with (
            reading_numpy(path),
            zipfile.ZipFile(path) as archive,
            archive.open(member_of(archive, self._name)) as member,
        ):
            member.read(self._begin)
            yield from self._of_file(member, rows)

    def rewrite(self, file: IO[bytes], transform: Map, written: Callable[[int], None]) -> None:
        """Write the same archive with another array; see `RowSource`."""
        path = Path(self.path)
        with (
            reading_numpy(path),
            zipfile.ZipFile(path) as source,
            zipfile.ZipFile(file, "w") as target,
        ):
            wanted = member_of(source, self._name).filename
            for info in source.infolist():
                same = zipfile.ZipInfo(info.filename, info.date_time)
                same.compress_type, same.external_attr = info.compress_type, info.external_attr
                with source.open(info) as old, target.open(same, "w", force_zip64=True) as new:
                    if info.filename != wanted:
                        shutil.copyfileobj(old, new, _CHUNK)
                        continue
                    shape = (self.n, self.dim)
                    about = {"descr": np.lib.format.dtype_to_descr(self.dtype), "shape": shape}
                    np.lib.format.write_array_header_1_0(new, {**about, "fortran_order": False})
                    self._write(new, transform, written)


class ArrayRows(_Arrays):
    """Rows of an array in memory, with columns of one value for each row."""

    kind = "memory"

    def __init__(self, array: NDArray[Any], columns: Mapping[str, Cells], name: str) -> None:
        self.path = name
        self._shaped(array.shape, array.dtype, "")
        self._array = array.reshape(self.n, self.dim)
        self._cells = columns
        self.columns: tuple[str, ...] = tuple(columns)
        for key, cells in columns.items():
            if len(cells) != self.n:
                raise WordbiasError(
                    f"{name}: column {key!r} has {len(cells):,} values for {self.n:,} vectors"
                )

    def cells(self, name: str) -> Cells:
        """Return one column."""
        return self._cells[name]

    def _read(self, rows: int) -> Iterator[Floats]:
        for start in range(0, self.n, rows):
            yield self._array[start : start + rows]

    def take(self, places: NDArray[np.intp]) -> Floats:
        """Return rows by number."""
        return np.asarray(self._array[places])

    def changed(self, transform: Map) -> Floats:
        """Return an array of the same type and shape with the vectors mapped."""
        out = np.empty((self.n, self.dim), self.dtype)
        for start, x in self._pieces():
            out[start : start + len(x)] = mapped(transform, x, self.path, start)
        return out

    def rewrite(self, file: IO[bytes], transform: Map, written: Callable[[int], None]) -> None:
        """Refuse: an array in memory has no format."""
        raise WordbiasError("an array in memory is not written; its result is an array")
