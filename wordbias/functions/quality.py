"""Quality of embeddings as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.rendering import Table
from wordbias.results import Row, number

_BESIDE = 2
_NAME = 24


def quality_tables(rows: Sequence[Row]) -> list[Table]:
    """One line a set, one pair of columns an embedding, few embeddings a table."""
    subjects = list(dict.fromkeys(row.subject for row in rows))
    parts = [subjects[i : i + _BESIDE] for i in range(0, len(subjects), _BESIDE)]
    return [_table(rows, part) for part in parts]


def _table(rows: Sequence[Row], subjects: Sequence[str]) -> Table:
    by_key = {(row.details["set"], row.subject): row for row in rows}
    cells = []
    for name in dict.fromkeys(row.details["set"] for row in rows):
        of_set = [by_key[name, subject] for subject in subjects]
        cells.append([name, *(cell for row in of_set for cell in (_score(row), _coverage(row)))])
    heads = [head for subject in subjects for head in (_short(subject), "coverage")]
    return Table("Quality", ["set", *heads], cells, _note(rows))


def _note(rows: Sequence[Row]) -> str:
    kept = {"skip": "left out", "mean": "scored with the mean vector"}[rows[0].details["oov"]]
    setting = next((row.details["setting"] for row in rows if row.measure == "analogy"), "")
    answered = setting.replace("add", "3CosAdd").replace("mul", "3CosMul")
    reasons = dict.fromkeys(row.details["reason"] for row in rows if "reason" in row.details)
    return " ".join(
        [
            "Similarity: Spearman's ρ (95 % over pairs). Analogies: share answered. Higher is",
            "better. Coverage: pairs or questions all of whose words are known; the others are",
            f"{kept}{f'; analogies answered by {answered}' if setting else ''}.",
            *reasons,
        ]
    )


def _score(row: Row) -> str:
    if "low" not in row.details:
        return number(row.value)
    low, high = (number(row.details[key], 2) for key in ("low", "high"))
    return f"{number(row.value)} ({low} to {high})"


def _coverage(row: Row) -> str:
    known = round(row.details["coverage"] * row.details["asked"])
    return f"{known:,}/{row.details['asked']:,}"


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"…{name[1 - _NAME :]}"
