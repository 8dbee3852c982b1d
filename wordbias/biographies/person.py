"""One person in a file of biographies: text, occupation, gender, split and name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from wordbias.biographies.biographies import DEV, FEMALE, MALE, TEST, TRAIN

RAW, START = "raw", "start_pos"
_LARGE = 10**18
_GENDERS = {
    **dict.fromkeys(("f", "female", "w", "woman"), FEMALE),
    **dict.fromkeys(("m", "male", "man"), MALE),
}
_SPLITS = {
    **dict.fromkeys(("train", "training"), TRAIN),
    **dict.fromkeys(("dev", "development", "val", "valid", "validate", "validation"), DEV),
    **dict.fromkeys(("test", "testing"), TEST),
}


class Person(NamedTuple):
    """A person; the split and the name are empty where the file has none."""

    text: str
    label: str
    gender: str
    split: str
    name: str


class BadPersonError(Exception):
    """A record that cannot be used."""


def read_person(cells: Mapping[str, Any], columns: Mapping[str, str], female: str | None) -> Person:
    """Read one record.

    Parameters
    ----------
    cells
        Texts by column; from a pickle, values of any plain kind.
    columns
        Which column is the text, label, gender, split and name; the last two may be missing.
    female
        What the column of genders says of women, if that is not usual. All values are then kept
        as they are.

    Raises
    ------
    BadPersonError
        If one of these is missing, or is not what it should be.
    """
    text = _text(cells, columns["text"])
    label = _cell(cells, columns["label"])
    gender = _gender(_cell(cells, columns["gender"]), columns["gender"], female)
    split = _split(_cell(cells, columns["split"])) if "split" in columns else ""
    name = _name(cells.get(columns["name"])) if "name" in columns else ""
    return Person(text, label, gender, split, name)


def _cell(cells: Mapping[str, Any], column: str) -> str:
    """Return a cell as text; one that is empty, or null in jsonl, is none."""
    value = cells.get(column)
    if _is_whole(value):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise BadPersonError(f"{column!r}: expected text, found {type(value).__name__}")
    text = (value or "").strip()
    if text in ("", "null"):
        raise BadPersonError(f"has no {column!r}")
    return text


def _is_whole(value: Any) -> bool:
    """Say whether a value is a number such as a code for a label: not one of a thousand digits."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGE


def _text(cells: Mapping[str, Any], column: str) -> str:
    text = _cell(cells, column)
    if column != RAW or START not in cells:
        return text
    start = _cell(cells, START)
    whole = str(cells[RAW])
    if not (start.isdecimal() and len(start) < len(str(_LARGE)) and int(start) <= len(whole)):
        raise BadPersonError(
            f"{START!r}: expected a place in its text of {len(whole)} characters, found "
            f"{start[:40]!r}"
        )
    rest = whole[int(start) :].strip()
    if not rest:
        raise BadPersonError(f"has no text from {START!r}, {start}, on")
    return rest


def _gender(value: str, column: str, female: str | None) -> str:
    if female is not None:
        return value  # whether it is among two is known when all are read
    known = _GENDERS.get(value.lower())
    if known is None:
        raise BadPersonError(
            f"{column!r}: expected F or M (female, male, woman, man), found {value[:40]!r}; say "
            "which value means female with --female"
        )
    return known


def _split(value: str) -> str:
    known = _SPLITS.get(value.lower())
    if known is None:
        raise BadPersonError(f"the split: expected train, dev or test, found {value[:40]!r}")
    return known


def _name(value: Any) -> str:
    """Return a name, of its parts where they are apart: first, middle and last name."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    return " ".join(part.strip() for part in parts if isinstance(part, str) and part.strip())
