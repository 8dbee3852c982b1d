"""Columns of a file: which holds the texts, which are kept, which rows and words are meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wordbias.errors import WordbiasError
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


def text_column(name: str, names: list[str], choice: Choice, plain: str = "") -> str:
    """Return which column holds the texts.

    Parameters
    ----------
    name
        What messages call the texts.
    names
        Those of the columns.
    plain
        Why there are no columns but one; empty where there are.

    Raises
    ------
    WordbiasError
        If that cannot be told, or a column that is asked for is not among `names`.
    """
    asked = (choice.text, choice.word, *(choice.span or ()), *choice.where, *(choice.keep or ()))
    if plain and any(one is not None for one in asked):
        raise WordbiasError(f"{name}: {plain}")
    listed = ", ".join(names)
    for one in asked[1:]:
        if one is not None and one not in names:
            raise WordbiasError(f"{name}: has no column {one!r}; it has {listed}")
    if choice.text is None:
        known = [one for one in (*_USUAL, *(names if len(names) == 1 else [])) if one in names]
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
    """Return the columns to keep, and the names of those that have too many values for it.

    Parameters
    ----------
    text
        The column of the texts.
    """
    if choice.keep is not None:
        return {name: Column.of(cells[name]) for name in choice.keep}, ()
    made = {name: Column.of(values) for name, values in cells.items() if name != text}
    kept = {name: column for name, column in made.items() if len(column.values) <= DISTINCT}
    return kept, tuple(name for name in made if name not in kept)
