"""Rows of unknown origin, made safe to arrange and draw; the data of a page keeps them whole."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from wordbias.pages.document import Document
from wordbias.pages.lines import is_number
from wordbias.rows import Found
from wordbias.visible import seen

_NUMBERS = frozenset(
    {"low", "high", "neutral", "p", "y", "coverage", "component", "cos_difference"}
    | {"sign_stability", "chance", "chance_low", "chance_high"}
)
_TEXTS = frozenset(
    {"stage", "better", "towards", "reference", "set", "setting", "group", "words", "word"}
    | {"reason", "debiased", "about", "reading"}
)
_LISTS = frozenset({"before", "after"})


def rows_of(documents: Iterable[Document]) -> list[Found]:
    """Return the rows of all documents, each detail that views read being of its type.

    A detail of another type, such as an interval that is no number, is left out; characters that
    cannot be seen are replaced, for the rows are also summed up on a terminal.
    """
    return [_cleaned(row) for document in documents for row in document.rows]


def _cleaned(row: Found) -> Found:
    details = {_seen(key): _detail(key, _seen(value)) for key, value in row.items()}
    return {key: value for key, value in details.items() if value is not None or key == "value"}


def _seen(value: Any) -> Any:
    if isinstance(value, str):
        return seen(value)
    if isinstance(value, dict):
        return {_seen(key): _seen(part) for key, part in value.items()}
    return [_seen(part) for part in value] if isinstance(value, list) else value


def _detail(key: str, value: Any) -> Any:
    if key in _NUMBERS:
        return value if is_number(value) else None
    if key in _TEXTS and value is not None:
        return value if isinstance(value, str) else json.dumps(value, default=str)
    if key == "beyond_chance":
        return value if isinstance(value, bool) else None
    if key in _LISTS:
        return list(map(str, value)) if isinstance(value, list) and value else None
    if key == "n":
        sizes = list(value.values()) if isinstance(value, dict) else [value]
        return value if all(map(is_number, sizes)) else None
    return value
