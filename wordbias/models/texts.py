"""Texts from a file or memory, with their other columns and the spans of words in them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from wordbias.errors import WordbiasError
from wordbias.formats.tables import PLAIN, Line, is_parquet, kind_of, read_lines
from wordbias.models.representations import Column, cell_of
from wordbias.models.tokenising import Span, find_word

DISTINCT = 1_000
"""Number of distinct values up to which a column is kept by default."""
USUAL = ("text", "sentence")
"""Names of the column of texts by default."""


class Columns(Protocol):
    """A frame, as of pandas."""

    columns: Any

    def __getitem__(self, name: Any) -> Any:
        """Return a column."""


TextsLike = str | os.PathLike[str] | Iterable[str] | Mapping[str, Sequence[object]] | Columns
"""A file, texts, or columns of which one holds texts."""


@dataclass(frozen=True)
class Choice:
    """Selection of rows and columns.

    Attributes
    ----------
    text
        Column of the texts, by name or number from 1; by default `text`, else `sentence`, else the
        only one.
    keep
        Columns to keep; by default all others of at most `DISTINCT` values.
    where
        Allowed values of columns; rows with other values are left out.
    limit
        Number of rows, from the first on.
    word
        Column of a word to be found in the text.
    span
        Columns of the first character of a word, from 0, and of the one behind it.
    skip_bad
        Drop rows that cannot be used, and count them.
    """

    text: str | None = None
    keep: tuple[str, ...] | None = None
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    limit: int | None = None
    word: str | None = None
    span: tuple[str, str] | None = None
    skip_bad: bool = False


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
    """Texts with their other columns.

    Attributes
    ----------
    name
        File of the texts, or their name in messages.
    texts, lines
        The texts, and the line or number of each.
    spans
        Span of a word in each text, for vectors of words.
    columns
        Other columns that are kept.
    dropped, problem
        Number of rows that were dropped because they cannot be used, and the first reason.
    left_out
        Names of columns with too many values to be kept.
    """

    name: str
    texts: Sequence[str] = field(repr=False)
    lines: Sequence[int] = field(repr=False)
    spans: Sequence[Span] | None = field(repr=False)
    columns: Mapping[str, Column] = field(repr=False)
    dropped: int = 0
    problem: str = ""
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    def sha256(self) -> str:
        """Return a hash of the texts and the spans in them."""
        digest = hashlib.sha256()
        for i, text in enumerate(self.texts):
            span = None if self.spans is None else self.spans[i]
            digest.update(json.dumps([text, span]).encode())
        return digest.hexdigest()

    def without(self, bad: Mapping[int, str], skip_bad: bool) -> Texts:
        """Drop texts.

        Parameters
        ----------
        bad
            Reason by the place of the text.
        skip_bad
            Allow it.

        Raises
        ------
        WordbiasError
            If there are any and they are not to be dropped, or none is left.
        """
        if not bad:
            return self
        place, reason = next(iter(bad.items()))
        problem = f"line {self.lines[place]}: {reason}"
        if not skip_bad or len(bad) == len(self):
            raise WordbiasError(f"{self.name}: {problem}{_remedy(skip_bad)}")
        kept = [i for i in range(len(self)) if i not in bad]
        return replace(
            self,
            texts=[self.texts[i] for i in kept],
            lines=[self.lines[i] for i in kept],
            spans=None if self.spans is None else [self.spans[i] for i in kept],
            columns={
                name: Column.of(cells[i] for i in kept)
                for name, cells in ((name, c.cells()) for name, c in self.columns.items())
            },
            dropped=self.dropped + len(bad),
            problem=self.problem or problem,
        )


def load_texts(source: TextsLike, choice: Choice | None = None) -> Texts:
    """Read texts from a file or memory, see `open_texts`.

    Raises
    ------
    WordbiasError
        If the file cannot be read, a chosen column is not there, a row cannot be used (and such
        are not to be dropped), or no row is left.
    """
    opened, choice = open_texts(source), choice or Choice()
    bad: list[str] = []
    rows = list(islice(_usable(opened, choice, bad), choice.limit))
    if not rows:
        among = f"; {len(bad)} rows cannot be used, the first: {bad[0]}" if bad else ""
        wanted = " where " + " and ".join(
            f"{name} is {' or '.join(values)}" for name, values in choice.where.items()
        )
        raise WordbiasError(f"{opened.name}: holds no text{wanted if choice.where else ''}{among}")
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
        len(bad),
        bad[0] if bad else "",
        left_out,
    )


Row = tuple[Line, str, Span | None]


def _usable(source: Source, choice: Choice, bad: list[str]) -> Iterator[Row]:
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
            problem = f"line {line.number}: {error}"
            if not choice.skip_bad:
                raise WordbiasError(f"{source.name}: {problem}{_remedy(False)}") from None
            bad.append(problem)


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
        found = find_word(text, word)
        if found is None:
            raise _BadRowError(f"the word {word!r} is not in its text")
        return found
    if choice.span is None:
        return None
    cells = [_cell(line, name) for name in choice.span]
    if not all(cell.strip().isdecimal() for cell in cells):
        raise _BadRowError(f"expected two whole numbers as a span, found {', '.join(cells)}")
    start, end = map(int, cells)
    if not start < end <= len(text):
        raise _BadRowError(f"span {start} to {end} is not in its text of {len(text)} characters")
    return start, end


def _remedy(skipped: bool) -> str:
    return "" if skipped else "; mend it, or drop such rows with --skip-bad"


# columns


def text_column(name: str, names: list[str], choice: Choice, plain: str = "") -> str:
    """Return the name of the column of the texts.

    Parameters
    ----------
    name
        Name of the texts in messages.
    names
        Names of the columns.
    plain
        Reason why there is only one column; empty if there are columns.

    Raises
    ------
    WordbiasError
        If the column is not clear, or a chosen column is not among `names`.
    """
    used = (choice.text, choice.word, *(choice.span or ()), *choice.where, *(choice.keep or ()))
    if plain and any(one is not None for one in used):
        raise WordbiasError(f"{name}: {plain}")
    listed = ", ".join(names)
    for one in used[1:]:
        if one is not None and one not in names:
            raise WordbiasError(f"{name}: has no column {one!r}; it has {listed}")
    if choice.text is None:
        known = [one for one in (*USUAL, *(names if len(names) == 1 else [])) if one in names]
        if not known:
            raise WordbiasError(
                f"{name}: which column holds the texts? Name one of {listed} with --text-column"
            )
        return known[0]
    if choice.text in names:
        return choice.text
    if choice.text.isdecimal() and 1 <= int(choice.text) <= len(names):
        return names[int(choice.text) - 1]
    raise WordbiasError(f"{name}: has no column {choice.text!r}; it has {listed}")


def kept_columns(
    text: str, cells: Mapping[str, list[str]], choice: Choice
) -> tuple[dict[str, Column], tuple[str, ...]]:
    """Return the columns to keep, and the names of those left out for their many values.

    Parameters
    ----------
    text
        Name of the column of the texts.
    """
    if choice.keep is not None:
        return {name: Column.of(cells[name]) for name in choice.keep}, ()
    made = {name: Column.of(values) for name, values in cells.items() if name != text}
    kept = {name: column for name, column in made.items() if len(column.values) <= DISTINCT}
    return kept, tuple(name for name in made if name not in kept)


# sources


class Source(NamedTuple):
    """Opened rows with texts.

    Attributes
    ----------
    name
        Name in messages.
    lines
        The rows.
    plain
        Reason why there is only one column; empty if there are columns.
    """

    name: str
    lines: Iterator[Line]
    plain: str = ""


def open_texts(source: TextsLike, name: str = "texts") -> Source:
    """Open a plain, tabbed, CSV, jsonl or Parquet file (see `read_lines`), or texts in memory.

    Parameters
    ----------
    source
        A file; texts, such as a list or a pandas Series; or columns by name: a mapping or a frame.
    name
        Name in messages, if it is no file.

    Raises
    ------
    WordbiasError
        If it is something else, or its columns have different lengths.
    """
    if isinstance(source, (str, os.PathLike)):
        file = Path(source)
        if isinstance(source, str) and " " in source.strip() and not os.path.exists(source):
            raise WordbiasError(
                f"{name}: there is no file {source!r:.60}; a text stands in a list: [text]"
            )
        plain = "is plain text, which has no columns; name a .tsv, .csv, .jsonl or .parquet file"
        has_columns = kind_of(file) != "plain" or is_parquet(file)
        return Source(str(file), read_lines(file), "" if has_columns else plain)
    known = source.keys() if isinstance(source, Mapping) else getattr(source, "columns", None)
    if known is not None:
        table: Any = source
        for column in known:
            if isinstance(table[column], str) or not isinstance(table[column], Iterable):
                raise WordbiasError(f"{name}: column {column!r}: expected a list of values")
        cells = {str(column): list(table[column]) for column in known}
        if len({len(column) for column in cells.values()}) != 1:
            sizes = ", ".join(f"{column} {len(found):,}" for column, found in cells.items())
            raise WordbiasError(f"{name}: expected columns of one length, found {sizes or 'none'}")
        return Source(name, _rows_of_columns(cells))
    if not isinstance(source, Iterable):
        raise WordbiasError(
            f"{name}: expected a file, a list of texts, or a dictionary or frame of columns; got "
            f"{type(source).__name__}"
        )
    plain = "is a list, which has no columns; give a dictionary or a frame of columns"
    return Source(name, _rows_of_list(source), plain)


def _rows_of_columns(columns: Mapping[str, list[object]]) -> Iterator[Line]:
    for number, row in enumerate(zip(*columns.values(), strict=True), 1):
        cells = dict(zip(columns, map(cell_of, row), strict=True))
        nulls = frozenset(name for name, cell in cells.items() if cell is None)
        yield Line(number, {name: cell or "" for name, cell in cells.items()}, nulls=nulls)


def _rows_of_list(texts: Iterable[object]) -> Iterator[Line]:
    for number, text in enumerate(texts, 1):
        if isinstance(text, str):
            yield Line(number, {PLAIN: text})
        else:
            yield Line(number, {}, f"expected a text, found {text!r:.40}")
