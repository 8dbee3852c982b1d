"""The intervals that docs/study.md quotes are those of its own table."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from wordbias.statistics import pairs_needed, t_power

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


def test_the_spread_between_seeds_and_what_two_of_them_find() -> None:
    nouns = columns()["nouns *E*"]
    df = len(nouns)
    variance = float(np.mean([spread**2 for _, spread in nouns.values()]))
    ends = [np.sqrt(df * variance / stats.chi2.ppf(q, df)) for q in (0.975, 0.025)]
    quoted = [f"{value:.3f}".lstrip("0") for value in (np.sqrt(variance), *ends)]
    assert f"is {quoted[0]} ({df} degrees of freedom, 95 % {quoted[1]} to {quoted[2]})" in SAID
    effects = {share: share * nouns["glove"][0] for share in (0.26, 0.15, 0.10)}
    assert f"26 % of *E*, here {effects[0.26]:.3f}".replace("0.181", ".181") in SAID

    def power(effect: float, n: int) -> float:
        return t_power(effect / np.sqrt(variance * 2 / n), 2 * n - 2)

    assert f"power {power(effects[0.26], 2):.2f}".replace("0.", ".") in SAID
    needed = [
        next(n for n in range(2, 99) if power(effect, n) >= 0.8) for effect in effects.values()
    ]
    assert f"| models of each embedding | {' | '.join(map(str, needed))} |" in SAID
    assert pairs_needed(effects[0.26], np.sqrt(2 * variance)) == 6
