"""Records of a text file of any size, or of a frame, of which what is not rewritten stays.

A record is kept as the pieces its line consists of; to replace one cell is to replace one piece,
and all the others, their quotation marks and escapes included, are written as they were read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.formats.tables import PLAIN, kind_of
from wordbias.outcomes.forms import BadRowError, Form, HeldForm, Pieces, is_missing
from wordbias.outcomes.json_form import FORMS
from wordbias.outcomes.whole_records import byte_order_mark, whole_records

_USUAL = ("text", "sentence")


class Record:
    """One record: the line it begins at, from 1, its pieces, and how they are read.

    Indexing it by the name of a column gives the cell; `replaced` gives a record with another.
    """

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
        """Return a record with another cell; this one is not changed."""
        pieces, place = self.pieces.copy(), self.places[column]
        pieces[place] = self.form.piece(value, pieces[place])
        return Record(self.number, pieces, self.places, self.form, self.end)

    def line(self) -> str:
        """Return the record as it stands in the file, with the end of its line."""
        return self.form.join(self.pieces) + self.end

    def has(self, where: Mapping[str, tuple[str, ...]]) -> bool:
        """Return whether each of these columns has one of the values given for it."""
        return all(self[column] in values for column, values in where.items())


@dataclass
class Problems:
    """Records that cannot be used: dropped and counted, or the first of them is an error."""

    file: Path
    skip: bool = False
    count: int = 0
    first: str = ""
    unit: str = "line"

    def meet(self, number: int, problem: str) -> None:
        """Note a record, or refuse it.

        Raises
        ------
        WordbiasError
            If such records are not to be dropped.
        """
        said = f"{self.unit} {number}: {problem}"
        if not self.skip:
            raise WordbiasError(f"{self.file}: {said}; mend it, or drop such rows with --skip-bad")
        self.count += 1
        self.first = self.first or said


@dataclass(frozen=True)
class RecordFile:
    """A file to be rewritten: plain text, tabbed text, CSV or jsonl, compressed or not.

    Iterating over it yields its records, and can be done again.

    Attributes
    ----------
    path
        The file.
    form
        What the suffix says it is.
    text
        The column of the texts.
    columns
        Further columns that every record must have.
    header
        What stands before the first record.
    problems
        What was met the last time it was read.
    """

    path: Path
    form: Form = field(repr=False)
    text: str
    columns: tuple[str, ...]
    header: str
    problems: Problems

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        text: str | None = None,
        columns: Iterable[str] = (),
        skip_bad: bool = False,
    ) -> RecordFile:
        """Open a file, and find the column of its texts.

        Parameters
        ----------
        path
            Its suffix, but for .gz, .bz2 or .xz, says what it is: .tsv, .csv, .jsonl, else plain.
        text
            A column by name, by default `text`, else `sentence`, else the only one.
        columns
            Others that are needed.
        skip_bad
            Drop records that cannot be used, and count them.

        Raises
        ------
        WordbiasError
            If there is no such file, it is empty, or a column is not there.
        """
        file = Path(path)
        form = FORMS[kind_of(file)](file)
        first = next((record for _, record in whole_records(file, form)), None)
        if first is None:
            raise WordbiasError(f"{file}: the file is empty; expected texts")
        names = form.read_names(first)
        start = byte_order_mark(file) + first * form.has_header
        asked = tuple(dict.fromkeys(columns))
        column = _text_column(file, kind_of(file), names, text, asked)
        return cls(file, form, column, asked, start, Problems(file, skip_bad))

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
                self.problems.meet(number, str(error))
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
class HeldRecords(RecordFile):
    """Records in memory: texts, and as texts the other columns that are needed.

    A record's number is its place, from 1.

    Attributes
    ----------
    cells
        For each of `text` and `columns`, its values.
    """

    cells: Sequence[Sequence[object]] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        text: str | None = None,
        columns: Iterable[str] = (),
        skip_bad: bool = False,
    ) -> HeldRecords:
        """Take texts, or a frame of pandas, and find the column of its texts.

        Parameters
        ----------
        data
            A sequence or series of texts, or a frame.
        text, columns, skip_bad
            See `RecordFile.open`.

        Raises
        ------
        WordbiasError
            If it is none of these, or a column is not there.
        """
        name, asked = Path("texts"), tuple(dict.fromkeys(columns))
        problems = Problems(name, skip_bad, unit="row")
        if hasattr(data, "columns"):
            known = list(map(str, data.columns))
            column = _text_column(name, "frame", known, text, asked)
            cells = [data[one].tolist() for one in (column, *asked)]
        else:
            if isinstance(data, bytes) or not isinstance(data, Iterable):
                raise WordbiasError(
                    f"DATA: expected a file, texts or a frame, found {type(data).__name__}"
                )
            if wanted := [one for one in (text, *asked) if one is not None]:
                raise WordbiasError(
                    f"texts: have no column {wanted[0]!r}; give a frame, or a file with columns"
                )
            column, cells = PLAIN, [list(data)]
        return cls(name, HeldForm([column, *asked]), column, asked, "", problems, cells)

    def __iter__(self) -> Iterator[Record]:
        self.problems.count, self.problems.first = 0, ""
        for number, cells in enumerate(zip(*self.cells, strict=True), 1):
            if isinstance(cells[0], str):
                pieces = list(map(as_cell, cells))
                yield Record(number, pieces, self.form.places, self.form, "\n")
            else:
                self.problems.meet(number, f"expected a text as {self.text!r}, found {cells[0]!r}")


def as_cell(value: Any) -> str:
    """Return a value of a frame as the cell of a file has it: of a list JSON, of none nothing."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, default=lambda inner: inner.tolist())
    return "" if is_missing(value) else str(value)


def _text_column(
    file: Path, kind: str, names: Sequence[str], text: str | None, asked: Sequence[str]
) -> str:
    """Return the column of the texts, and see that all columns are there.

    What the first object of a jsonl file has says nothing about the others: there, columns that
    are asked for are looked for in each.
    """
    wanted = [name for name in (text, *asked) if name is not None]
    if kind == "plain" and wanted:
        raise WordbiasError(
            f"{file}: is plain text, which has no columns; name a .tsv, .csv or .jsonl file"
        )
    for name in wanted if kind != "jsonl" else ():
        if name not in names:
            raise WordbiasError(f"{file}: has no column {name!r}; it has {', '.join(names)}")
    if text is not None:
        return text
    known = [name for name in (*_USUAL, *(names if len(names) == 1 else [])) if name in names]
    if not known:
        listed = ", ".join(names) or "none that can be read"
        raise WordbiasError(
            f"{file}: which column holds the texts? Name one of {listed} with --text-column"
        )
    return known[0]
