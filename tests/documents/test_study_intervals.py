"""The intervals that docs/study.md quotes are those of its own table."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

STUDY = (Path(__file__).resolve().parents[2] / "docs" / "study.md").read_text(encoding="utf-8")
SAID = " ".join(STUDY.split()).replace("−", "-")  # the minus sign
COLUMNS = [
    f"{kind} *{measure}*"
    for kind in ("nouns", "pronouns", "occupations", "names")
    for measure in "Ed"
]
Column = dict[str, tuple[float, float]]


def columns() -> dict[str, Column]:
    """Read mean and standard deviation of each embedding, by column."""
    found: dict[str, Column] = {}
    head: list[str] = []
    for line in STUDY.splitlines():
        cells = [
            cell.strip(" *") if "±" in cell else cell.strip() for cell in line.split("|")[1:-1]
        ]
        if line.startswith("| |"):
            head = cells
        elif "±" in line and cells:
            for name, cell in zip(head[1:], cells[1:], strict=True):
                mean, spread = map(float, cell.split("±"))
                found.setdefault(name, {})[cells[0]] = mean, spread
    return found


def interval(column: Column, embedding: str) -> tuple[float, float, float]:
    """Return a difference from GloVe with its interval: two models each, one pooled variance."""
    variance = np.mean([spread**2 for _, spread in column.values()])
    half = stats.t.ppf(0.975, len(column)) * np.sqrt(variance * 2 / 2)
    apart = column[embedding][0] - column["glove"][0]
    return apart, apart - half, apart + half


def short(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".")


@pytest.mark.parametrize(
    ("name", "embedding", "alone"),  # alone: the text says both values in place of the difference
    [
        ("nouns *E*", "misp-published", False),
        ("nouns *E*", "misp", False),
        ("nouns *E*", "inlp", True),
        ("nouns *d*", "inlp", True),
        ("pronouns *d*", "inlp", False),
        ("pronouns *E*", "inlp", True),
        ("names *E*", "misp", False),
        ("names *E*", "inlp", False),
    ],
)
def test_a_quoted_interval(name: str, embedding: str, alone: bool) -> None:
    apart, low, high = map(short, interval(columns()[name], embedding))
    assert f"{low} to {high}" in SAID
    assert alone or apart in SAID


def test_how_many_differences_exclude_0() -> None:
    read = columns()
    apart = [
        (name, embedding)
        for name in COLUMNS
        for embedding in read[name]
        if embedding != "glove" and np.prod(interval(read[name], embedding)[1:]) > 0
    ]
    assert apart == [
        ("pronouns *d*", "inlp"),
        ("names *E*", "misp"),
        ("names *E*", "inlp"),
    ]
    assert sum(len(read[name]) - 1 for name in COLUMNS) == 40
    assert re.search(r"Of 40 such differences\*\* .* three exclude 0", SAID)
