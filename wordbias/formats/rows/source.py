"""Rows of one file or of memory: what every format gives, and checks that all formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import threads
from wordbias.errors import WordbiasError, listed

T = TypeVar("T")
R = TypeVar("R")
Floats = NDArray[np.floating[Any]]
Cells = Sequence[str | None]
Map = Callable[[Floats], Floats]
"""Map of rows, shape ``(n, d)``, which keeps their shape and type."""


@dataclass(frozen=True, eq=False)
class MapByRow:
    """Several maps of rows; each row has one of them."""

    maps: tuple[Map, ...]
    # number of the map of each row, shape `(n,)`: of all rows, or of those of a file
    codes: NDArray[np.integer[Any]]

    def __call__(self, x: Floats, start: int = 0) -> Floats:
        """Map rows of which `start` is the number of the first."""
        codes, out = self.codes[start : start + len(x)], np.empty_like(x)
        for code in np.unique(codes):
            out[codes == code] = self.maps[code](x[codes == code])
        return out


BLOCK = 1 << 25
"""Bytes of vectors that are read at once."""


class RowBlock(NamedTuple):
    """Consecutive rows."""

    start: int  # number of the first row, from 0
    vectors: Floats  # float32 or float64, shape `(n, d)`
    # cells of the requested columns as text; None where one is missing
    columns: Mapping[str, Cells]


class RowSource(Protocol):
    """Rows of one file, or of memory."""

    path: str  # the file; in memory a name for messages
    kind: str  # format, such as `parquet`
    columns: tuple[str, ...]  # names of the other columns
    dim: int  # values of a vector; 0 if there is no row to tell
    dtype: np.dtype[Any]  # type of the values

    @property
    def n(self) -> int:
        """Number of rows."""

    def blocks(self, columns: Sequence[str], rows: int) -> Iterator[RowBlock]:
        """Yield at most `rows` rows at a time, with vectors of the type `dtype`."""

    def cells(self, name: str) -> Cells:
        """Return one column, without reading the vectors."""

    def like(self, other: Any) -> str:
        """Return how another source of the same format differs; empty if it has the same form."""

    def rewrite(self, file: IO[bytes], transform: Map, written: Callable[[int], None]) -> None:
        """Write the same content with other vectors; call `written` with numbers of rows."""


def block_rows(dim: int, itemsize: int, most: int | None = None) -> int:
    """Return the number of rows that are read at once."""
    fitting = max(1, BLOCK // max(1, dim * itemsize))
    return fitting if most is None else max(1, min(most, fitting))


def computed(x: Floats) -> Floats:
    """Return vectors in a type and byte order that is computed with: float32 or float64."""
    wide = x.dtype.itemsize == 8
    return x.astype(np.float64 if wide else np.float32, copy=False)


def check_finite(x: Floats, path: str, start: int) -> None:
    """Refuse rows with a value that is no finite number; `start` is the number of the first."""
    with np.errstate(all="ignore"):
        total = x.sum(dtype=np.float32 if x.dtype.itemsize == 2 else None)
    if np.isfinite(total):  # then all values are
        return
    good = np.isfinite(x)
    if not good.all():
        row, place = np.argwhere(~good)[0].tolist()
        raise WordbiasError(
            f"{path}: row {start + row + 1}: value {place + 1} is {x[row, place]:g}; expected "
            "finite numbers, so leave the row out or mend it"
        )


def mapped(transform: Map, x: Floats, path: str, start: int) -> Floats:
    """Map vectors, and return them in the type that they had."""
    check_finite(x, path, start)
    with np.errstate(all="ignore"):
        y = computed(x)
        y = transform(y, start) if isinstance(transform, MapByRow) else transform(y)
        if y.shape != x.shape:
            raise WordbiasError(
                f"{path}: the method maps rows of {x.shape[1]} values to shape {y.shape[1:]}; one "
                "for rows keeps their shape"
            )
        y = y.astype(x.dtype, copy=False)
    try:
        check_finite(y, path, start)
    except WordbiasError:
        raise WordbiasError(
            f"{path}: rows {start + 1:,} to {start + len(x):,}: the method gives values beyond "
            f"{x.dtype}; store the vectors in a wider type"
        ) from None
    return y


def choose(path: str, known: Sequence[str], array: str | None, what: str, others: str) -> str:
    """Return the asked one of several arrays or columns of vectors, or the only one."""
    if array is not None and array not in known:
        raise WordbiasError(
            f"{path}: no {what} of vectors is named {array!r}; those of vectors are "
            f"{listed(known)}{others}"
        )
    if array is None and not known:
        raise WordbiasError(f"{path}: holds no {what} of vectors{others}")
    if array is None and len(known) > 1:
        raise WordbiasError(
            f"{path}: holds {len(known)} {what}s of vectors, {listed(known)}; choose with --array "
            "NAME"
        )
    return array or known[0]


def side_by_side(
    items: Iterator[T], work: Callable[[T], R | None], write: Callable[[R], None]
) -> None:
    """Read, compute and write, in threads if there are several; a result of None is not written."""
    # While an item is computed, the next one is read and the last result is written. An item
    # without a result is one that a later result includes.
    if threads() == 1:
        for item in items:
            result = work(item)
            if result is not None:
                write(result)
        return
    done: Future[None] | None = None
    with ThreadPoolExecutor(2) as pool:
        ahead = pool.submit(_next, items)
        while upcoming := ahead.result():
            ahead = pool.submit(_next, items)
            result = work(upcoming[0])
            del upcoming
            if result is None:
                continue
            if done is not None:
                done.result()
            done = pool.submit(write, result)
            del result
        if done is not None:
            done.result()


def _next(items: Iterator[T]) -> tuple[T] | None:
    for item in items:
        return (item,)
    return None
