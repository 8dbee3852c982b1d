"""Anonymisation: named entities become ANON_0, ANON_1, … in the order they first occur.

One entity has one name throughout a text, so that who does what stays readable while names, which
carry a gender, are gone (Zhao et al. 2018). An entity is identified by its characters: *Ann Hayes*
and *Hayes* are two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wordbias.errors import WordbiasError, need
from wordbias.outcomes.records import BadRowError, Record
from wordbias.outcomes.rewrite import Change

PERSONS = ("PERSON", "PER")
PREFIX = "ANON_"


class Entity(NamedTuple):
    """Span of a text from `start` up to `end`, exclusive, with the label of what it names."""

    start: int
    end: int
    label: str = ""


Finder = Callable[[str, Any], Sequence[Entity]]
"""Function that finds the entities of a text, given the text and its record."""


@dataclass(frozen=True)
class Anonymiser:
    """Method that replaces entities by numbers."""

    find: Finder  # function that finds the entities
    # labels of the entities to replace; those without a label always are
    labels: frozenset[str] = field(default=frozenset(PERSONS))

    def __call__(self, text: str, cells: Record | Mapping[str, str] | None = None) -> Change:
        """Return the text with numbered entities, and the label of each, or `entity`."""
        entities = [e for e in self.find(text, cells) if not e.label or e.label in self.labels]
        return anonymise(text, entities), [e.label or "entity" for e in entities]


def anonymise(text: str, entities: Iterable[Entity]) -> str:
    """Replace entities by ``ANON_k``, k from 0 by the first occurrence of the same characters."""
    numbers: dict[str, int] = {}
    parts, end = [], 0
    for entity in sorted(entities):
        if not end <= entity.start < entity.end <= len(text):
            raise BadRowError(_misplaced(entity, end, text))
        name = " ".join(text[entity.start : entity.end].split())
        number = numbers.setdefault(name, len(numbers))
        parts += [text[end : entity.start], f"{PREFIX}{number}"]
        end = entity.end
    return "".join([*parts, text[end:]])


def _misplaced(entity: Entity, end: int, text: str) -> str:
    where = f"the span {entity.start} to {entity.end}"
    if 0 <= entity.start < end:
        return f"{where} overlaps the one before, which ends at {end}"
    return f"{where} is not in its text of {len(text)} characters"


@dataclass(frozen=True)
class GivenSpans:
    """Finder of the entities that one column lists, or whose start and end are in two columns."""

    # A list is JSON: [[0, 4], [10, 15, "PERSON"]], or objects with `start`, `end` and perhaps
    # `label`. Characters are counted from 0; the end is exclusive.

    columns: tuple[str, ...]

    def __call__(self, text: str, cells: Mapping[str, str]) -> Sequence[Entity]:
        """Return the entities of the record."""
        if len(self.columns) == 2:
            start, end = (cells[column].strip() for column in self.columns)
            if not start and not end:
                return []
            return [_entity([_whole(start), _whole(end)])]
        cell = cells[self.columns[0]].strip()
        try:
            spans = json.loads(cell) if cell else []
        except (ValueError, RecursionError):
            spans = None
        if spans is None or not isinstance(spans, list):
            raise BadRowError(f"expected a list of spans [[start, end], …], found {cell[:40]!r}")
        return [_entity(item) for item in spans]


def _whole(cell: str) -> int | str:
    return int(cell) if cell.isdecimal() else cell


def _entity(span: Any) -> Entity:
    if isinstance(span, dict):
        span = [span.get(key) for key in ("start", "end", "label") if key in span]
    if isinstance(span, list) and len(span) in (2, 3):
        start, end, label = (*span, "")[:3]
        whole = all(isinstance(x, int) and not isinstance(x, bool) for x in (start, end))
        if whole and isinstance(label, str):
            return Entity(start, end, label)
    raise BadRowError(f"expected a span [start, end] or [start, end, label], found {span!r:.40}")


@dataclass(frozen=True)
class SpacyFinder:
    """Finder of entities with a spaCy model."""

    model: Any = field(repr=False)

    @classmethod
    def of(cls, model: str | Callable[[str], Any] | None) -> SpacyFinder:
        """Load a spaCy model by its name, or take a loaded one."""
        if not isinstance(model, str):
            return cls(model)
        spacy = need("spacy", extra="spacy", purpose="finding entities in texts")
        try:
            return cls(spacy.load(model))
        except OSError:
            raise WordbiasError(
                f"spaCy has no model {model!r}; get it with: python -m spacy download {model}"
            ) from None

    def __call__(self, text: str, cells: object = None) -> Sequence[Entity]:
        """Return the entities that the model finds."""
        return [Entity(e.start_char, e.end_char, e.label_) for e in self.model(text).ents]
