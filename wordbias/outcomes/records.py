"""Records of a text file or a frame that are rewritten without changing anything else.

A record is kept as the pieces that its line consists of; to replace a cell is to replace one piece,
and all others, with their quotation marks and escapes, are written as they were read. The forms of
plain text, tabbed text, CSV and jsonl are in this file too, as each splits and joins its records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from wordbias.columns import BadRows, choose_column
from wordbias.errors import WordbiasError
from wordbias.formats.source import Source, refuse_foreign
from wordbias.formats.tables import PLAIN, cell_of, kind_of
from wordbias.text_files import check_length

Pieces = tuple[list[str], Mapping[str, int]]
_MARK = "\ufeff".encode()


@dataclass(frozen=True)
class RecordFile:
    """A file to be rewritten: plain text, tabbed text, CSV or jsonl, compressed or not."""

    # Iterating over it yields its records, and can be done again.

    path: Path
    form: Form = field(repr=False)  # form of its records, by its suffix
    text: str
    columns: tuple[str, ...]  # further columns that every record must have
    header: str  # text before the first record
    problems: BadRows  # records that could not be used when the file was last read
    unit: ClassVar[str] = "line"  # what the numbers of records count

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        text: str | None = None,
        columns: Iterable[str] = (),
        skip_bad: bool = False,
    ) -> RecordFile:
        """Open a file, and find the column of its texts."""
        # The suffix without .gz, .bz2 or .xz decides: .tsv, .csv, .jsonl, else plain text.
        file = Path(path)
        form = FORMS[kind_of(file)](file)
        first = next((record for _, record in whole_records(file, form)), None)
        if first is None:
            raise WordbiasError(f"{file}: the file is empty; expected texts")
        names = form.read_names(first)
        start = byte_order_mark(file) + first * form.has_header
        extra = tuple(dict.fromkeys(columns))
        column = _text_column(file, kind_of(file), names, text, extra)
        return cls(file, form, column, extra, start, BadRows(str(file), skip_bad))

    def __iter__(self) -> Iterator[Record]:
        self.problems.count, self.problems.first = 0, ""
        records = whole_records(self.path, self.form)
        if self.form.has_header:
            next(records)
        for number, line in records:
            body = line.rstrip("\r\n")
            try:
                pieces, places = self._pieces(body)
            except BadRowError as error:
                self.problems.add(f"{self.unit} {number}", str(error))
                continue
            yield Record(number, pieces, places, self.form, line[len(body) :])

    def _pieces(self, body: str) -> Pieces:
        pieces, places = self.form.split(body)
        for column in (self.text, *self.columns):
            if column not in places:
                raise BadRowError(f"has no {column!r}")
        self.form.check_text(pieces[places[self.text]], self.text)
        return pieces, places


@dataclass(frozen=True)
class RecordsInMemory(RecordFile):
    """Records in memory, numbered from 1: texts, and as texts the other columns that are needed."""

    # values of each of `text` and `columns`
    cells: Sequence[Sequence[object]] = field(default=(), repr=False)
    unit: ClassVar[str] = "row"

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        text: str | None = None,
        columns: Iterable[str] = (),
        skip_bad: bool = False,
    ) -> RecordsInMemory:
        """Take texts, or a frame of pandas, and find the column of its texts."""
        name, extra = Path("texts"), tuple(dict.fromkeys(columns))
        problems = BadRows(str(name), skip_bad)
        if hasattr(data, "columns"):
            known = list(map(str, data.columns))
            column = _text_column(name, "frame", known, text, extra)
            cells = [data[key].tolist() for key in (column, *extra)]
        else:
            if isinstance(data, (bytes, Mapping)) or not isinstance(data, Iterable):
                raise WordbiasError(
                    f"DATA: expected a file, texts or a frame, found {type(data).__name__}"
                )
            if wanted := [key for key in (text, *extra) if key is not None]:
                raise WordbiasError(
                    f"texts: have no column {wanted[0]!r}; give a frame, or a file with columns"
                )
            column, cells = PLAIN, [list(data)]
        return cls(name, InMemoryForm([column, *extra]), column, extra, "", problems, cells)

    def __iter__(self) -> Iterator[Record]:
        self.problems.count, self.problems.first = 0, ""
        for number, cells in enumerate(zip(*self.cells, strict=True), 1):
            if isinstance(cells[0], str):
                pieces = list(map(as_cell, cells))
                yield Record(number, pieces, self.form.places, self.form, "\n")
            else:
                self.problems.add(
                    f"{self.unit} {number}", f"expected a text as {self.text!r}, found {cells[0]!r}"
                )


class Record:
    """One record: the number of its first line, from 1, its pieces and their form."""

    # Indexing it by the name of a column gives the cell.

    __slots__ = ("end", "form", "number", "pieces", "places")
    end: str
    form: Form
    number: int
    pieces: list[str]
    places: Mapping[str, int]

    def __init__(
        self, number: int, pieces: list[str], places: Mapping[str, int], form: Form, end: str
    ) -> None:
        self.number, self.pieces, self.places = number, pieces, places
        self.form, self.end = form, end

    def __getitem__(self, column: str) -> str:
        place = self.places.get(column)
        if place is None:
            raise BadRowError(f"has no {column!r}")
        return self.form.value(self.pieces[place])

    def replaced(self, column: str, value: str) -> Record:
        """Return a copy with another cell."""
        pieces, place = self.pieces.copy(), self.places[column]
        pieces[place] = self.form.piece(value, pieces[place])
        return Record(self.number, pieces, self.places, self.form, self.end)

    def line(self) -> str:
        """Return the record as it is written in the file, with its line end."""
        return self.form.join(self.pieces) + self.end

    def line_with(self, column: str, value: str) -> str:
        """Return the line with a further cell, the last one."""
        return self.form.with_cell(self.form.join(self.pieces), column, value) + self.end

    def has(self, where: Mapping[str, tuple[str, ...]]) -> bool:
        """Return whether each of these columns has one of the values given for it."""
        return all(self[column] in values for column, values in where.items())


class BadRowError(Exception):
    """Record that cannot be used."""


def as_cell(value: Any) -> str:
    """Return a value of a frame as a cell of a file: a list as JSON, a missing value as nothing."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, default=lambda inner: inner.tolist())
    return cell_of(value) or ""


def check_same_form(output: str, source: str, why: str) -> None:
    """Refuse an output of another form than the file that is read, as their suffixes say."""
    given, wanted = kind_of(Path(source)), kind_of(Path(output))
    if given != wanted:
        raise WordbiasError(
            f"{output}: would be {wanted}, but {source} is {given}, and {why}; give both the same "
            "suffix"
        )


def _text_column(
    file: Path, kind: str, names: Sequence[str], text: str | None, extra: Sequence[str]
) -> str:
    """Return the column of the texts, and check that all columns are there."""
    # Objects of a jsonl file may have different keys: there, columns are looked for in each of
    # them.
    wanted = [name for name in (text, *extra) if name is not None]
    if kind == "plain" and wanted:
        raise WordbiasError(
            f"{file}: is plain text, which has no columns; name a .tsv, .csv or .jsonl file"
        )
    for name in extra if kind != "jsonl" else ():
        if name not in names:
            raise WordbiasError(f"{file}: has no column {name!r}; it has {', '.join(names)}")
    if kind == "jsonl" and text is not None:
        return text
    return choose_column(str(file), names, text)


# records as they stand in a file


def whole_records(path: Path, form: Form) -> Iterator[tuple[int, str]]:
    """Yield the first line number and the text of each record, with line ends and empty lines."""
    held: list[str] = []
    first = size = 0
    opened = whole = False
    for number, line in _decoded_lines(path):
        if form.blank(line) and (whole or not first):
            held.append(line)
            continue
        if whole:
            yield first, "".join(held)
            held, first, size = [], 0, 0
        first = first or number
        held.append(line)
        size += len(line)
        check_length(size, first, path)
        opened = form.opened(line, opened)
        whole = not opened
    if first:
        yield first, "".join(held)


def _decoded_lines(path: Path) -> Iterator[tuple[int, str]]:
    plain, blank = kind_of(path) == "plain", True
    for number, raw in enumerate(_source(path).text_lines(f"reading {path.name}"), 1):
        if blank:
            refuse_foreign(path, raw, plain=plain)
            blank = not raw.strip()
        try:
            yield number, (raw.removeprefix(_MARK) if number == 1 else raw).decode()
        except UnicodeDecodeError as error:
            byte = raw[error.start : error.start + 1]
            raise WordbiasError(
                f"{path}: line {number}: byte {error.start + 1} is not UTF-8 ({byte!r}); convert "
                "the file, such as with: iconv -f latin1 -t utf-8"
            ) from None


def byte_order_mark(path: Path) -> str:
    """Return the byte order mark that a file begins with, or nothing."""
    return _MARK.decode() * _source(path).head(len(_MARK)).startswith(_MARK)


def _source(path: Path) -> Source:
    if path.is_dir():
        raise WordbiasError(f"{path}: is a folder; name a file of texts")
    if path.is_file() and not path.stat().st_size:
        raise WordbiasError(f"{path}: the file is empty; expected texts")
    source = Source.find(path)
    if source.compression == "zip":
        raise WordbiasError(f"{path}: a zip archive is not rewritten; unpack it first")
    return source


# forms of a record


class Form:
    """Form of plain text, one text a line, and base of the other forms."""

    # The pieces of a line, joined by the glue, are the line, character for character.

    glue = ""
    has_header = False

    def __init__(self, file: Path) -> None:
        self.file = file
        self.places: Mapping[str, int] = {PLAIN: 0}

    def read_names(self, first: str) -> Sequence[str]:
        """Read the names of the columns from the first record, and return them."""
        return list(self.places)

    def blank(self, line: str) -> bool:
        """Return whether a line is empty."""
        return False

    def opened(self, line: str, opened: bool) -> bool:
        """Return whether a record continues after a line, given whether one was open before it."""
        return False

    def split(self, body: str) -> Pieces:
        """Return the pieces of a record, and the index of the piece of each column."""
        return [body], self.places

    def join(self, pieces: Sequence[str]) -> str:
        """Return the record with these pieces."""
        return self.glue.join(pieces)

    def value(self, piece: str) -> str:
        """Return the value of a piece."""
        return piece

    def piece(self, value: str, like: str) -> str:
        """Return the piece for a value, quoted or escaped like another piece."""
        return value

    def with_cell(self, body: str, column: str, value: str) -> str:
        """Return a record with a further cell behind the others."""
        return body + self.glue + self.piece(value, "")

    def check_text(self, piece: str, column: str) -> None:
        """Refuse a piece that is not a text."""


class InMemoryForm(Form):
    """Form of cells in memory, which are written as a line only to a temporary file."""

    places: dict[str, int]

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(Path())
        self.places = {name: i for i, name in enumerate(columns)}

    def join(self, pieces: Sequence[str]) -> str:
        """Write the pieces as JSON."""
        return json.dumps(list(pieces))

    def split(self, body: str) -> Pieces:
        """Read the pieces from JSON."""
        return list(json.loads(body)), self.places


class Tabbed(Form):
    """Form of tabbed text: a header, then cells between tabs; quotation marks mean nothing."""

    places: dict[str, int]

    glue = "\t"
    has_header = True

    def read_names(self, first: str) -> Sequence[str]:
        """Read the names from the header."""
        try:
            pieces = self._cells(first.strip("\r\n"))
        except BadRowError as error:
            raise WordbiasError(f"{self.file}: line 1: the header {error}") from None
        names = [self.value(piece).strip() for piece in pieces]
        if "" in names or len(set(names)) < len(names):
            raise WordbiasError(
                f"{self.file}: line 1: expected a header, a name of its own for each column; "
                f"found {', '.join(map(repr, names))[:200]}"
            )
        self.places = {name: i for i, name in enumerate(names)}
        return names

    def blank(self, line: str) -> bool:
        """Return whether a line has no characters."""
        return not line.strip("\r\n")

    def split(self, body: str) -> Pieces:
        """Split at the tabs, or commas."""
        pieces = self._cells(body)
        if len(pieces) != len(self.places):
            raise BadRowError(f"expected {len(self.places)} columns, found {len(pieces)}")
        return pieces, self.places

    def _cells(self, body: str) -> list[str]:
        return body.split("\t")


_QUOTED = re.compile(r'"[^"]*+(?:""[^"]*+)*+"')
_CLOSING = re.compile(r'[^"]*+(?:""[^"]*+)*+"')
_NEEDS_QUOTES = re.compile(r'[",\r\n]')


class CommaSeparated(Tabbed):
    """Form of CSV: a header, then cells between commas, in quotation marks where needed."""

    glue = ","

    def opened(self, line: str, opened: bool) -> bool:
        """Return whether a quotation mark is still open after a line."""
        if '"' not in line:
            return opened
        start = 0
        while True:
            if opened or line.startswith('"', start):
                end = _CLOSING.match(line, start if opened else start + 1)
                if end is None:
                    return True
                opened, start = False, end.end()
                if not line.startswith(",", start):
                    return False  # its end, or no CSV, which splitting will say
            comma = line.find(",", start)
            if comma < 0:
                return False
            start = comma + 1

    def _cells(self, body: str) -> list[str]:
        if '"' not in body:
            return body.split(",")
        pieces = _cut(body)
        if pieces is None:
            raise BadRowError("is no CSV: a quotation mark is never closed")
        return pieces

    def value(self, piece: str) -> str:
        """Remove the quotation marks."""
        return piece[1:-1].replace('""', '"') if piece.startswith('"') else piece

    def piece(self, value: str, like: str) -> str:
        """Add quotation marks if they are needed or were there."""
        if like.startswith('"') or _NEEDS_QUOTES.search(value):
            return '"' + value.replace('"', '""') + '"'
        return value


def _cut(body: str) -> list[str] | None:
    """Split a record at its commas; None if its last quotation mark is not closed."""
    pieces, start = [], 0
    while True:
        if body.startswith('"', start):
            quoted = _QUOTED.match(body, start)
            if quoted is None:
                return None
            end = quoted.end()
            if end < len(body) and body[end] not in ",\r\n":
                raise BadRowError("is no CSV: expected a comma behind a closing quotation mark")
        else:
            end = body.find(",", start)
            end = len(body) if end < 0 else end
        pieces.append(body[start:end])
        if end >= len(body) or body[end] != ",":
            return pieces
        start = end + 1


_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class JsonLines(Form):
    """Form of jsonl: one object a line."""

    def read_names(self, first: str) -> Sequence[str]:
        """Return the keys of the first object."""
        try:
            return list(self.split(first)[1])
        except BadRowError:
            return []

    def blank(self, line: str) -> bool:
        """Return whether a line has only spaces."""
        return not line.strip()

    def split(self, body: str) -> Pieces:
        """Return the values and, between them, the characters around them."""
        try:
            return _values(body)
        except (ValueError, IndexError, RecursionError):
            raise BadRowError(
                f"expected a JSON object, whole on its line, found {body.strip()[:40]!r}"
            ) from None

    def value(self, piece: str) -> str:
        """Return a string decoded, anything else as it is written."""
        return str(_DECODER.decode(piece)) if piece.startswith('"') else piece

    def piece(self, value: str, like: str) -> str:
        """Encode a string, with letters beyond ASCII escaped if they were."""
        return json.dumps(value, ensure_ascii=like.isascii() or "\\u" in like)

    def with_cell(self, body: str, column: str, value: str) -> str:
        """Return the object with a further key behind the others."""
        cell = f"{json.dumps(column)}: {json.dumps(value, ensure_ascii=body.isascii())}"
        return f"{body.rstrip().removesuffix('}')}, {cell}}}"

    def check_text(self, piece: str, column: str) -> None:
        """Refuse numbers, null, lists and objects."""
        if not piece.startswith('"'):
            raise BadRowError(f"expected a text as {column!r}, found {piece[:40]}")


def _values(body: str) -> Pieces:
    """Split an object into pieces."""
    pieces: list[str] = []
    places: dict[str, int] = {}
    begin, i = 0, _expect(body, 0, "{")
    closed = body[i] == "}"
    while not closed:
        name, i = _DECODER.raw_decode(body, i)
        if not isinstance(name, str):
            raise ValueError
        i = _expect(body, i, ":")
        pieces.append(body[begin:i])
        _, begin = _DECODER.raw_decode(body, i)
        places[name] = len(pieces)
        pieces.append(body[i:begin])
        i = _SPACE.match(body, begin).end()  # type: ignore[union-attr]
        closed = body[i] == "}"
        if not closed:
            i = _expect(body, i, ",")
    if body[i + 1 :].strip():
        raise ValueError
    return [*pieces, body[begin:]], places


def _expect(body: str, start: int, mark: str) -> int:
    """Skip spaces, a mark, and spaces again."""
    i = _SPACE.match(body, start).end()  # type: ignore[union-attr]
    if body[i] != mark:
        raise ValueError
    return _SPACE.match(body, i + 1).end()  # type: ignore[union-attr]


FORMS: Mapping[str, type[Form]] = {
    "plain": Form,
    "tsv": Tabbed,
    "csv": CommaSeparated,
    "jsonl": JsonLines,
}
"""Form of the records of each kind of file."""
