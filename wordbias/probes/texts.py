"""The texts of a file, what else its columns say of them, and where in them a word stands."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.formats.tables import Line, read_lines
from wordbias.probes.columns import Choice, kept_columns, text_column
from wordbias.probes.representations import Column
from wordbias.probes.spans import Span, find_word


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts of a file.

    Attributes
    ----------
    file
        Where they are from.
    texts, lines
        Each with its line in the file.
    spans
        Of a word in each, if words are meant.
    columns
        What else is known of each.
    dropped
        How many rows were left out because they cannot be used, and the first reason.
    left_out
        Columns that have too many values to be kept.
    """

    file: Path
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
        """Drop texts, by their place, and say why.

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
            raise WordbiasError(f"{self.file}: {problem}{_remedy(skip_bad)}")
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


def load_texts(path: str | Path, choice: Choice | None = None) -> Texts:
    """Read the texts of a plain, tabbed, CSV or jsonl file (see `read_lines`), compressed or not.

    Raises
    ------
    WordbiasError
        If the file cannot be read, a column that is asked for is not there, a row cannot be used
        (and such are not to be dropped), or no row is left.
    """
    file, choice = Path(path), choice or Choice()
    bad: list[str] = []
    rows = list(islice(_usable(file, read_lines(file), choice, bad), choice.limit))
    if not rows:
        among = f"; {len(bad)} rows cannot be used, the first: {bad[0]}" if bad else ""
        wanted = " where " + " and ".join(map(_equation, choice.where.items()))
        raise WordbiasError(f"{file}: holds no text{wanted if choice.where else ''}{among}")
    names = list(dict.fromkeys(name for line, _, _ in rows for name in line.cells))
    cells = {name: [line.cells.get(name, "") for line, _, _ in rows] for name in names}
    columns, left_out = kept_columns(file, cells, choice)
    spans = [span for _, _, span in rows if span is not None]
    return Texts(
        file,
        [text for _, text, _ in rows],
        [line.number for line, _, _ in rows],
        spans or None,
        columns,
        len(bad),
        bad[0] if bad else "",
        left_out,
    )


Row = tuple[Line, str, Span | None]


def _usable(file: Path, lines: Iterable[Line], choice: Choice, bad: list[str]) -> Iterator[Row]:
    """Yield the rows that are asked for; note the others, or refuse the first of them."""
    column = ""
    for line in lines:
        try:
            if line.problem:
                raise _BadRowError(line.problem)
            column = column or text_column(file, list(line.cells), choice)
            if all(_cell(line, name) in values for name, values in choice.where.items()):
                text = _text(line, column)
                yield line, text, _span(line, text, choice)
        except _BadRowError as error:
            problem = f"line {line.number}: {error}"
            if not choice.skip_bad:
                raise WordbiasError(f"{file}: {problem}{_remedy(False)}") from None
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
    given = [_cell(line, name) for name in choice.span]
    if not all(cell.strip().isdecimal() for cell in given):
        raise _BadRowError(f"expected two whole numbers as a span, found {', '.join(given)}")
    start, end = map(int, given)
    if not start < end <= len(text):
        raise _BadRowError(f"span {start} to {end} is not in its text of {len(text)} characters")
    return start, end


def _equation(wanted: tuple[str, tuple[str, ...]]) -> str:
    return f"{wanted[0]} is {' or '.join(wanted[1])}"


def _remedy(skipped: bool) -> str:
    return "" if skipped else "; mend it, or drop such rows with --skip-bad"
