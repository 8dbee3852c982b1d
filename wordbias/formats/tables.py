"""Rows of a text file: plain lines, tabbed text, CSV or jsonl, compressed or not.

Tables in Parquet, where pandas is installed.

A folder that grows while work is done, and that a later call goes on with.
"""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from wordbias.errors import WordbiasError, need
from wordbias.formats.source import has_lone_surrogate, refuse_foreign
from wordbias.text_files import OPENERS, bounded_lines

PLAIN = "text"
"""What the only column of a file without columns is called."""
_CSV_ENDS = "the file ends within quotation marks"
_KINDS = {".tsv": "tsv", ".tab": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


class Line(NamedTuple):
    """One row: its line in the file, from 1, and its cells by column, or what is wrong with it.

    `nulls` are the columns that hold JSON's null, which is no text; their cells say ``null``.
    """

    number: int
    cells: dict[str, str]
    problem: str = ""
    nulls: frozenset[str] = frozenset()

    def lacks(self, name: str) -> str:
        """Say why a column cannot be read as a text; empty where it can."""
        if name not in self.cells:
            return f"has no {name!r}"
        return f"has null as {name!r}, which is no text" if name in self.nulls else ""


def kind_of(file: Path) -> str:
    """Return ``tsv``, ``csv``, ``jsonl`` or ``plain``, as the suffix says (but for .gz etc.)."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in OPENERS:
        suffixes.pop()
    return _KINDS.get(suffixes[-1] if suffixes else "", "plain")


def read_lines(file: Path) -> Iterator[Line]:
    """Yield the rows of a file.

    Plain text is one text a line, an empty line an empty text. Tabbed text has a header and no
    quotes (a quotation mark is one); CSV has a header and quotes where it needs them; jsonl has an
    object a line, of which values that are lists or objects are left out.

    Raises
    ------
    WordbiasError
        If the file cannot be read, is not UTF-8 text, is empty where it should have a header, or
        its header is of no use.
    """
    readers = {"tsv": _tabbed, "csv": _comma, "jsonl": _json}
    read = readers.get(kind_of(file), _plain)
    return read(file, numbered_lines(file))


def numbered_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, from 1, and without their ends.

    Raises
    ------
    WordbiasError
        If the file cannot be read, is not UTF-8, or is something else than text.
    """
    plain, blank = kind_of(file) == "plain", True
    for number, raw in _raw(file):
        if blank:
            refuse_foreign(file, raw, plain=plain)
            blank = not raw.strip()
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            found = error.object[error.start : error.start + 1]
            raise WordbiasError(
                f"{file}: line {number}: byte {error.start + 1} is not UTF-8 ({found!r}); convert "
                "the file, such as with: iconv -f latin1 -t utf-8"
            ) from None


def _raw(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        stream: IO[bytes]
        with OPENERS.get(file.suffix.lower(), open)(file, "rb") as stream:
            yield from enumerate(bounded_lines(stream, file), 1)
    except (gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error) as error:
        raise WordbiasError(f"{file}: cannot be read: {error}; fetch it again") from None
    except OSError as error:
        raise WordbiasError(f"{file}: cannot be read: {error.strerror or error}") from None


def _plain(file: Path, lines: Iterator[tuple[int, str]]) -> Iterator[Line]:
    for number, line in lines:
        yield Line(number, {PLAIN: line})


def _tabbed(file: Path, lines: Iterator[tuple[int, str]]) -> Iterator[Line]:
    names: list[str] = []
    for number, line in lines:
        if line and names:
            yield _row(number, names, line.split("\t"))
        elif line:
            names = _header(file, number, line.split("\t"))
    _refuse_empty(file, names)


def _comma(file: Path, lines: Iterator[tuple[int, str]]) -> Iterator[Line]:
    names: list[str] = []
    last = 0

    def fed() -> Iterator[str]:
        nonlocal last
        for number, line in lines:
            last = number
            yield line + "\n"

    try:
        for cells in csv.reader(fed(), strict=True):
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
    for key, value in found.items():
        yield key
        if isinstance(value, str):
            yield value


def _scalars(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        if isinstance(value, str):
            yield key, value
        elif not isinstance(value, (list, dict)):
            yield key, json.dumps(value)


SUFFIXES = (".parquet", ".pq")


def is_parquet(file: Path) -> bool:
    """Return whether a file is called as such files are."""
    return file.suffix.lower() in SUFFIXES


def read_parquet(file: Path) -> Any:
    """Return the table as a frame of pandas.

    Raises
    ------
    WordbiasError
        If pandas or pyarrow is missing, or the file is no such table.
    """
    pandas = need("pandas", extra="parquet", purpose="reading Parquet")
    try:
        return pandas.read_parquet(file)
    except ImportError:
        raise WordbiasError(
            f"{file}: pandas reads Parquet with pyarrow; install it with: pip install pyarrow"
        ) from None
    except (OSError, ValueError) as error:
        raise WordbiasError(f"{file}: cannot be read as Parquet: {error}") from None
