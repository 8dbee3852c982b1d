"""Rows of vectors written anew, with their columns, in a format that `open_rows` reads."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, need
from wordbias.formats.files import replacing

FORMATS = (".parquet", ".arrow", ".feather", ".npy", ".npz", ".csv", ".tsv")
"""Suffixes of the formats."""
NAME = "embedding"
"""Name of the vectors where there is one array of them."""
Vectors = Mapping[str, NDArray[np.float32]]
Columns = Mapping[str, Sequence[str]]


def is_row_suffix(path: str | Path) -> bool:
    """Return whether a file's suffix is that of a format of rows."""
    return Path(path).suffix.lower() in FORMATS


def check_rows(path: str | Path, vectors: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse, before work begins, what a format cannot hold."""
    suffix = Path(path).suffix.lower()
    if suffix == ".npy" and len(vectors) > 1:
        raise WordbiasError(
            f"{path}: a .npy file holds one array, and there are {len(vectors)}; choose one layer "
            "with --layers, or write .npz or .parquet"
        )
    if both := [name for name in columns if name in vectors]:
        raise WordbiasError(
            f"{path}: the texts have a column {both[0]!r} already; leave it out with --keep"
        )
    if suffix in FORMATS[:3]:
        need("pyarrow", extra="parquet", purpose=f"{path}: {suffix[1:]}")


def write_rows(path: str | Path, vectors: Vectors, columns: Columns) -> None:
    """Write arrays, (n, d) each, and columns of `n` texts, whole or not at all."""
    check_rows(path, [*vectors], [*columns])
    suffix = Path(path).suffix.lower()
    with replacing(path) as file:
        if suffix == ".npy":
            np.save(file, next(iter(vectors.values())))
        elif suffix == ".npz":
            texts = {name: np.array(cells, dtype=np.str_) for name, cells in columns.items()}
            arrays: dict[str, Any] = {**vectors, **texts}
            np.savez(file, **arrays)
        elif suffix in (".csv", ".tsv"):
            _write_text(file, vectors, columns, "," if suffix == ".csv" else "\t")
        else:
            _write_arrow(file, vectors, columns, suffix)


def _write_arrow(file: IO[bytes], vectors: Vectors, columns: Columns, suffix: str) -> None:
    """Write a table of Arrow, with lists of numbers as vectors."""
    arrow = need("pyarrow", extra="parquet", purpose=suffix[1:])
    lists = {
        name: arrow.FixedSizeListArray.from_arrays(arrow.array(x.reshape(-1)), x.shape[1])
        for name, x in vectors.items()
    }
    table = arrow.table({**{name: list(cells) for name, cells in columns.items()}, **lists})
    if suffix == ".parquet":
        need("pyarrow.parquet", extra="parquet", purpose="parquet").write_table(table, file)
        return
    with need("pyarrow.ipc", extra="parquet", purpose=suffix[1:]).new_file(
        file, table.schema
    ) as writer:
        writer.write_table(table)


def _write_text(file: IO[bytes], vectors: Vectors, columns: Columns, mark: str) -> None:
    """Write a table of text, with a column for each dimension: 0 and up, after a letter or name."""
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=mark, lineterminator="\n")
    prefixes = ["e"] if len(vectors) == 1 else [f"{name}_" for name in vectors]
    dims = [x.shape[1] for x in vectors.values()]
    names = [f"{prefix}{i}" for prefix, d in zip(prefixes, dims, strict=True) for i in range(d)]
    writer.writerow([*columns, *names])
    for i, cells in enumerate(zip(*columns.values(), strict=True) if columns else ()):
        writer.writerow([*cells, *_numbers(vectors, i)])
    if not columns:
        writer.writerows(_numbers(vectors, i) for i in range(len(next(iter(vectors.values())))))
    text.detach()


def _numbers(vectors: Vectors, row: int) -> list[str]:
    """Return the numbers of a row, each in the fewest digits that give the same float32."""
    return [str(value) for x in vectors.values() for value in x[row]]
