"""Tables of text in files: plain lines, TSV, CSV or JSON lines, compressed or not; Parquet."""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, need
from wordbias.formats.source import has_lone_surrogate, refuse_foreign
from wordbias.text_files import OPENERS, bounded_lines, opened

PLAIN = "text"
"""Name of the only column of a plain text."""
_CSV_ENDS = "the file ends within quotation marks"
_BATCH = 1 << 14
_KINDS = {".tsv": "tsv", ".tab": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def cell_of(value: object) -> str | None:
    """Return a label or another value as text; None where it is missing, as in pandas."""
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    if missing or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return None
    return str(value)


@dataclass(frozen=True, eq=False)
class Column:
    """One value for every text: a label, a word, a split.

    Attributes
    ----------
    codes
        Places in `values`, shape ``(n,)``, int32.
    values
        The distinct values, sorted.
    """

    codes: NDArray[np.int32]
    values: tuple[str, ...]

    @classmethod
    def of(cls, cells: Iterable[str]) -> Column:
        """Return a column of cells, whose distinct values are numbered in sorted order."""
        cells = list(cells)
        values = tuple(sorted(set(cells)))
        places = {value: i for i, value in enumerate(values)}
        return cls(np.array([places[cell] for cell in cells], np.int32), values)

    def cells(self) -> list[str]:
        """Return the value of every text."""
        return [self.values[code] for code in self.codes]


class Line(NamedTuple):
    """A row of a table.

    Attributes
    ----------
    number
        Its line in the file, from 1.
    cells
        Its texts by column.
    problem
        What is wrong with an unusable row.
    nulls
        Columns with JSON's null, which is no text; their cells are ``null``.
    """

    number: int
    cells: dict[str, str]
    problem: str = ""
    nulls: frozenset[str] = frozenset()

    def lacks(self, name: str) -> str:
        """Return why a column has no text in this row; empty if it has one."""
        if name not in self.cells:
            return f"has no {name!r}"
        return f"has null as {name!r}, which is no text" if name in self.nulls else ""


SUFFIXES = (".parquet", ".pq")


def is_parquet(file: Path) -> bool:
    """Return whether a file has a suffix of Parquet."""
    return file.suffix.lower() in SUFFIXES


def kind_of(file: Path) -> str:
    """Return ``tsv``, ``csv``, ``jsonl`` or ``plain`` by the suffix, that before ``.gz`` etc."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in OPENERS:
        suffixes.pop()
    return _KINDS.get(suffixes[-1] if suffixes else "", "plain")


def read_lines(file: Path) -> Iterator[Line]:
    """Yield the rows of a file.

    Plain text has one text on each line, and an empty line is an empty text. TSV has a header and
    no quoting: a quotation mark is an ordinary character. CSV has a header and quotes where needed.
    JSON lines have one object on each line, of which lists and objects are left out, as those of
    Parquet are; its rows have numbers instead of lines.

    Raises
    ------
    WordbiasError
        If the file cannot be read, is not UTF-8 text, is empty although it needs a header, or has
        an unusable header.
    """
    if is_parquet(file):
        return _parquet(file)
    readers = {"tsv": _tsv, "csv": _csv, "jsonl": _json}
    read = readers.get(kind_of(file), _plain)
    return read(file, numbered_lines(file))


def numbered_lines(file: Path, *, ends: bool = False) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, from 1.

    Parameters
    ----------
    ends
        Keep the ends of lines.

    Raises
    ------
    WordbiasError
        If the file cannot be read, is not UTF-8, or is no text.
    """
    plain, blank = kind_of(file) == "plain", True
    for number, raw in _raw(file):
        if blank:
            refuse_foreign(file, raw, plain=plain)
            blank = not raw.strip()
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            found = error.object[error.start : error.start + 1]
            raise WordbiasError(
                f"{file}: line {number}: byte {error.start + 1} is not UTF-8 ({found!r}); convert "
                "the file, such as with: iconv -f latin1 -t utf-8"
            ) from None
        yield number, line if ends else line.rstrip("\r\n")


def _raw(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with opened(file, OPENERS.get(file.suffix.lower(), open)) as stream:
            yield from enumerate(bounded_lines(stream, file), 1)
    except (gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error) as error:
        raise WordbiasError(f"{file}: cannot be read: {error}; fetch it again") from None
    except OSError as error:
        raise WordbiasError(f"{file}: cannot be read: {error.strerror or error}") from None


def _plain(file: Path, lines: Iterator[tuple[int, str]]) -> Iterator[Line]:
    for number, line in lines:
        yield Line(number, {PLAIN: line})


def _tsv(file: Path, lines: Iterator[tuple[int, str]]) -> Iterator[Line]:
    names: list[str] = []
    for number, line in lines:
        if line and names:
            yield _row(number, names, line.split("\t"))
        elif line:
            names = _header(file, number, line.split("\t"))
    _refuse_empty(file, names)


def _csv(file: Path, lines: Iterator[tuple[int, str]]) -> Iterator[Line]:
    names: list[str] = []
    last = 0

    def numbered() -> Iterator[str]:
        nonlocal last
        for number, line in lines:
            last = number
            yield line + "\n"

    try:
        for cells in csv.reader(numbered(), strict=True):
            if not names:
                names = _header(file, last, cells)
            elif cells:
                yield _row(last, names, cells)
        _refuse_empty(file, names)
    except csv.Error as error:
        if str(error).startswith("field larger"):
            raise WordbiasError(
                f"{file}: line {last}: has a cell of more than {csv.field_size_limit():,} "
                "characters, which is read from .tsv and .jsonl only; close its quote, or convert "
                "the file"
            ) from None
        reason = _CSV_ENDS if str(error) == "unexpected end of data" else error
        raise WordbiasError(f"{file}: line {last}: is no CSV: {reason}") from None


def _header(file: Path, number: int, names: list[str]) -> list[str]:
    names = [name.strip() for name in names]
    if "" in names or len(set(names)) < len(names):
        raise WordbiasError(
            f"{file}: line {number}: expected a header, a name of its own for each column; found "
            f"{', '.join(map(repr, names))[:200]}"
        )
    return names


def _refuse_empty(file: Path, names: list[str]) -> None:
    if not names:
        raise WordbiasError(f"{file}: is empty; expected a header, a name for each column")


def _row(number: int, names: list[str], cells: list[str]) -> Line:
    if len(cells) != len(names):
        return Line(number, {}, f"expected {len(names)} columns, found {len(cells)}")
    return Line(number, dict(zip(names, cells, strict=True)))


def _json(file: Path, lines: Iterator[tuple[int, str]]) -> Iterator[Line]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            yield Line(number, {}, "expected a JSON object")
        elif half := next(filter(has_lone_surrogate, _strings(found)), None):
            yield Line(number, {}, f"an escape stands for half a character: {half!a:.60}")
        else:
            nulls = frozenset(key for key, value in found.items() if value is None)
            yield Line(number, dict(_scalars(found)), nulls=nulls)


def _strings(found: dict[str, Any]) -> Iterator[str]:
    """Yield the keys of an object and its texts."""
    for key, value in found.items():
        yield key
        if isinstance(value, str):
            yield value


def _scalars(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the values of an object that are neither lists nor objects, as text."""
    for key, value in found.items():
        if isinstance(value, str):
            yield key, value
        elif not isinstance(value, (list, dict)):
            yield key, json.dumps(value)


def _parquet(file: Path) -> Iterator[Line]:
    """Yield the rows of a Parquet file; columns of lists and of other nested values are left out.

    A missing value, also nan, is an empty cell and among the nulls.
    """
    pa = need("pyarrow", extra="parquet", purpose="Reading Parquet")
    parquet = need("pyarrow.parquet", extra="parquet", purpose="Reading Parquet")
    try:
        with parquet.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False) as opened:
            names = [one.name for one in opened.schema_arrow if not pa.types.is_nested(one.type)]
            rows = 0
            for batch in opened.iter_batches(_BATCH, columns=names):
                columns = [map(cell_of, batch.column(name).to_pylist()) for name in names]
                for number, cells in enumerate(zip(*columns, strict=True), rows + 1):
                    nulls = frozenset(n for n, c in zip(names, cells, strict=True) if c is None)
                    found = {n: c or "" for n, c in zip(names, cells, strict=True)}
                    yield Line(number, found, nulls=nulls)
                rows += len(batch)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise WordbiasError(f"{file}: cannot be read as Parquet: {reason}") from None
