"""WinoBias as tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from wordbias.commands.fairness_views import accuracy_table, sums_table
from wordbias.outcomes.metrics import Settings
from wordbias.outcomes.winobias.measuring import DIFFERENCE, F1, UNDECIDED
from wordbias.outcomes.winobias.sentences import ANTI, FEMALE, MALE, PRO, Sentence
from wordbias.rendering import Table
from wordbias.results import Row, number


def sentences_table(sentences: Sequence[Sentence]) -> Table:
    """One line a file: how many sentences, and about whom."""
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for one in sentences:
        key = (one.stereotype, f"type {one.kind}", one.split)
        found.setdefault(key, Counter())[one.gender] += 1
    cells = [
        [*key, f"{genders.total():,}", str(genders[FEMALE]), str(genders[MALE])]
        for key, genders in sorted(found.items(), reverse=True)
    ]
    names = {name for one in sentences for name, _ in one.people}
    return Table(
        "Sentences",
        ["stereotype", "type", "split", "sentences", "she", "he"],
        cells,
        f"{len(names)} professions. Score a system with --clusters; write its input with "
        "--sentences.",
    )


def tables(rows: Sequence[Row]) -> list[Table]:
    """Arrange F1, fairness and accuracy."""
    found = {(row.measure, row.details["set"]): row for row in rows if row.measure[:5] != "conll"}
    groups = (FEMALE, MALE)
    return [_f1_table(rows), sums_table(found, groups), accuracy_table(found, groups)]


def _f1_table(rows: Sequence[Row]) -> Table:
    cells = []
    for name in dict.fromkeys(row.details["setting"] for row in rows if row.measure == F1):
        of = {
            (row.measure, row.details["set"]): row
            for row in rows
            if row.details.get("setting") == name
        }
        pro, anti = of[F1, PRO], of[F1, ANTI]
        (difference,) = (row for (measure, _), row in of.items() if measure == DIFFERENCE)
        low, high = (difference.details.get(end) for end in ("low", "high"))
        between = "–" if low is None else f"{number(low, 2)} … {number(high, 2)}"
        values = [number(row.value, 2) for row in (pro, anti, difference)]
        cells.append([name, *values, between, f"{pro.details['n']:,}"])
    return Table(
        "CoNLL F1, percent",
        ["", "pro", "anti", "pro − anti", "95 %", "pairs"],
        cells,
        "Mean of MUC, B³ and CEAFφ4; pro − anti is 0 for a system that does not go by stereotypes.",
    )


def closing(rows: Sequence[Row], settings: Settings) -> list[str]:
    """Say what the numbers mean."""
    (undecided,) = (row for row in rows if row.measure == UNDECIDED)
    shares = next(row.details["shares_from"] for row in rows if "shares_from" in row.details)
    how = "|D(F) − D(M)|, as published" if settings.as_published else "sums over both genders"
    left = "left out of separation" if settings.as_published else "an outcome of its own"
    return [
        f"As classification: whom the pronoun is clustered with; F − M by pronoun. In "
        f"{undecided.value or 0:.1%} of sentences that is no profession or several: {left}. "
        f"Separation and sufficiency are {how}. Shares for P are of {shares}.",
        "alike: S of a system that treats she and he alike; p: how often that is as large.",
    ]
