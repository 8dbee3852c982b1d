"""Enhanced StereoSet: triples beside their gender-swapped ones (Dawkins et al. 2024, section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from wordbias.contextual.csv_files import Source, read_text, records
from wordbias.errors import WordbiasError

LABELS = ("stereotype", "anti-stereotype", "unrelated")
"""Order of the scores of a triple."""
GENDERS = ("M", "F")
_COLUMNS = {
    "context_id": ["context_id"],
    "context": ["context"],
    "next_sentence": ["next_sentence"],
    "label": ["label"],
    "gender": ["gender"],
    "gender_swapped_context": ["gender_swapped_context", "gender_swapped_conext"],
    "gender_swapped_next_sentence": ["gender_swapped_next_sentence"],
}
"""The published test file misspells one of its columns."""


class Sentences(NamedTuple):
    """A context and a next sentence."""

    context: str
    following: str


class Item(NamedTuple):
    """One row: a context and a next sentence, and both with the genders swapped."""

    original: Sentences
    swapped: Sentences


@dataclass(frozen=True)
class Triple:
    """Three next sentences for one context.

    Attributes
    ----------
    id, gender
        As in the file; the gender, M or F, is that of the person in the context.
    items
        One for each of `LABELS`, which are those of the **original** triple: its stereotype is the
        anti-stereotype once the genders are swapped.
    """

    id: str
    gender: str
    items: tuple[Item, Item, Item]

    def pairs(self) -> Iterator[Sentences]:
        """Yield original and swapped of each label in turn: six pairs."""
        for item in self.items:
            yield from item

    @property
    def is_swapped(self) -> bool:
        """Return whether the swap changed the stereotype or the anti-stereotype."""
        return any(item.original != item.swapped for item in self.items[:2])


@dataclass(frozen=True)
class Gsss:
    """The triples of a file, with its path and hash."""

    path: str
    sha256: str
    triples: Sequence[Triple]

    def altered_unrelated(self) -> list[str]:
        """Return the ids whose unrelated sentence changes in the swap.

        The paper says that it stays the same, and defines d so.
        """
        return [
            triple.id
            for triple in self.triples
            if triple.items[2].original.following != triple.items[2].swapped.following
        ]

    def unswapped(self) -> list[str]:
        """Return the ids in which the swap changed nothing; their s is 0 for any model."""
        return [triple.id for triple in self.triples if not triple.is_swapped]


def load_gsss(path: str | Path) -> Gsss:
    """Read the published CSV, either of its two files.

    Raises
    ------
    WordbiasError
        If columns are missing, a row cannot be used (with its line), or rows form no triple: an id
        without exactly one row a label, or with two contexts or genders (with the id).
    """
    return parse_gsss(read_text(path))


def parse_gsss(source: Source) -> Gsss:
    """Parse the published CSV; errors are those of `load_gsss`."""
    rows: dict[str, list[tuple[int, dict[str, str]]]] = {}
    for line, row in records(source, _COLUMNS):
        where = f"{source.path}: line {line}"
        _check(row["label"], LABELS, f"{where}: label")
        _check(row["gender"], GENDERS, f"{where}: gender")
        rows.setdefault(row["context_id"], []).append((line, row))
    if not rows:
        raise WordbiasError(f"{source.path}: holds no triple, only a line of names")
    triples = [_triple(name, found, source.path) for name, found in rows.items()]
    return Gsss(source.path, source.sha256, triples)


def _check(found: str, known: Sequence[str], where: str) -> None:
    if found not in known:
        raise WordbiasError(f"{where}: expected one of {', '.join(known)}, found {found!r}")


def _triple(name: str, rows: Sequence[tuple[int, dict[str, str]]], path: str) -> Triple:
    where = f"{path}: context_id {name} (line {rows[0][0]})"
    for label in LABELS:
        count = sum(row["label"] == label for _, row in rows)
        if count != 1:
            raise WordbiasError(
                f"{where}: is no triple: it has {count} rows with the label {label}, expected one"
            )
    for column in ("gender", "context"):
        if len(found := _values(rows, column)) > 1:
            raise WordbiasError(f"{where}: is no triple: its {column} is {' and '.join(found)}")
    by_label = {row["label"]: row for _, row in rows}
    first, second, third = (_item(by_label[label]) for label in LABELS)
    return Triple(name, rows[0][1]["gender"], (first, second, third))


def _values(rows: Iterable[tuple[int, dict[str, str]]], column: str) -> list[str]:
    return list(dict.fromkeys(repr(row[column]) for _, row in rows))


def _item(row: dict[str, str]) -> Item:
    return Item(
        Sentences(row["context"], row["next_sentence"]),
        Sentences(row["gender_swapped_context"], row["gender_swapped_next_sentence"]),
    )
