"""Lines and verdicts, against definitions written out here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.pages.lines import ideal, make_lines, stages_of, value_text, variant
from wordbias.verdicts import (
    BETTER,
    NO_INTERVAL,
    SAME,
    SLIGHT,
    UNCLEAR,
    UNKNOWN,
    WORSE,
    change,
    differs,
)

UNIT = st.floats(-1, 1, allow_subnormal=False)
PARTS = st.tuples(UNIT, UNIT, UNIT).map(sorted)


def row(value: float | None, **details: Any) -> dict[str, Any]:
    return {"subject": "e", "measure": "m", "value": value, **details}


def around(parts: list[float], stage: str, **details: Any) -> dict[str, Any]:
    low, value, high = parts
    return row(value, low=low, high=high, stage=stage, **details)


def verdict(first: dict[str, Any], last: dict[str, Any]) -> str:
    (line,) = make_lines([first, last])
    return change(line.first, line.last)


def reference(old: list[float], new: list[float], better: str) -> str:
    """Compare how bad each value can be, over a fine grid of its interval."""

    def badness(parts: list[float]) -> tuple[float, float]:
        low, _, high = parts
        sure = {"lower": (low, high), "higher": (-high, -low)}
        if better in sure:
            return sure[better]
        inside = [0.0] if low <= 0 <= high else []
        known = [abs(low), abs(high), *inside]
        return min(known), max(known)

    if abs(old[1] - new[1]) < 1e-6:  # what float32 vectors leave of a cosine
        return SAME
    before, after = badness(old), badness(new)
    parted = after[1] < before[0] or after[0] > before[1]
    if parted and abs(old[1] - new[1]) < 0.05 * abs(old[1]):
        return SLIGHT
    return BETTER if after[1] < before[0] else WORSE if after[0] > before[1] else UNCLEAR


@given(PARTS, PARTS, st.sampled_from(["lower", "higher", "neutral"]))
def test_a_change_is_clear_only_where_the_intervals_part(
    old: list[float], new: list[float], better: str
) -> None:
    details = {"neutral": 0.0, "better": better}
    judged = verdict(around(old, "before", **details), around(new, "after", **details))
    assert judged == reference(old, new, better)


@given(PARTS, PARTS, st.sampled_from(["lower", "higher", "neutral"]))
def test_the_way_back_is_the_opposite(old: list[float], new: list[float], better: str) -> None:
    details = {"neutral": 0.0, "better": better}
    there = verdict(around(old, "before", **details), around(new, "after", **details))
    back = verdict(around(new, "before", **details), around(old, "after", **details))
    opposite = {BETTER: WORSE, WORSE: BETTER}
    assert SLIGHT in (there, back) or back == opposite.get(there, there)


def test_what_cannot_be_judged_is_not() -> None:
    assert verdict(row(1, stage="before", better="lower"), row(0, stage="after")) == NO_INTERVAL
    assert verdict(around([0, 1, 2], "before"), around([3, 4, 5], "after")) == UNKNOWN
    assert verdict(row(None, stage="before"), row(0, stage="after")) == UNKNOWN
    assert change(row(1), None) == UNKNOWN


@pytest.mark.parametrize(
    ("measure", "better", "ends", "expected"),
    [
        ("weat", "neutral", (0.1, 0.9), True),
        ("weat", "neutral", (-0.1, 0.9), False),
        ("weat", "neutral", (0.0, 0.9), False),
        ("recoverability-logistic", "lower", (0.7, 0.8), True),
        ("recoverability-logistic", "lower", (-0.4, 0.6), False),
        ("direct-bias", "lower", (0.1, 0.2), None),
        ("clustering-accuracy", "lower", (0.6, 0.7), None),
    ],
)
def test_only_what_can_be_on_both_sides_of_neutral_can_be_away_from_it(
    measure: str, better: str, ends: tuple[float, float], expected: bool | None
) -> None:
    value = sum(ends) / 2
    interval_row = row(value, low=ends[0], high=ends[1], neutral=0.0, better=better)
    assert differs({**interval_row, "measure": measure}) is expected


def test_without_an_interval_or_a_neutral_value_nothing_is_said() -> None:
    assert differs(row(1.0, neutral=0.0, better="neutral")) is None
    assert differs(row(1.0, low=0.5, high=2, better="neutral")) is None
    assert differs(row(None, low=0.5, high=2, neutral=0, better="neutral")) is None


def test_stages_stand_side_by_side_and_refitted_ones_by_themselves() -> None:
    rows = [
        row(1, stage="before"),
        row(2, stage="after", reference="before"),
        row(3, stage="after", reference="self"),
        row(4, stage="after", reference="self"),
    ]
    rows[3]["measure"] = "n"
    first, second = make_lines(rows)
    assert {stage: stage_row["value"] for stage, stage_row in first.stages.items()} == {
        "before": 1,
        "after": 2,
        "after, refitted": 3,
    }
    assert list(second.stages) == ["after"]
    assert stages_of([first, second]) == ["before", "after", "after, refitted"]


def test_no_row_is_lost_even_if_two_look_alike() -> None:
    rows = [row(1, setting="a"), row(2, setting="a"), row(3, setting="b"), row(4, group="a")]
    lines = make_lines(rows)
    assert sorted(line.any["value"] for line in lines) == [1, 2, 3, 4]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["", "before", "after"]))))
def test_the_nth_row_of_a_stage_stands_in_the_nth_line_of_its_subject(
    told: list[tuple[str, str]],
) -> None:
    rows = [row(i, subject=who, stage=stage) for i, (who, stage) in enumerate(told)]
    expected: dict[tuple[str, int], dict[str, float]] = {}
    for i, (who, stage) in enumerate(told):
        n = told[:i].count((who, stage))
        expected.setdefault((who, n), {})[stage] = i
    stage_values = [
        {stage: x["value"] for stage, x in line.stages.items()} for line in make_lines(rows)
    ]
    assert stage_values == list(expected.values())


def test_what_a_row_is_about_is_said_once() -> None:
    assert variant(row(1, setting="names", set="names")) == "names"
    query = row(1, set="weat6", n={"male_names": 8, "female": 8, "career": 8, "family": 8})
    assert variant(query) == "weat6, male names/female × career/family"


def test_values_are_written_with_their_interval_and_what_is_ideal() -> None:
    full = row(-0.12345, low=-0.2, high=0.1, neutral=0.5, better="lower")
    assert value_text(full) == "−0.123 (−0.200 to 0.100)"
    assert ideal(full) == "0.5 is neutral, lower is better"
    assert value_text(row(None)) == "–"
    assert value_text(None) == ""
    assert ideal(row(1, better="higher")) == "higher is better"
    assert ideal(row(1)) == "–"
