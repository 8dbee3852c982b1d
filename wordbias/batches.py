"""Fitted methods on batches of rows: arrays, Arrow tables, data frames, mappings of columns.

A process that only calls `BatchMap` loads numpy, and neither scikit-learn nor torch.
"""

from __future__ import annotations

import copy
import os
import reprlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.calls import python_messages
from wordbias.devices import blas_threads
from wordbias.errors import WordbiasError, listed, need
from wordbias.formats.rows.arrow import Vectors, choose_columns, runs
from wordbias.formats.rows.source import Floats, mapped
from wordbias.rendering import how_many

if TYPE_CHECKING:
    from wordbias.methods.transform import Step

ROWS = 256
"""Number of rows that the steps of a method get at one time."""
_FLOATS = ("float16", "float32", "float64")


def map_rows(fitted: Callable[[Any], Any], x: Floats) -> Floats:
    """Map rows (n, d) to (n, k); a row has the same bytes in any batch, process and thread."""
    # BLAS rounds a row of a product by its place among the rows, and by the number of threads. So
    # each row is a product of its own, (1, d) by (d, k), in float64 and on one BLAS thread. The
    # steps get exactly 256 rows at a time, the last ones filled up with zeros.
    _refuse_other(x)
    block, out = np.zeros((ROWS, 1, x.shape[1])), x
    between = np.result_type(x.dtype, np.float32)
    with _one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(x) or 1, ROWS):
            part = x[start : start + ROWS]
            block[: len(part), 0], block[len(part) :] = part, 0
            done = fitted(block)
            if not start:
                out = np.empty((len(x), done.shape[-1]), x.dtype)
            out[start : start + ROWS] = done[: len(part), 0].astype(between)
    return out


def _refuse_other(x: NDArray[Any]) -> None:
    if x.ndim != 2:
        how = "; give one vector as x[None]" if x.ndim == 1 else ""
        raise WordbiasError(f"expected rows of shape (n, d), got {x.shape}{how}")
    if x.dtype.name not in _FLOATS:
        raise WordbiasError(f"expected values of {', '.join(_FLOATS)}, got {x.dtype}")


class _Callers:
    """Number of calls of `map_rows` that run now, in all threads, and the limit that they share."""

    # BLAS has one number of threads for the process: the first call limits it, the last restores
    # it.

    def __init__(self) -> None:
        self.lock, self.count, self.limit = threading.Lock(), 0, ExitStack()


_callers = _Callers()


def _forget_callers() -> None:
    """Start anew in a forked process, which has none of the threads of its parent."""
    global _callers
    _callers = _Callers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_callers)


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    callers = _callers
    with callers.lock:
        if not callers.count:
            callers.limit.enter_context(blas_threads(1))
        callers.count += 1
    try:
        yield
    finally:
        with callers.lock:
            callers.count -= 1
            if not callers.count:
                callers.limit.close()


_BATCH = "the batch"


@dataclass(frozen=True, eq=False)
class BatchMap:
    """A fitted method as a function of batches, which engines pickle and send to their workers.

    Called with a batch, it returns one of the same kind in which only the vectors are changed:

    - an array ``(n, d)``: an array of its type;
    - a pyarrow ``Table`` or ``RecordBatch``: the same schema with its metadata;
    - a pandas ``DataFrame``: the same index and columns;
    - a mapping of columns, as Ray and Hugging Face datasets give: lists stay lists, arrays arrays.

    The vectors are a column of lists of floats, all of one length and none missing, or a run of
    float columns whose names count up (``dim_0``, ``dim_1``, …). `map_rows` says how they are
    mapped, and which bytes are guaranteed. The batch is not changed.
    """

    name: str
    steps: tuple[Step, ...]
    dim: int
    origin: str
    array: str | None = None

    def __call__(self, batch: Any) -> Any:
        """Return a batch of the same kind with the vectors mapped."""
        with python_messages():
            x, put = open_batch(batch, self.array)
            _refuse_other(x)
            if not len(x) and not x.shape[1]:
                return put(x)
            if x.shape[1] != self.dim:
                raise WordbiasError(
                    f"{_BATCH}: its vectors have {how_many(x.shape[1], 'dimension')}; {self.name} "
                    f"was fitted on {self.origin}, with {self.dim}; fit it again on these vectors"
                )
            return put(mapped(partial(map_rows, self._map), x, _BATCH, 0))

    def _map(self, x: Any) -> Any:
        for step in self.steps:
            x = step(x)
        return x

    def __repr__(self) -> str:
        where = "" if self.array is None else f" of the column {self.array!r}"
        return f"<BatchMap {self.name}: vectors{where} of {how_many(self.dim, 'value')}>"


Opened = tuple[Floats, Callable[[Floats], Any]]
"""The vectors of a batch, and a function that returns the batch with others in their place."""


def open_batch(batch: Any, array: str | None = None) -> Opened:
    """Return the vectors (n, d) of a batch, and `put(x)`, which returns a new batch with others."""
    # A batch without rows may not tell d, which is then 0.
    pyarrow, pandas = sys.modules.get("pyarrow"), sys.modules.get("pandas")
    if isinstance(batch, np.ndarray):
        return batch, lambda x: x
    if pyarrow is not None and isinstance(batch, (pyarrow.Table, pyarrow.RecordBatch)):
        return _open_table(batch, array)
    if pandas is not None and isinstance(batch, pandas.DataFrame):
        return _open_frame(batch, array)
    if isinstance(batch, Mapping):
        return _open_mapping(batch, array)
    kind = type(batch)
    how = ""
    if hasattr(batch, "with_format"):
        how = "; map a dataset with: dataset.map(method.on(), batched=True)"
    elif hasattr(batch, "to_arrow") and hasattr(batch, "columns"):
        how = "; give its to_arrow()"
    elif hasattr(batch, "__array__") or isinstance(batch, (list, tuple)):
        how = "; give an array: numpy.stack([numpy.asarray(row) for row in rows])"
    raise WordbiasError(
        f"{_BATCH}: expected an array of shape (n, d), a pyarrow Table or RecordBatch, a pandas "
        f"DataFrame, or a mapping of columns, got {kind.__module__}.{kind.__qualname__}{how}"
    )


def column_of(batch: Any, name: str) -> list[Any]:
    """Return the values of another column of a batch, such as labels."""
    names = () if isinstance(batch, np.ndarray) else getattr(batch, "column_names", batch)
    if name not in names:
        raise WordbiasError(
            f"{_BATCH}: has no column {name!r}; its columns: {listed(map(str, names))}"
        )
    column = batch[name]
    values: list[Any] = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return values


def _open_table(table: Any, array: str | None) -> Opened:
    vectors = Vectors.find(_BATCH, table.schema, array)
    if not vectors.dim:
        column = table.column(vectors.names[0])
        first = [chunk for chunk in getattr(column, "chunks", [column]) if len(chunk)][:1]
        length = sum(len(getattr(chunk, "storage", chunk)[:1].flatten()) for chunk in first)
        vectors = replace(vectors, dim=length)
    return vectors.of(table, 0), partial(vectors.put, table)


def _open_frame(frame: Any, array: str | None) -> Opened:
    labels = [str(label) for label in frame.columns]
    named = dict(zip(labels, frame.columns, strict=True))
    names = _find(labels, lambda name: _kind_of_series(frame[named[name]]), array, len(frame))
    columns = [frame[named[name]] for name in names]

    def changed(new: Iterable[Any]) -> Any:
        frame_copy = frame.copy(deep=False)
        for column, values in zip(columns, new, strict=True):
            frame_copy[column.name] = values
        return frame_copy

    if not columns:
        return np.zeros((0, 0)), lambda _: changed(())
    if len(columns) > 1:
        x = _side_by_side([column.to_numpy() for column in columns])
        return x, lambda x: changed(
            type(series)(values, series.index).astype(series.dtype)
            for series, values in zip(columns, np.ascontiguousarray(x.T), strict=True)
        )
    (column,) = columns
    if hasattr(column.dtype, "pyarrow_dtype"):
        pa = need("pyarrow", extra="parquet", purpose="Arrow")
        x, put = _open_table(pa.table({names[0]: column.array.__arrow_array__()}), names[0])
        return x, lambda x: changed([type(column.array)(put(x).column(0))])
    rows = column.to_numpy()
    return _stacked(rows), lambda x: changed([_like(rows, x)])


def _open_mapping(batch: Mapping[str, Any], array: str | None) -> Opened:
    """Open a mapping; if the vectors are named, no other column is decoded."""
    key = array if array in batch else next(iter(batch), None)
    count = 0 if key is None else len(batch[key])
    names = _find(list(batch), lambda name: _kind_of(batch[name]), array, count)
    columns = [batch[name] for name in names]

    def changed(new: Iterable[Any]) -> Any:
        batch_copy: Any = copy.copy(batch) if hasattr(batch, "__copy__") else dict(batch)
        for name, values in zip(names, new, strict=True):
            batch_copy[name] = values
        return batch_copy

    if not columns:
        return np.zeros((0, 0)), lambda _: changed(())
    if len(columns) > 1:
        x = _side_by_side([np.asarray(column) for column in columns])
        return x, lambda x: changed(
            values.tolist() if isinstance(old, list) else values
            for old, values in zip(columns, np.ascontiguousarray(x.T), strict=True)
        )
    (column,) = columns
    if isinstance(column, np.ndarray) and column.dtype != object:
        return column, lambda x: changed([x])
    return _stacked(column), lambda x: changed([_like(column, x)])


def _find(
    names: list[str], kind: Callable[[str], str], array: str | None, rows: int
) -> tuple[str, ...]:
    """Return the columns of the vectors; of a batch without rows, which has no kinds, none."""
    if not rows and (array is None or array in names):
        return ()
    known = rows and len({*names}) == len(names)
    if known and array in names and kind(array) == "lists":
        return (array,)
    kinds = {name: kind(name) if known else "" for name in names}
    lists = [name for name in kinds if kinds[name] == "lists"]
    counted = runs(names, [kinds[name] == "floats" for name in names])
    return choose_columns(_BATCH, lists, counted, array, names)


def _side_by_side(columns: Sequence[NDArray[Any]]) -> Floats:
    """Return vectors whose values stand in a column each."""
    if len({column.dtype for column in columns}) > 1:
        kinds = ", ".join(sorted({str(column.dtype) for column in columns}))
        raise WordbiasError(f"{_BATCH}: the columns of its vectors are {kinds}; give them one type")
    return np.stack(columns, axis=1)


def _stacked(rows: Any) -> Floats:
    """Return a list, or an array of objects, that holds one list or array for each row."""
    vectors: list[Floats] = []
    for i, row in enumerate(rows):
        x = _vector(row)
        if x is None:
            raise WordbiasError(
                f"{_BATCH}: row {i + 1} has no vector, but {reprlib.repr(row)}; expected a list of "
                "floats, so leave the row out or mend it"
            )
        if vectors and len(x) != len(vectors[0]):
            raise WordbiasError(
                f"{_BATCH}: row {i + 1} has {how_many(len(x), 'value')}, but the first row "
                f"{len(vectors[0])}; expected vectors of one length"
            )
        vectors.append(x)
    return np.stack(vectors)


def _like(rows: Any, x: Floats) -> Any:
    """Return vectors as a list, or an array of objects, of what the rows are."""
    vectors = list(x) if isinstance(rows[0], np.ndarray) else x.tolist()
    if not isinstance(rows, np.ndarray):
        return vectors
    objects = np.empty(len(vectors), object)
    for i, row in enumerate(vectors):
        objects[i] = row
    return objects


def _kind_of(values: Any) -> str:
    """Return whether the values of a column are ``lists`` of floats, ``floats``, or neither."""
    if not isinstance(values, np.ndarray) or values.dtype == object:
        first = values[0] if isinstance(values, (list, tuple, np.ndarray)) else None
        if isinstance(first, (float, np.floating)):
            return "floats"
        vector = np.asarray(first) if _vector(first) is not None else np.zeros(0, int)
        return "lists" if vector.dtype.kind == "f" else ""
    return {1: "floats", 2: "lists"}.get(values.ndim, "") if values.dtype.kind == "f" else ""


def _kind_of_series(series: Any) -> str:
    """Return the same of a column of pandas."""
    if hasattr(series.dtype, "pyarrow_dtype"):
        pa = need("pyarrow", extra="parquet", purpose="Arrow")
        kind = series.dtype.pyarrow_dtype
        if pa.types.is_floating(getattr(kind, "value_type", pa.null())):
            return "lists"
        return "floats" if pa.types.is_floating(kind) else ""
    if series.dtype.kind == "f":
        return "floats"
    return _kind_of(series.to_numpy()) if series.dtype == object else ""


def _vector(row: Any) -> Floats | None:
    """Return a row of floats as an array, or None; whole numbers in a list are floats too."""
    if not isinstance(row, (list, tuple, np.ndarray)):
        return None
    try:
        x = np.asarray(row)
    except ValueError:  # lists of several lengths
        return None
    if not isinstance(row, np.ndarray) and x.dtype.kind in "iu":
        x = x.astype(float)
    return x if x.ndim == 1 and x.dtype.kind == "f" else None
