"""Rows in CSV and tab-separated text: all but the numbers is kept as it is, to the byte."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import orjson

from wordbias.errors import WordbiasError, listed
from wordbias.formats.rows.arrow import choose_columns, runs
from wordbias.formats.rows.source import Floats, Map, RowBlock, block_rows, mapped, side_by_side
from wordbias.formats.tables import kind_of, numbered_lines
from wordbias.text_files import OPENERS, check_length

_CELL = re.compile(r'"(?:[^"]|"")*"|[^,"]*')
_PRINTED = re.compile(r"\[\s*[-.0-9][^\s,]*\s+[-.0-9]|\[np\.float")
_DIGITS = re.compile(r"[eE].*|[^0-9]")
_FIRST = 100
_SINGLE = 9
"""Significant digits that tell every float32 from all others."""


class _Record(NamedTuple):
    """A record: the line at which it begins, its cells as they are written, and its end."""

    line: int
    cells: list[str]
    end: str


class DelimitedRows:
    """Rows of a CSV or tab-separated file with a header, compressed or not."""

    # The vectors are a run of columns whose names count up, or one column of lists, [0.1, 0.2].
    # Numbers of at most nine digits are taken as float32, others as float64.

    path: str
    kind: str
    header: list[str]
    columns: tuple[str, ...]
    dim: int
    dtype: np.dtype[Any]

    def __init__(self, path: str, array: str | None) -> None:
        self.path, self.kind = path, kind_of(Path(path))
        records = self._records()
        head = next(records, None)
        if head is None:
            raise WordbiasError(f"{path}: is empty; expected a header, a name for each column")
        self.header = [_bare(cell).strip() for cell in head.cells]
        first = list(islice(records, _FIRST))
        names, self._is_list = _find(path, self.header, first[:1], array)
        start = self.header.index(names[0])
        self._places = slice(start, start + len(names))
        self.columns = tuple(name for name in self.header if name not in names)
        digits = [_digits(cell) for record in first for cell in record.cells[self._places]]
        self.dtype = np.dtype("f4" if max(digits, default=0) <= _SINGLE else "f8")
        self.dim = len(names)
        if self._is_list:
            self.dim = len(self._vector(first[0])) if first else 0

    @cached_property
    def n(self) -> int:
        """Number of rows."""
        return sum(1 for _ in self._records()) - 1

    def _records(self) -> Iterator[_Record]:
        """Yield the header and the records; one in quotes may take several lines."""
        held: list[str] = []
        begin = size = 0
        quoted = False
        for number, line in numbered_lines(Path(self.path), ends=True):
            if not held:
                begin, size = number, 0
            held.append(line)
            if self.kind == "csv":
                size += len(line)
                check_length(size, begin, self.path)
                quoted ^= bool(line.count('"') % 2)
                if quoted:
                    continue
            whole = "".join(held)
            held = []
            if record := whole.rstrip("\r\n"):
                cells = record.split("\t") if self.kind == "tsv" else self._cells(record, begin)
                yield _Record(begin, cells, whole[len(record) :])
        if held:
            raise WordbiasError(
                f"{self.path}: line {begin}: the file ends within quotation marks; write it again"
            )

    def _cells(self, record: str, line: int) -> list[str]:
        if '"' not in record:
            return record.split(",")
        cells, place = [], 0
        while True:
            match = _CELL.match(record, place)
            end = match.end() if match else place
            cells.append(record[place:end])
            if end == len(record):
                return cells
            if record[end] != ",":
                raise WordbiasError(
                    f"{self.path}: line {line}: is no CSV: a quotation mark within a cell; double "
                    "it, and put the cell in quotes"
                )
            place = end + 1

    def _vector(self, record: _Record) -> list[float]:
        """Return the numbers of a record; refuse what is no number."""
        cells = record.cells[self._places]
        text = _bare(cells[0]).strip()[1:-1] if self._is_list else ",".join(cells)
        try:
            parsed = orjson.loads(f"[{text}]")
            if all(type(value) in (float, int) for value in parsed):
                return [float(value) for value in parsed]
        except (orjson.JSONDecodeError, OverflowError):
            pass
        numbers = text.split(",") if self._is_list else list(map(_bare, cells))
        try:
            return [float(number) for number in numbers]
        except ValueError:
            wrong = next(number for number in numbers if not _is_number(number))
            raise WordbiasError(
                f"{self.path}: line {record.line}: expected a number, found {wrong!r:.60}; leave "
                "the row out or mend it"
            ) from None

    def _blocks(self, rows: int) -> Iterator[tuple[int, list[_Record], Floats]]:
        """Yield the number of the first row, the records, and the matrix of their vectors."""
        records, start = self._records(), 0
        next(records)
        while block := list(islice(records, rows)):
            x = np.empty((len(block), self.dim), self.dtype)
            for i, record in enumerate(block):
                if len(record.cells) != len(self.header):
                    raise WordbiasError(
                        f"{self.path}: line {record.line}: expected {len(self.header)} columns, "
                        f"found {len(record.cells)}"
                    )
                vector = self._vector(record)
                if len(vector) != self.dim:
                    raise WordbiasError(
                        f"{self.path}: line {record.line}: has {len(vector)} values, but the first "
                        f"row {self.dim}; expected vectors of one length"
                    )
                with np.errstate(over="ignore"):  # refused where it is mapped or used
                    x[i] = vector
            yield start, block, x
            start += len(block)

    def blocks(self, columns: Sequence[str], rows: int) -> Iterator[RowBlock]:
        """Yield the rows; see `RowSource`."""
        places = {name: self.header.index(name) for name in columns}
        for start, records, x in self._blocks(rows):
            cells = {
                name: [_bare(record.cells[place]) or None for record in records]
                for name, place in places.items()
            }
            yield RowBlock(start, x, cells)

    def cells(self, name: str) -> list[str | None]:
        """Return one column, without reading the vectors."""
        place = self.header.index(name)
        return [
            _bare(record.cells[place]) or None if place < len(record.cells) else None
            for record in islice(self._records(), 1, None)
        ]

    def like(self, other: Any) -> str:
        """Return how another file differs; see `RowSource`."""
        return "" if self.header == other.header else f"has the columns {listed(other.header)}"

    def rewrite(self, file: IO[bytes], transform: Map, written: Callable[[int], None]) -> None:
        """Write the same text with other numbers; see `RowSource`."""
        # Numbers are written in the fewest digits that give the same float.
        separator = "\t" if self.kind == "tsv" else ","
        head = next(self._records())
        file.write(self._mark() + (separator.join(head.cells) + head.end).encode())

        def work(piece: tuple[int, list[_Record], Floats]) -> tuple[int, bytes]:
            start, records, x = piece
            y = mapped(transform, x, self.path, start)
            lines = []
            for record, row in zip(records, y, strict=True):
                numbers = orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY).decode()
                if self._is_list:
                    numbers = numbers if separator == "\t" else f'"{numbers}"'
                else:
                    numbers = numbers[1:-1].replace(",", separator)
                before, after = (
                    record.cells[: self._places.start],
                    record.cells[self._places.stop :],
                )
                lines.append(separator.join([*before, numbers, *after]) + record.end)
            return len(records), "".join(lines).encode()

        def write(done: tuple[int, bytes]) -> None:
            file.write(done[1])
            written(done[0])

        side_by_side(self._blocks(block_rows(self.dim * 8, 8)), work, write)

    def _mark(self) -> bytes:
        """Return the byte order mark of the file, if it has one."""
        path, mark = Path(self.path), b"\xef\xbb\xbf"
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            return mark if file.read(len(mark)) == mark else b""


def is_table(path: Path) -> bool:
    """Return whether a .csv or .tsv file has a header of names, unlike one of words and vectors."""
    kind = kind_of(path)
    if kind not in ("csv", "tsv"):
        return False
    try:
        first = next((line for _, line in numbered_lines(path) if line), "")
        cells = first.split("\t") if kind == "tsv" else next(csv.reader([first]), [])
    except (WordbiasError, csv.Error):  # words may be in any encoding
        return False
    names = [cell.strip() for cell in cells]
    numbers = [name for name in names if _is_number(name)]
    # columns may be named 0, 1, 2, …; other numbers are the vector of the first word
    counted = [[str(i + first) for i in range(len(numbers))] for first in (0, 1)]
    return len(names) > 1 and (not numbers or numbers in counted)


def _find(
    path: str, header: list[str], first: Sequence[_Record], array: str | None
) -> tuple[tuple[str, ...], bool]:
    """Return the columns of vectors, and whether it is one of lists."""
    if "" in header[1:] or not header:  # pandas leaves out the name of an index
        raise WordbiasError(f"{path}: line 1: expected a name for each column, found an empty one")
    cells = [_bare(cell).strip() for cell in first[0].cells] if first else []
    cells += [""] * (len(header) - len(cells))
    lists = [
        name
        for name, cell in zip(header, cells, strict=False)
        if cell[:1] == "[" and cell[-1:] == "]" and all(map(_is_number, cell[1:-1].split(",")))
    ]
    usable = [_is_number(cell) or not first for cell in cells[: len(header)]]
    counted = runs(header, usable)
    cut = [name for name, cell in zip(header, cells, strict=False) if _PRINTED.match(cell)]
    if cut and not lists and not counted:
        raise WordbiasError(
            f"{path}: column {cut[0]!r} holds arrays as numpy prints them, which may leave numbers "
            "out; write the table as Parquet, or the column as lists, with "
            f"frame[{cut[0]!r}].map(lambda x: x.tolist())"
        )
    names = choose_columns(path, lists, counted, array, header)
    return names, names[0] in lists


def _bare(cell: str) -> str:
    """Return a cell without its quotes."""
    return cell[1:-1].replace('""', '"') if cell[:1] == '"' and len(cell) > 1 else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _digits(text: str) -> int:
    """Return the number of significant digits of the longest number in a text."""
    return max(len(_DIGITS.sub("", number).lstrip("0")) for number in text.split(","))
