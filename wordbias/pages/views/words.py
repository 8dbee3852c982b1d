"""Rows about single words: what views of words share."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.pages.lines import is_number
from wordbias.rows import Found, given


def of_set(row: Found, measure: str, name: str) -> bool:
    """Whether a row is a word's value of a measure, in one of our sets of words."""
    return row["measure"] == measure and row.get("set") == name and given(row, "word")


def subjects(rows: Sequence[Found]) -> list[str]:
    """Return what was measured, in order."""
    return list(dict.fromkeys(str(row["subject"]) for row in rows))


def by_word(rows: Sequence[Found], subject: str) -> dict[str, dict[str, Found]]:
    """Return the rows of a subject by word, then by stage."""
    found: dict[str, dict[str, Found]] = {}
    for row in rows:
        if row["subject"] == subject and is_number(row["value"]):
            found.setdefault(str(row["word"]), {})[str(row.get("stage") or "")] = row
    return found


def sides(rows: Sequence[Found]) -> tuple[str, str]:
    """Name the groups of negative and of positive values, as the rows do."""
    for row in rows:
        groups = row.get("groups")
        if isinstance(groups, list) and len(groups) == 2:
            return str(groups[1]), str(groups[0])
    named = {float(row["value"]) > 0: str(row["towards"]) for row in rows if given(row, "towards")}
    return named.get(False, "the second group"), named.get(True, "the first group")
