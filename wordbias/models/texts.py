"""Texts from a file or memory, with their other columns and the spans of words in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from wordbias.calls import path_of
from wordbias.columns import BadRows, Column, Table, TableLike, choose_column, open_table
from wordbias.errors import WordbiasError
from wordbias.formats.tables import Line
from wordbias.models.tokenising import Span, find_word
from wordbias.rendering import how_many
from wordbias.resources import located

DISTINCT = 1_000
"""Number of distinct values up to which a column is kept by default."""
TextsLike = TableLike | Iterable[str]
"""A file, texts, or columns of which one holds texts."""


@dataclass(frozen=True)
class Choice:
    """Selection of rows and columns."""

    # column of the texts, by name or number from 1; by default `text`, else `sentence`, else the
    # only one
    text: str | None = None
    # columns to keep; by default all others of at most `DISTINCT` values
    keep: tuple[str, ...] | None = None
    # allowed values of columns; rows with other values are left out
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    limit: int | None = None  # number of rows, from the first on
    word: str | None = None  # column of a word to be found in the text
    # columns of the first character of a word, from 0, and of the one behind it
    span: tuple[str, str] | None = None
    skip_bad: bool = False  # drop rows that cannot be used, and count them


def kept_values(
    where: Mapping[str, str | Sequence[str]] | None,
) -> dict[str, tuple[str, ...]]:
    """Return the allowed values of columns for `Choice`; a single one may be given by itself."""
    return {
        name: (values,) if isinstance(values, str) else tuple(map(str, values))
        for name, values in (where or {}).items()
    }


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts with their other columns."""

    name: str
    texts: Sequence[str] = field(repr=False)  # the texts, and the line or number of each
    lines: Sequence[int] = field(repr=False)
    # span of a word in each text, for vectors of words
    spans: Sequence[Span] | None = field(repr=False)
    columns: Mapping[str, Column] = field(repr=False)  # other columns that are kept
    # number of rows that were dropped because they cannot be used, and the first reason
    dropped: int = 0
    problem: str = ""
    left_out: tuple[str, ...] = ()  # names of columns with too many values to be kept
    unit: str = "line"  # what `lines` count: `line` or `row`

    def __len__(self) -> int:
        return len(self.texts)

    def sha256(self) -> str:
        """Return a hash of the texts and the spans in them."""
        digest = hashlib.sha256()
        for i, text in enumerate(self.texts):
            span = None if self.spans is None else self.spans[i]
            digest.update(json.dumps([text, span]).encode())
        return digest.hexdigest()

    def notes(self) -> list[str]:
        """Return the note that rows were dropped, if any were."""
        dropped = how_many(self.dropped, "row")
        return [f"{dropped} dropped, the first: {self.problem}"] * bool(self.dropped)

    def without(self, bad: Mapping[int, str], skip_bad: bool) -> Texts:
        """Drop texts, by their places with the reasons; refuse them unless `skip_bad`."""
        if not bad:
            return self
        rows = BadRows(self.name, None if skip_bad and len(bad) == len(self) else skip_bad)
        for place, reason in bad.items():
            rows.add(f"{self.unit} {self.lines[place]}", reason)
        return replace(
            self.part([i for i in range(len(self)) if i not in bad]),
            dropped=self.dropped + len(bad),
            problem=self.problem or rows.first,
        )

    def part(self, places: Sequence[int]) -> Texts:
        """Return some of the texts."""
        return replace(
            self,
            texts=[self.texts[i] for i in places],
            lines=[self.lines[i] for i in places],
            spans=None if self.spans is None else [self.spans[i] for i in places],
            columns={
                name: Column.of(cells[i] for i in places)
                for name, cells in ((name, c.cells()) for name, c in self.columns.items())
            },
        )


def load_texts(source: TextsLike, choice: Choice | None = None) -> Texts:
    """Read texts from a file, which may be fetched, or memory; see `open_table`."""
    path, choice = path_of(source), choice or Choice()
    opened = open_table(source if path is None else located(path), "texts")
    bad = BadRows(opened.name, choice.skip_bad)
    rows = list(islice(_usable(opened, choice, bad), choice.limit))
    if not rows:
        chosen = " where " + " and ".join(
            f"{name} is {' or '.join(values)}" for name, values in choice.where.items()
        )
        where = chosen if choice.where else ""
        raise WordbiasError(f"{opened.name}: holds no text{where}{bad.among()}")
    columns: dict[str, Column] = {}
    left_out: tuple[str, ...] = ()
    if not opened.plain:
        names = list(dict.fromkeys(name for line, _, _ in rows for name in line.cells))
        cells = {name: [line.cells.get(name, "") for line, _, _ in rows] for name in names}
        columns, left_out = kept_columns(text_column(opened.name, names, choice), cells, choice)
    spans = [span for _, _, span in rows if span is not None]
    return Texts(
        opened.name,
        [text for _, text, _ in rows],
        [line.number for line, _, _ in rows],
        spans or None,
        columns,
        bad.count,
        bad.first,
        left_out,
        opened.unit,
    )


Row = tuple[Line, str, Span | None]


def _usable(source: Table, choice: Choice, bad: BadRows) -> Iterator[Row]:
    """Yield the chosen rows; note those that cannot be used, or refuse the first of them."""
    column = ""
    for line in source.lines:
        try:
            if line.problem:
                raise _BadRowError(line.problem)
            column = column or text_column(source.name, list(line.cells), choice, source.plain)
            if all(_cell(line, name) in values for name, values in choice.where.items()):
                text = _text(line, column)
                yield line, text, _span(line, text, choice)
        except _BadRowError as error:
            bad.add(f"{source.unit} {line.number}", str(error))


class _BadRowError(Exception):
    """A row that cannot be used."""


def _cell(line: Line, name: str) -> str:
    try:
        return line.cells[name]
    except KeyError:
        raise _BadRowError(f"has no {name!r}") from None


def _text(line: Line, name: str) -> str:
    if problem := line.lacks(name):
        raise _BadRowError(problem)
    return line.cells[name]


def _span(line: Line, text: str, choice: Choice) -> Span | None:
    if choice.word is not None:
        word = _text(line, choice.word)
        span = find_word(text, word)
        if span is None:
            raise _BadRowError(f"the word {word!r} is not in its text")
        return span
    if choice.span is None:
        return None
    cells = [_cell(line, name) for name in choice.span]
    if not all(cell.strip().isdecimal() for cell in cells):
        raise _BadRowError(f"expected two whole numbers as a span, found {', '.join(cells)}")
    start, end = map(int, cells)
    if not start < end <= len(text):
        raise _BadRowError(f"span {start} to {end} is not in its text of {len(text)} characters")
    return start, end


# columns


def text_column(name: str, names: list[str], choice: Choice, plain: str = "") -> str:
    """Return the name of the column of the texts."""
    used = (choice.text, choice.word, *(choice.span or ()), *choice.where, *(choice.keep or ()))
    if plain and any(chosen is not None for chosen in used):
        raise WordbiasError(f"{name}: {plain}")
    for column in used[1:]:
        if column is not None and column not in names:
            raise WordbiasError(f"{name}: has no column {column!r}; it has {', '.join(names)}")
    return choose_column(name, names, choice.text)


def kept_columns(
    text: str, cells: Mapping[str, list[str]], choice: Choice
) -> tuple[dict[str, Column], tuple[str, ...]]:
    """Return the columns to keep, and the names of those left out for their many values."""
    if choice.keep is not None:
        return {name: Column.of(cells[name]) for name in choice.keep}, ()
    others = {name: Column.of(values) for name, values in cells.items() if name != text}
    columns = {name: column for name, column in others.items() if len(column.values) <= DISTINCT}
    return columns, tuple(name for name in others if name not in columns)
