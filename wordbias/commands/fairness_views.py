"""Group fairness as tables for people, and what to know of the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wordbias.outcomes.confusion import Confusion, listed
from wordbias.outcomes.measuring import (
    ACCURACY,
    ALL,
    CORRELATION,
    DIVERGENCES,
    EVALUATED,
    GAPS,
    SUM,
)
from wordbias.outcomes.metrics import Settings
from wordbias.outcomes.predictions import Columns
from wordbias.rendering import Table, how_many
from wordbias.results import Row, number

LABELS = {
    "tpr-gap": "TPR gap",
    "fpr-gap": "FPR gap",
    "precision-gap": "precision gap",
    "f1-gap": "F1 gap",
}
_COLUMNS = ["", "S", "95 %", "alike", "p", "P", "95 %"]


def tables(rows: Sequence[Row], confusion: Confusion, *, classes: bool) -> list[Table]:
    """Arrange the rows: sums and correlations, accuracy, and the classes if they are asked for."""
    found = {(row.measure, row.details["set"]): row for row in rows}
    shown = [sums_table(found, confusion.groups), accuracy_table(found, confusion.groups)]
    return [*shown, *([_classes_table(found, confusion)] if classes else [])]


def sums_table(found: Mapping[tuple[str, str], Row], groups: Sequence[str]) -> Table:
    """One line a metric, as Orgad et al. (2022), Table 3."""
    cells = [
        _sums(name, found[name, SUM], found.get((name, CORRELATION)))
        for name in (*GAPS, *DIVERGENCES)
    ]
    reasons = dict.fromkeys(
        f"{LABELS.get(row.measure, row.measure)}, {'P' if part == CORRELATION else 'S'} "
        f"undefined: {row.details['reason']}"
        for (_, part), row in found.items()
        if row.value is None and part in (SUM, CORRELATION)
    )
    about = f"S: absolute sum. P: Pearson's r with the share of {groups[0]}. 0 is fair."
    return Table("Gaps and distances", _COLUMNS, cells, " ".join([about, *_sentences(reasons)]))


def _sums(name: str, total: Row, r: Row | None) -> list[str]:
    return [
        LABELS.get(name, name),
        number(total.value),
        _ends(total, 4),
        number(total.details.get("alike")),
        _p(total.details.get("p")),
        *(["", ""] if r is None else [number(r.value, 3), _ends(r, 3)]),
    ]


def _sentences(parts: Mapping[str, None]) -> list[str]:
    """Write each part as a sentence."""
    return [f"{part}." for part in parts]


def accuracy_table(found: Mapping[tuple[str, str], Row], groups: Sequence[str]) -> Table:
    """One line a group."""
    cells = []
    for part in (ALL, *groups):
        row = found[ACCURACY, part]
        cells.append([part, number(row.value), _ends(row, 4), f"{row.details['n']:,}"])
    return Table("Accuracy", ["", "value", "95 %", "n"], cells)


def _classes_table(found: Mapping[tuple[str, str], Row], confusion: Confusion) -> Table:
    cells = []
    for name in confusion.classes:
        n = found["tpr-gap", name].details["n"]
        sizes = [f"{n[group]:,}" for group in confusion.groups]
        values = [number(found[gap, name].value, 3) for gap in GAPS]
        apart = [number(found[one, name].value, 3) for one in DIVERGENCES[1:]]
        cells.append([name, *sizes, *values, *apart])
    heads = [LABELS[gap].removesuffix(" gap") for gap in GAPS]
    return Table(
        "Classes",
        ["class", *confusion.groups, *heads, *DIVERGENCES[1:]],
        cells,
        "Gaps of each class, with the number of examples in each group; – is undefined.",
    )


def _ends(row: Row, digits: int) -> str:
    low, high = row.details.get("low"), row.details.get("high")
    return "–" if low is None else f"{number(low, digits)} … {number(high, digits)}"


def _p(p: float | None) -> str:
    return "–" if p is None else f"{p:.3f}"


def closing(confusion: Confusion, settings: Settings, source: str) -> list[str]:
    """Say what the numbers mean."""
    signed = len(confusion.groups) == 2
    what = " − ".join(confusion.groups) if signed else "the largest − the smallest of the groups"
    precision = "TP/N, as published" if settings.as_published else "TP/(TP+FP)"
    how = (
        "Σ |D(first group) − D(second)|, as published, which is 0 for mirror images"
        if settings.as_published
        else "the sum over groups"
    )
    lines = [
        f"Gaps are {what}; precision is {precision}. Shares for P are of {source}. "
        "Independence and separation are KL divergences in nats; sufficiency is "
        f"{_DISTANCE[settings.distance_name]}; separation and sufficiency are {how}.",
        "alike: S of a classifier that treats the groups alike, with the classes each group has; "
        "p: how often that is as large. By chance a sum is above 0; the 95 % intervals allow for "
        "that (basic bootstrap) and may lie below S.",
    ]
    if source == EVALUATED and signed and not settings.as_published:
        lines.append("P is meant with the shares of the training data: --train FILE, or --shares.")
    return lines


_DISTANCE = {
    "total-variation": "the total variation distance",
    "positions": "the Wasserstein distance over alphabetical positions",
    "costs": "the Wasserstein distance under the costs given",
}


def notes_about(confusion: Confusion, read: Columns, others: Sequence[str]) -> list[str]:
    """Say what was left out or is empty."""
    notes = list(others)
    if read.dropped:
        notes.append(f"{how_many(read.dropped, 'row')} dropped, the first: {read.problem}")
    if confusion.left_out:
        notes.append(f"{how_many(confusion.left_out, 'row')} of other groups left out")
    notes += [
        f"no example of {group} in: {listed(names)}" for group, names in confusion.empty().items()
    ]
    never = confusion.unpredicted()
    return [*notes, *([f"never predicted: {listed(never)}"] if never else [])]
