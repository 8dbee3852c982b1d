"""Tables of retrieval, which a call prints and its page shows."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias import cells, verdicts
from wordbias.measures.registry import column_title
from wordbias.pivot import pivot, values
from wordbias.rankings.counterfactuals import BESIDE
from wordbias.rankings.effects import (
    BEFORE,
    EXPOSURE,
    EXPOSURE_RATIO,
    IMPACT,
    NDCG,
    OVERLAP,
    RBO,
    SELECTION,
    SHIFT,
)
from wordbias.rendering import Table
from wordbias.results import Row, number

CHANGES = (OVERLAP, RBO, SHIFT, NDCG)
"""Measures of a change, in the order of the table."""


def retrieval_tables(rows: Sequence[Row]) -> list[Table]:
    """Return the tables of each encoder, and of what a removal changes."""
    subjects = dict.fromkeys(row.subject for row in rows)
    by_subject = ([row for row in rows if row.subject == name] for name in subjects)
    return [*(table for own in by_subject for table in _subject_tables(own)), *_removal(rows)]


def _subject_tables(rows: Sequence[Row]) -> list[Table]:
    """Return the tables of one encoder: the changes, beside the null, and groups of documents."""
    subject = rows[0].subject
    changes = [row for row in rows if "set" in row.details and row.measure in CHANGES]
    columns = [
        column
        for measure in CHANGES
        for column in values((column_title(measure), cells.with_half_width), measure=measure)
    ]
    note = "Means over queries, ± half the 95 % interval."
    title = f"{subject}: what a change moves"
    tables = [pivot(title, changes, {"change": "set"}, columns, note)]
    if tested := [row for row in changes if "excess" in row.details]:
        columns = values(("difference (95 %)", _excess), ("p", cells.p_holm), ("verdict", _verdict))
        note = (
            "Difference from the change that means nothing, query by query; p after Holm. "
            "Beyond: more than meaningless changes."
        )
        title = f"{subject}: beyond meaningless changes?"
        tables.append(pivot(title, tested, {"measure": _titled, "change": "set"}, columns, note))
    if grouped := [row for row in rows if row.measure in (EXPOSURE, SELECTION)]:
        columns = [
            column
            for measure in (EXPOSURE, SELECTION)
            for column in values((column_title(measure), _small), measure=measure)
        ]
        by = {"lists": "set", "group": "group"}
        tables.append(pivot(f"{subject}: groups of documents", grouped, by, columns))
        ratios = [row for row in rows if row.measure in (EXPOSURE_RATIO, IMPACT)]
        columns = values("value", "95 %", ("chance from", _chance_low), ("p", cells.p_holm))
        note = "Lowest group ÷ highest; p after Holm. Chance: groups exchanged; 5 % are lower."
        by_ratio = {"ratio": _titled, "lists": "set"}
        tables.append(pivot(f"{subject}: ratios", ratios, by_ratio, columns, note))
    return tables


def _removal(rows: Sequence[Row]) -> list[Table]:
    """Return the table of what a removal changes, beside random ones; none without."""
    removed = [
        row for row in rows if "null_as_far" in row.details and row.details["set"] not in BESIDE
    ]
    if not removed:
        return []
    columns = values("value", ("change", cells.change), ("random removals", _random))
    columns += values(("p", cells.p_of("null_as_far")))
    note = (
        "Change by the removal; by random ones that move vectors as far, their middle 95 %. "
        f"{BEFORE}: the lists as given, compared with those before."
    )
    title = f"{removed[0].subject}: what it changes"
    return [pivot(title, removed, {"measure": _titled, "lists": "set"}, columns, note)]


def _titled(row: Row) -> str:
    return column_title(row.measure)


def _excess(row: Row) -> str:
    ends = cells.ends_of(row, "excess")
    text = number(row.details["excess"], 3)
    return text if ends is None else f"{text} ({number(ends[0], 3)} to {number(ends[1], 3)})"


def _verdict(row: Row) -> str:
    return verdicts.decide(verdicts.MOVES, row.to_dict()).verdict


def _small(row: Row) -> str:
    """Write a value in four figures: exposures among many documents are small."""
    return "–" if row.value is None else f"{row.value:.4g}"


def _chance_low(row: Row) -> str:
    return number(row.details.get("chance_low"), 3)


def _random(row: Row) -> str:
    return cells.ends(row, "null_as_far")
