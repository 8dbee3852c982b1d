"""UTF-8 and CSV data files that people edit: read whole, with errors that name the line."""

from __future__ import annotations

import csv
import hashlib
import io
import lzma
import os
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from wordbias.errors import WordbiasError
from wordbias.text_files import OPENERS, read_bounded


class Source(NamedTuple):
    """The text of a file, and the hash of its uncompressed bytes."""

    path: str
    text: str
    sha256: str


def read_text(path: str | os.PathLike[str]) -> Source:
    """Read UTF-8 text, which may be compressed (.gz, .bz2, .xz).

    Raises
    ------
    WordbiasError
        If the file cannot be read, or is not UTF-8, with the line.
    """
    file = Path(path)
    try:
        data = read_bounded(file, OPENERS.get(file.suffix.lower(), open))
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise WordbiasError(f"{path}: cannot be read: {reason}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WordbiasError(
            f"{path}: line {line}: is not UTF-8 (byte {data[error.start : error.start + 1]!r}); "
            "convert the file"
        ) from None
    return Source(str(path), text, hashlib.sha256(data).hexdigest())


def records(
    source: Source, columns: Mapping[str, Sequence[str]], optional: Collection[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the cells of some columns of each row of a CSV file.

    Parameters
    ----------
    columns
        For the name of each column in the result, its possible names in the file.
    optional
        Columns whose cells may be empty.

    Raises
    ------
    WordbiasError
        If columns are missing; or if a row has another number of cells, an empty cell, or is no
        CSV, with its line.
    """
    reader = csv.reader(io.StringIO(source.text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        places = _places(header, columns, source.path)
        for cells in reader:
            if not any(cells):
                continue
            where = f"{source.path}: line {reader.line_num}"
            if len(cells) != len(header):
                raise WordbiasError(f"{where}: has {len(cells)} cells, the header {len(header)}")
            row = {name: cells[place].strip() for name, place in places.items()}
            if empty := [name for name, cell in row.items() if not cell and name not in optional]:
                raise WordbiasError(f"{where}: {empty[0]} is empty")
            yield reader.line_num, row
    except csv.Error as error:
        raise WordbiasError(f"{source.path}: line {reader.line_num}: is no CSV: {error}") from None


def header_of(source: Source) -> list[str]:
    """Return the names in the first line of a CSV file."""
    try:
        first = next(csv.reader(io.StringIO(source.text.partition("\n")[0], newline="")), [])
    except csv.Error as error:
        raise WordbiasError(f"{source.path}: line 1: is no CSV: {error}") from None
    return [name.strip() for name in first]


def _places(
    header: Sequence[str], columns: Mapping[str, Sequence[str]], path: str
) -> dict[str, int]:
    found = {
        name: [header.index(one) for one in spellings if one in header]
        for name, spellings in columns.items()
    }
    if twice := [name for name, places in found.items() if _count(header, columns[name]) > 1]:
        raise WordbiasError(f"{path}: has the column {twice[0]} more than once; leave one")
    if missing := [name for name, places in found.items() if not places]:
        raise WordbiasError(
            f"{path}: lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}; found "
            f"{', '.join(header) or 'nothing'}"
        )
    return {name: places[0] for name, places in found.items()}


def _count(header: Sequence[str], spellings: Sequence[str]) -> int:
    return sum(name in spellings for name in header)
