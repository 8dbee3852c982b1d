"""Reference values: the measures of embeddings that people know, beside those of another one.

A value is compared with another only if measure, setting, attribute and the rule by which words are
chosen are the same. Values that grow with the length of the vectors are not compared at all.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from wordbias.arrays import unit
from wordbias.data import reference_path
from wordbias.embedding import Embedding
from wordbias.measures.panel import Panel
from wordbias.measures.registry import FAMILY_OF, MEASURES
from wordbias.results import Row
from wordbias.vocabulary import choose_vocabulary
from wordbias.wordlists import Attribute, resolve, resolve_pairs

SETTINGS = (
    "set",
    "words",
    "setting",
    "direction",
    "original",
    "k",
    "isolated",
    "seeds",
    "ties",
    "ddof",
    "asked",
    "oov",
)
"""Keys of a row that must be equal for two values to be compared."""
COVERED = 0.9
"""Share of the listed words, pairs or questions that both embeddings must have."""
PAIRS = (
    ("she", "he"),
    ("woman", "man"),
    ("queen", "king"),
    ("nurse", "doctor"),
    ("good", "bad"),
    ("dog", "cat"),
    ("water", "fire"),
    ("red", "blue"),
)
"""Pairs of frequent words whose cosines tell whether two embeddings have the same vectors."""
_SAME = 0.002
"""Largest difference of such cosines that rounding to float16 explains."""
_AMONG = 0.01
"""How much the number of searched words may differ, as a share."""
_DIGITS = 3
"""Digits that tables show: values that agree in them are equal."""

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Known:
    """A published embedding with its measured values."""

    name: str  # name by which people know it
    # cosines of `PAIRS`, None where a word is lacking; none if only published values are known
    cosines: Sequence[float | None]
    values: Mapping[Key, Mapping[str, Any]]  # rows of the file by `comparable`

    def is_same(self, cosines: Sequence[float | None]) -> bool:
        """Return whether vectors with these cosines of `PAIRS` are the same vectors."""
        both = [
            (a, b)
            for a, b in zip(self.cosines, cosines, strict=False)
            if a is not None and b is not None
        ]
        return len(both) > len(PAIRS) // 2 and all(abs(a - b) < _SAME for a, b in both)


class Place(NamedTuple):
    """Number of known values below a value, equal to it in the digits shown, and in all."""

    below: int
    equal: int
    of: int


@cache
def known_embeddings() -> tuple[Known, ...]:
    """Read the reference values; of embeddings with the same vectors the first is to be taken."""
    content = json.loads(reference_path().read_text(encoding="utf-8"))
    return tuple(
        Known(
            embedding["name"],
            embedding.get("cosines", ()),
            {comparable(row["measure"], row): row for row in embedding["rows"]},
        )
        for embedding in content["embeddings"]
    )


def comparable(measure: str, details: Mapping[str, Any]) -> Key:
    """Return a measure with its settings: values of equal ones may be compared."""
    return measure, *((key, details[key]) for key in SETTINGS if key in details)


def coverage(row: Row, panel: Panel) -> float:
    """Return the share of the words, pairs or questions of a measure that an embedding has."""
    # It is the least share of a set, where a measure takes several sets of words.
    details, attribute = row.details, panel.attribute
    n, missing = details.get("n"), details.get("missing")
    if "coverage" in details:
        return float(details["coverage"])
    if isinstance(missing, Mapping) and isinstance(n, Mapping):
        return float(min(size / (size + len(missing.get(name, ()))) for name, size in n.items()))
    if isinstance(missing, int) and isinstance(n, int):
        return n / (n + missing)
    if FAMILY_OF[row.measure].key == "midb":
        groups = [resolve(words, panel.embedding) for words in attribute.members]
        return min(len(group.found) / len(group.listed) for group in groups)
    if row.measure == "direct-bias-pca":
        pairs = resolve_pairs(attribute.pairs, panel.embedding)
        return len(pairs.found) / len(pairs.listed)
    return 1.0


def pair_cosines(embedding: Embedding) -> list[float | None]:
    """Return the cosines of `PAIRS`, None where the embedding lacks a word."""
    cosines: list[float | None] = []
    for pair in PAIRS:
        if any(word not in embedding for word in pair):
            cosines.append(None)
            continue
        x, y = unit(embedding.take(pair)).astype(np.float64)
        cosines.append(round(float(x @ y), 5))
    return cosines


def with_known_values(rows: Sequence[Row], panels: Sequence[Panel]) -> list[Row]:
    """Add to rows the values of known embeddings that may be compared with theirs."""
    # An embedding is not compared with itself, also if it is an excerpt or rounded. Other
    # attributes, settings or words are not compared, nor values after debiasing in an audit, nor
    # those that grow with the length of the vectors, nor those with less than `COVERED` of the
    # listed words.
    by_name = {panel.embedding.name: panel for panel in panels}
    others = {name: _other_known(panel) for name, panel in by_name.items()}
    ruled = {name: _is_by_rule(panel) for name, panel in by_name.items()}
    compared_rows = []
    for row in rows:
        panel = by_name.get(row.subject)
        if (
            panel is not None
            and row.value is not None
            and "word" not in row.details
            and row.measure in MEASURES
            and row.details.get("stage", "before") == "before"
            and (ruled[row.subject] or FAMILY_OF[row.measure].own_words)
        ):
            row = _with_values(row, panel, others[row.subject])
        compared_rows.append(row)
    return compared_rows


def _with_values(row: Row, panel: Panel, others: Sequence[Known]) -> Row:
    if MEASURES[row.measure].by_length or coverage(row, panel) < COVERED:
        return row
    key = comparable(row.measure, {**row.details, **question_count(row)})
    taken: list[Known] = []
    for other in others:
        at = other.values.get(key)
        usable = at is not None and at.get("coverage", 1) >= COVERED and _as_many(row, at)
        if usable and not any(before.is_same(other.cosines) for before in taken):
            taken.append(other)
    if not taken:
        return row
    chance = {
        known.name: known.values[key]["chance"] for known in taken if "chance" in known.values[key]
    }
    about = {"known_values": {known.name: known.values[key]["value"] for known in taken}}
    if chance:
        about["known_chance"] = chance
    return replace(row, details={**row.details, **about})


def question_count(row: Row) -> dict[str, int]:
    """Return the number of questions of SemBias, known or not; other rows have it already."""
    n, missing = row.details.get("n"), row.details.get("missing")
    return {"asked": n + missing} if isinstance(n, int) and isinstance(missing, int) else {}


def _as_many(row: Row, at: Mapping[str, Any]) -> bool:
    """Return whether neighbours or answers were searched among equally many words."""
    own, other = int(row.details.get("among", 0)), int(at.get("among", 0))
    return abs(own - other) <= _AMONG * max(own, other)


def _other_known(panel: Panel) -> list[Known]:
    """Return the known embeddings with other vectors, none for other attributes."""
    if panel.attribute != Attribute.load() or panel.by_projection:
        return []
    cosines = pair_cosines(panel.embedding)
    return [known for known in known_embeddings() if not known.is_same(cosines)]


def _is_by_rule(panel: Panel) -> bool:
    """Return whether the words are the frequent neutral ones of the embedding itself."""
    own = choose_vocabulary([panel.embedding], panel.attribute)
    return set(own) == set(panel.vocabulary)


# The place of a value


def place(row: Row, names: Collection[str] | None = None) -> Place | None:
    """Place a row among the known values, or return None if there are none."""
    # Where only the distance from neutral matters, such as for WEAT, distances are compared.
    values: Mapping[str, float] = row.details.get("known_values", {})
    others = [value for name, value in values.items() if names is None or name in names]
    if row.value is None or not others:
        return None
    return _place(_distance(row, row.value), [_distance(row, other) for other in others])


def place_less_chance(row: Row) -> Place | None:
    """Place a row's value minus its chance level; None where either is not known."""
    # A measure with values on both sides of neutral has a chance level about neutral, whose mean
    # says nothing.
    values: Mapping[str, float] = row.details.get("known_values", {})
    chance: Mapping[str, float] = row.details.get("known_chance", {})
    if row.value is None or "chance" not in row.details or not chance:
        return None
    if MEASURES[row.measure].better == "neutral":
        return None
    others = [values[name] - level for name, level in chance.items()]
    return _place(row.value - row.details["chance"], others)


def _distance(row: Row, value: float) -> float:
    measure = MEASURES[row.measure]
    if measure.better == "neutral" and isinstance(measure.neutral, (int, float)):
        return abs(value - measure.neutral)
    return value


def _place(value: float, others: Sequence[float]) -> Place:
    rounded, *known = (round(number, _DIGITS) for number in (value, *others))
    return Place(sum(other < rounded for other in known), known.count(rounded), len(known))
