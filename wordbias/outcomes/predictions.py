"""The predictions of a classifier: columns of a file of any of the usual forms."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.formats.parquet import is_parquet, read_parquet
from wordbias.formats.tables import kind_of, read_lines
from wordbias.outcomes.confusion import listed

_MISSING = frozenset(("", "null"))  # the second is what jsonl calls no value


@dataclass(frozen=True, eq=False)
class Columns:
    """Some columns of a file, as texts.

    Attributes
    ----------
    cells
        By the name of the column.
    sha256
        Of the file.
    dropped, problem
        How many rows were left out because they cannot be used, and the first reason.
    """

    path: str
    cells: Mapping[str, Sequence[str]]
    sha256: str
    dropped: int = 0
    problem: str = ""

    def __len__(self) -> int:
        return len(next(iter(self.cells.values())))


def load_columns(path: str | Path, names: Sequence[str], *, skip_bad: bool = False) -> Columns:
    """Read columns of a CSV, tabbed or jsonl file, compressed or not, or of Parquet.

    Parameters
    ----------
    names
        Of the columns.
    skip_bad
        Leave out rows that cannot be used, and count them.

    Raises
    ------
    WordbiasError
        If the file cannot be read, has no such columns or no rows; if a row cannot be used and is
        not to be left out; if Parquet is to be read and pandas is missing.
    """
    file = Path(path)
    names = list(dict.fromkeys(names))
    read = _parquet if is_parquet(file) else _lines
    rows: list[Sequence[str]] = []
    bad: list[str] = []
    for cells, problem in read(file, names):
        if not problem:
            rows.append(cells)
            continue
        if not skip_bad:
            raise WordbiasError(f"{file}: {problem}; mend it, or drop such rows with --skip-bad")
        bad.append(problem)
    if not rows:
        among = f" that can be used, of {len(bad):,}; the first: {bad[0]}" if bad else ""
        raise WordbiasError(f"{file}: holds no rows{among}")
    cells_by_name = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return Columns(str(file), cells_by_name, _sha256(file), len(bad), bad[0] if bad else "")


Cells = tuple[Sequence[str], str]
"""One row: the cells asked for, and what is wrong with it."""


def _lines(file: Path, names: Sequence[str]) -> Iterator[Cells]:
    if kind_of(file) == "plain":
        raise WordbiasError(
            f"{file}: expected a file with columns: .csv, .tsv or .jsonl, compressed or not, or "
            ".parquet; name it as what it is"
        )
    checked = False
    for line in read_lines(file):
        cells = list(map(line.cells.get, names, repeat("")))
        if not line.problem and _MISSING.isdisjoint(cells):
            checked = True
            yield cells, ""
            continue
        lacking = [n for n, c in zip(names, cells, strict=True) if c in _MISSING]
        if not (checked or line.problem) and lacking[0] not in line.cells:
            raise WordbiasError(_no_column(file, lacking[0], list(line.cells)))
        yield cells, f"line {line.number}: {line.problem or f'has no {lacking[0]!r}'}"


def _parquet(file: Path, names: Sequence[str]) -> Iterator[Cells]:
    frame = read_parquet(file)
    for name in names:
        if name not in frame.columns:
            raise WordbiasError(_no_column(file, name, list(map(str, frame.columns))))
    missing = frame[list(names)].isna()
    lacking = missing.idxmax(axis=1).where(missing.any(axis=1), "")
    values = (frame[name].map(str) for name in names)
    for i, (lack, *cells) in enumerate(zip(lacking, *values, strict=True), 1):
        yield cells, f"row {i}: has no {lack!r}" if lack else ""


def _no_column(file: Path, name: str, known: Sequence[str]) -> str:
    return f"{file}: has no column {name!r}; it has {listed(known, 20)}"


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
