"""Columns of a file: which holds the texts, which are kept, which rows and words are meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.formats.tables import kind_of
from wordbias.probes.representations import Column

DISTINCT = 1_000
"""A column of more distinct values is kept only where it is asked for."""
_USUAL = ("text", "sentence")


@dataclass(frozen=True)
class Choice:
    """What is taken of a file.

    Attributes
    ----------
    text
        Column of the texts, by name or number from 1; by default `text`, else `sentence`, else the
        only one.
    keep
        Columns to keep; by default all others of at most `DISTINCT` values.
    where
        Values that a row must have in a column, any one of those given for it.
    limit
        Rows to take, the first ones.
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


def text_column(file: Path, names: list[str], choice: Choice) -> str:
    """Return which column holds the texts.

    Raises
    ------
    WordbiasError
        If that cannot be told, or a column that is asked for is not among `names`.
    """
    asked = (choice.text, choice.word, *(choice.span or ()), *choice.where, *(choice.keep or ()))
    if kind_of(file) == "plain" and any(name is not None for name in asked):
        raise WordbiasError(
            f"{file}: is plain text, which has no columns; name a .tsv, .csv or .jsonl file"
        )
    listed = ", ".join(names)
    for name in asked[1:]:
        if name is not None and name not in names:
            raise WordbiasError(f"{file}: has no column {name!r}; it has {listed}")
    if choice.text is None:
        known = [name for name in (*_USUAL, *(names if len(names) == 1 else [])) if name in names]
        if not known:
            raise WordbiasError(
                f"{file}: which column holds the texts? Name one of {listed} with --text-column"
            )
        return known[0]
    if choice.text in names:
        return choice.text
    if choice.text.isdecimal() and 1 <= int(choice.text) <= len(names):
        return names[int(choice.text) - 1]
    raise WordbiasError(f"{file}: has no column {choice.text!r}; it has {listed}")


def kept_columns(
    file: Path, cells: Mapping[str, list[str]], choice: Choice
) -> tuple[dict[str, Column], tuple[str, ...]]:
    """Return the columns to keep, and the names of those that have too many values for it."""
    if kind_of(file) == "plain":
        return {}, ()
    text = text_column(file, list(cells), choice)
    if choice.keep is not None:
        return {name: Column.of(cells[name]) for name in choice.keep}, ()
    made = {name: Column.of(values) for name, values in cells.items() if name != text}
    kept = {name: column for name, column in made.items() if len(column.values) <= DISTINCT}
    return kept, tuple(name for name in made if name not in kept)
