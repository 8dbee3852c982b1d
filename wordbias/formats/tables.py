"""Tables of text in files: plain lines, TSV, CSV or JSON lines, compressed or not; Parquet."""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordbias.errors import WordbiasError, listed, need
from wordbias.formats.source import Digest, has_lone_surrogate, refuse_foreign
from wordbias.text_files import OPENERS, Source, bounded_lines, opened

PLAIN = "text"
"""Name of the only column of a plain text."""
SNIFF = "by content"
"""Kind of a file that is recognised by its first line: JSON, tabs, else commas."""
_CSV_ENDS = "the file ends within quotation marks"
_NO_OBJECT = "expected a JSON object"
_HALF = "an escape stands for half a character"
_EMPTY = "is empty; expected a header, a name for each column"
_BATCH = 1 << 14
_KINDS = {".tsv": "tsv", ".tab": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def cell_of(value: object) -> str | None:
    """Return a label or another value as text; None where it is missing, as in pandas."""
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    if missing or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return None
    return str(value)


class Line(NamedTuple):
    """A row of a table."""

    number: int  # its line in the file, from 1
    cells: dict[str, str]
    problem: str = ""  # what is wrong with an unusable row
    # columns with JSON's null, which is no text; their cells are `null`
    nulls: frozenset[str] = frozenset()

    def lacks(self, name: str) -> str:
        """Return why a column has no text in this row; empty if it has one."""
        if name not in self.cells:
            return f"has no {name!r}"
        return f"has null as {name!r}, which is no text" if name in self.nulls else ""


@dataclass(frozen=True)
class Wanted:
    """Columns to be read."""

    # for the name of each column in the result, its possible names in the file. In any case of
    # letters where none is spelled so.
    spellings: Mapping[str, Sequence[str]]
    optional: Collection[str] = ()  # columns that the file may lack
    # columns in the order of a file without a header, which is one whose first line does not name
    # all that are wanted; empty if there is always a header
    unnamed: Sequence[str] = ()
    # allow rows that have more or fewer cells than the header, if only the wanted ones are there
    ragged: bool = False
    strip: bool = False  # strip the cells of text that is separated by tabs or commas

    def __call__(self, names: Sequence[str]) -> Wanted:
        """Return itself, whatever columns there are."""
        return self

    def lacking(self, names: Sequence[str]) -> list[str]:
        """Return the wanted columns that are not among some names."""
        matches = self._matched(names)
        return [
            column
            for column in self.spellings
            if column not in matches and column not in self.optional
        ]

    def names_in(self, where: str, names: Sequence[str]) -> dict[str, str | None]:
        """Return the name of each wanted column in a file; None for an optional one without."""
        matches = self._matched(names)
        if lacking := self.lacking(names):
            wanted = ", ".join(" or ".join(map(repr, self.spellings[column])) for column in lacking)
            wanted = f"column{'s' * (len(lacking) > 1)} {wanted}"
            raise WordbiasError(f"{where}: has no {wanted}; it has {listed(names)}")
        for several in matches.values():
            if len(several) > 1:
                both = " and ".join(map(repr, several))
                raise WordbiasError(f"{where}: expected one column, found {both}; leave one")
        return {
            column: matches[column][0] if column in matches else None for column in self.spellings
        }

    def _matched(self, names: Sequence[str]) -> dict[str, list[str]]:
        every = {
            column: next(filter(None, (_matching(known, names) for known in spellings)), [])
            for column, spellings in self.spellings.items()
        }
        return {column: matching for column, matching in every.items() if matching}


def _matching(spelling: str, names: Sequence[str]) -> list[str]:
    """Return the names that are spelled so, else those in another case; ``neutral*`` is a stem."""
    lower, stem = spelling.lower(), spelling.lower().removesuffix("*")
    if stem != lower:
        return [name for name in names if name.lower().startswith(stem)]
    exact = [name for name in names if name == spelling]
    return exact or [name for name in names if name.lower() == lower]


Choose = Callable[[Sequence[str]], Wanted]
"""Function from the names of the columns of a file to those that are wanted."""
Picked = tuple[int, Sequence[Any], str]
"""A row of wanted columns: its line, their cells, None where one is missing; what is wrong."""

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


def read_lines(file: Path | Source, kind: str | None = None) -> Iterator[Line]:
    """Yield the rows of a file, whose kind is by default that of the suffix."""
    # Plain text has one text on each line, and an empty line is an empty text. TSV has a header and
    # no quoting. CSV has a header and quotes where needed; its cells are separated by tabs where
    # those of the header are. JSON lines and Parquet leave out lists and objects; Parquet's rows
    # have numbers instead of lines.
    if kind is None and isinstance(file, Path) and is_parquet(file):
        return (row_line(number, names, cells) for number, names, cells in _parquet(file))
    kind, lines = _opened(file, kind)
    if kind == "plain":
        return (Line(number, {PLAIN: line}) for number, line in lines)
    if kind == "jsonl":
        return (_object_line(n, _object(line)) for n, line in lines if line.strip())
    return _lines(file, _tabbed(lines) if kind == "tsv" else comma_separated(file, lines))


def row_line(number: int, names: Iterable[str], cells: Iterable[str | None]) -> Line:
    """Return a row of columns; None is a missing cell."""
    row = dict(zip(names, cells, strict=True))
    nulls = frozenset(name for name, cell in row.items() if cell is None)
    return Line(number, {name: cell or "" for name, cell in row.items()}, "", nulls)


def pick_cells(
    file: Path | Source,
    choose: Choose,
    kind: str | None = None,
    digest: Digest | None = None,
) -> Iterator[Picked]:
    """Yield some columns of a file; see `read_lines`."""
    # `digest` is updated with the lines as they are in the file, uncompressed.
    if kind in (None, SNIFF) and isinstance(file, Path) and is_parquet(file):
        return ((number, cells, "") for number, _, cells in _parquet(file, choose))
    kind, lines = _opened(file, kind, digest)
    if kind == "jsonl":
        return _picked_objects(file, lines, choose)
    records = _tabbed(lines) if kind == "tsv" else comma_separated(file, lines, empty=False)
    return _picked_records(file, records, choose)


Lines = Iterator[tuple[int, str]]


def _opened(
    file: Path | Source, kind: str | None, digest: Digest | None = None
) -> tuple[str, Lines]:
    """Return the kind of a file and its lines."""
    kind = kind or kind_of(_path(file))
    lines = numbered_lines(file, plain=kind == "plain", digest=digest)
    if kind != SNIFF:
        return kind, lines
    number, first = next(((n, line) for n, line in lines if line.strip()), (1, ""))
    kind = "jsonl" if first.lstrip().startswith("{") else "tsv" if "\t" in first else "csv"
    return kind, chain([(number, first)], lines)


def _path(file: Path | Source) -> Path:
    return file if isinstance(file, Path) else Path(file.path)


def numbered_lines(
    file: Path | Source,
    *,
    plain: bool | None = None,
    ends: bool = False,
    digest: Digest | None = None,
) -> Lines:
    """Yield lines with their numbers, from 1."""
    # HTML is allowed if `plain`, by default where the suffix is none of a table. `digest` is
    # updated with the lines as they are in the file, uncompressed.
    if not isinstance(file, Path):
        for number, line in enumerate(file.text.split("\n"), 1):
            yield number, line.removesuffix("\r")
        return
    plain, blank = kind_of(file) == "plain" if plain is None else plain, True
    number = 0
    try:
        with opened(file, OPENERS.get(file.suffix.lower(), open)) as stream:
            for number, raw in enumerate(bounded_lines(stream, file), 1):
                if digest is not None:
                    digest.update(raw)
                if blank:
                    refuse_foreign(file, raw, plain=plain)
                    blank = not raw.strip()
                line = raw.decode() if number > 1 else raw.decode("utf-8-sig")
                yield number, line if ends else line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        wrong_byte = error.object[error.start : error.start + 1]
        raise WordbiasError(
            f"{file}: line {number}: byte {error.start + 1} is not UTF-8 ({wrong_byte!r}); convert "
            "the file, such as with: iconv -f latin1 -t utf-8"
        ) from None
    except (gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error) as error:
        raise WordbiasError(f"{file}: cannot be read: {error}; fetch it again") from None
    except OSError as error:
        raise WordbiasError(f"{file}: cannot be read: {error.strerror or error}") from None


def _tabbed(lines: Lines) -> Iterator[tuple[int, list[str]]]:
    for number, line in lines:
        if line:
            yield number, line.split("\t")


def comma_separated(
    file: Path | Source, lines: Lines | None = None, *, empty: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Yield line and cells of the header and rows of a CSV file; of empty rows if `empty`."""
    last, lines = 0, numbered_lines(file) if lines is None else lines

    def numbered() -> Iterator[str]:
        nonlocal last
        for number, line in chain(start, lines):
            last = number
            yield line + "\n"

    start = [*islice(lines, 1)]
    delimiter = "\t" if start and "\t" in start[0][1] else ","
    try:
        for cells in csv.reader(numbered(), strict=True, delimiter=delimiter):
            if cells and (empty or any(cells)):
                yield last, cells
    except csv.Error as error:
        where = f"{_path(file)}: line {last}"
        if str(error).startswith("field larger"):
            raise WordbiasError(
                f"{where}: has a cell of more than {csv.field_size_limit():,} characters, which is "
                "read from .tsv and .jsonl only; close its quote, or convert the file"
            ) from None
        reason = _CSV_ENDS if str(error) == "unexpected end of data" else error
        raise WordbiasError(f"{where}: is no CSV: {reason}") from None


def _header(file: Path | Source, number: int, names: list[str]) -> list[str]:
    names = [name.strip() for name in names]
    if "" in names or len(set(names)) < len(names):
        raise WordbiasError(
            f"{_path(file)}: line {number}: expected a header, a name of its own for each column; "
            f"found {', '.join(map(repr, names))[:200]}"
        )
    return names


def _lines(file: Path | Source, records: Iterator[tuple[int, list[str]]]) -> Iterator[Line]:
    names: list[str] = []
    for number, cells in records:
        if not names:
            names = _header(file, number, cells)
        elif len(cells) != len(names):
            yield Line(number, {}, f"expected {len(names)} columns, found {len(cells)}")
        else:
            yield Line(number, dict(zip(names, cells, strict=True)))
    if not names:
        raise WordbiasError(f"{_path(file)}: {_EMPTY}")


def _picked_records(
    file: Path | Source, records: Iterator[tuple[int, list[str]]], choose: Choose
) -> Iterator[Picked]:
    number, first = next(records, (0, []))
    names = [name.strip() for name in first]
    wanted = choose(names)
    if not (first or wanted.unnamed):
        raise WordbiasError(f"{_path(file)}: {_EMPTY}")
    if wanted.unnamed and wanted.lacking(names):
        names, records = list(wanted.unnamed), chain([(number, first)] * bool(first), records)
    known = wanted.names_in(f"{_path(file)}: line {number}", names)
    places = [None if name is None else names.index(name) for name in known.values()]
    width, take = len(names), _taker(places, wanted.strip)
    least = max((place for place in places if place is not None), default=0) + 1
    least = least if wanted.ragged else width
    for number, cells in records:
        if len(cells) == width or (wanted.ragged and len(cells) >= least):
            yield number, take(cells), ""
        elif len(cells) > 1 or cells[0].strip():
            yield number, (), f"expected {_columns(names, wanted)}, found {len(cells)}"


def _columns(names: Sequence[str], wanted: Wanted) -> str:
    if not (wanted.ragged or wanted.unnamed):
        return f"{len(names)} columns"
    every = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
    return f"the columns {every:.200}{', separated by tabs' if wanted.unnamed else ''}"


def _taker(
    places: Sequence[int | None], strip: bool
) -> Callable[[list[str]], Sequence[str | None]]:
    """Return a function that takes the cells at some places."""
    present = [place for place in places if place is not None]
    if len(present) < len(places):
        whole = _taker(range(max(present) + 1), strip)
        return lambda cells: [None if p is None else whole(cells)[p] for p in places]
    if strip:
        return lambda cells: [cells[place].strip() for place in present]
    if len(present) == 1:
        return lambda cells: [cells[present[0]]]
    return itemgetter(*present)


def _object(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _object_line(number: int, record: dict[str, Any] | None) -> Line:
    if record is None:
        return Line(number, {}, _NO_OBJECT)
    strings = [*record, *(value for value in record.values() if isinstance(value, str))]
    if has_lone_surrogate("".join(strings)):
        half = next(filter(has_lone_surrogate, strings), "")
        return Line(number, {}, f"{_HALF}: {half!a:.60}")
    cells = {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in record.items()
        if not isinstance(value, (list, dict))
    }
    return Line(number, cells, "", frozenset(key for key, value in record.items() if value is None))


def _picked_objects(file: Path | Source, lines: Lines, choose: Choose) -> Iterator[Picked]:
    names: list[str | None] = []
    take: Callable[[dict[str, Any]], Sequence[Any]] | None = None
    for number, line in lines:
        if not line.strip():
            continue
        record = _object(line)
        if record is None:
            yield number, (), _NO_OBJECT
            continue
        if not names:
            given = list(record)
            names = [*choose(given).names_in(f"{_path(file)}: line {number}", given).values()]
            take = itemgetter(*names) if len(names) > 1 else None
        try:
            cells = take(record) if take else ()
            "".join(cells).encode()  # one check of all, if all are texts
        except (KeyError, TypeError, UnicodeEncodeError):
            cells = ()
        yield (number, cells, "") if cells else (number, *_picked_values(record, names))


def _picked_values(
    record: dict[str, Any], names: Sequence[str | None]
) -> tuple[Sequence[str | None], str]:
    """Return the cells of an object, and what is wrong with it."""
    if lacking := [name for name in names if name is not None and name not in record]:
        return (), f"has no {lacking[0]!r}"
    cells = [None if name is None else _picked_value(record[name]) for name in names]
    half = next((cell for cell in cells if cell is not None and has_lone_surrogate(cell)), None)
    return ((), f"{_HALF}: {half!a:.60}") if half is not None else (cells, "")


def _picked_value(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return None if value is None or isinstance(value, (list, dict)) else json.dumps(value)


def _parquet(
    file: Path, choose: Choose | None = None
) -> Iterator[tuple[int, list[str], tuple[str | None, ...]]]:
    """Yield the number, the names and the cells of rows; nested columns are left out."""
    # A missing value, also nan, is None.
    pa = need("pyarrow", extra="parquet", purpose="Reading Parquet")
    parquet = need("pyarrow.parquet", extra="parquet", purpose="Reading Parquet")
    try:
        with parquet.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False) as opened:
            names = [
                field.name for field in opened.schema_arrow if not pa.types.is_nested(field.type)
            ]
            known: dict[str, str | None] = dict(zip(names, names, strict=True))
            if choose is not None:
                known = choose(names).names_in(str(file), names)
            rows = 0
            for batch in opened.iter_batches(_BATCH, columns=list(filter(None, known.values()))):
                columns = [
                    repeat(None, len(batch))
                    if name is None
                    else map(cell_of, batch.column(name).to_pylist())
                    for name in known.values()
                ]
                for number, cells in enumerate(zip(*columns, strict=True), rows + 1):
                    yield number, names, cells
                rows += len(batch)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise WordbiasError(f"{file}: cannot be read as Parquet: {reason}") from None
