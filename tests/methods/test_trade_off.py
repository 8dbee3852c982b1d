"""Bias left and quality kept, from rows made by hand; efficient points by their definition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.measures.registry import ideal
from wordbias.methods.trade_off import efficient, share_left, trade_off_rows
from wordbias.results import Row

POINTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12)
CHANCE = {"chance": 0.1, "chance_low": 0.08, "chance_high": 0.12, "beyond_chance": True}


def dominates(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return a[0] <= b[0] and a[1] >= b[1] and (a[0] < b[0] or a[1] > b[1])


@given(POINTS)
def test_no_point_dominates_an_efficient_one_and_an_efficient_one_dominates_each_other(
    points: list[tuple[int, int]],
) -> None:
    chosen = efficient(points)
    best = [point for point, is_best in zip(points, chosen, strict=True) if is_best]
    assert bool(best) == bool(points)
    for point, is_best in zip(points, chosen, strict=True):
        assert is_best != any(dominates(other, point) for other in points)
        assert is_best or any(dominates(other, point) for other in best)


@given(POINTS, st.randoms(use_true_random=False))
def test_what_is_efficient_does_not_depend_on_the_order(
    points: list[tuple[int, int]], random: Any
) -> None:
    moved = [*points]
    random.shuffle(moved)
    known = dict(zip(points, efficient(points), strict=True))
    assert dict(zip(moved, efficient(moved), strict=True)) == known


VALUES = st.floats(0.0, 1.0)


@given(VALUES, VALUES, VALUES, st.floats(-5, 5), st.floats(0.1, 10))
def test_the_share_left_depends_on_neither_the_unit_nor_the_zero(
    a: float, b: float, c: float, shift: float, unit: float
) -> None:
    """Where lower is better, and where higher is, of the same values with another sign."""
    before, after, chance = 2 + a, b, c
    share = share_left(before, after, chance, "lower", 0.0)
    moved = [shift + unit * value for value in (before, after, chance)]
    assert share_left(*moved, "lower", 0.0) == pytest.approx(share, abs=1e-9)
    flipped = [-value for value in (before, after, chance)]
    assert share_left(*flipped, "higher", 0.0) == pytest.approx(share)
    assert share_left(before, before, chance, "lower", 0.0) == pytest.approx(1)
    assert share_left(before, chance, chance, "lower", 0.0) == 0


def test_of_a_value_with_two_sides_the_distance_from_neutral_counts() -> None:
    assert share_left(-0.5, 0.3, 0.1, "neutral", 0.0) == pytest.approx(0.5)
    assert share_left(0.5, -0.5, 0.1, "neutral", 0.0) == pytest.approx(1)
    assert share_left(0.4, 1.2, 0.8, "neutral", 1.0) == 0


def row(measure: str, value: float | None, stage: str, **details: Any) -> Row:
    column = {} if stage == "before" else {"column": "method", "debiased": stage}
    return Row("glove", measure, value, {"stage": stage, **column, **ideal(measure), **details})


def both(measure: str, before: float, after: float | None, **details: Any) -> list[Row]:
    known = {key: value for key, value in details.items() if key in ("set", "setting")}
    return [row(measure, before, "before", **details), row(measure, after, "misp", **known)]


def left(rows: list[Row]) -> Row:
    (bias_left,) = trade_off_rows(rows)
    assert (bias_left.subject, bias_left.measure) == ("glove", "bias-left")
    assert (bias_left.details["stage"], bias_left.details["column"]) == ("misp", "method")
    return bias_left


def test_the_value_is_the_largest_share_of_the_main_measures_beyond_chance() -> None:
    rows = [
        *both("same", 0.3, 0.2, **CHANCE),
        *both("same-skew", 0.3, 0.3, **CHANCE),  # not the main one of its family
        *both("midb-unit-abs", 0.3, 0.0, **CHANCE),  # some methods lower it by construction
        *both("direct-bias", 0.11, 0.2, **{**CHANCE, "beyond_chance": False}),
        *both("gipe", 0.5, 0.2, setting="θ=0.07", **CHANCE),  # another θ than the main one
        *both("gipe", 0.3, 0.05, setting="θ=0.03", **CHANCE),  # better than chance after
    ]
    bias_left = left(rows)
    assert bias_left.value == pytest.approx(0.5)
    assert bias_left.details["of"] == {"SAME": pytest.approx(0.5), "GIPE": 0}
    assert bias_left.details["n"] == 2
    assert "unmeasured" not in bias_left.details


def test_a_value_that_is_worse_after_leaves_more_than_all() -> None:
    assert left(both("direct-bias", 0.2, 0.3, **CHANCE)).value == pytest.approx(2)


@pytest.mark.parametrize("beyond", [False, None])
def test_without_a_value_beyond_chance_there_is_nothing_that_could_be_left(
    beyond: bool | None,
) -> None:
    level = CHANCE | {"beyond_chance": beyond}
    if beyond is None:
        level = {}
    bias_left = left(both("direct-bias", 0.2, 0.1, **level))
    assert bias_left.value is None
    assert bias_left.details["reason"].endswith(
        "no main measure has a value before that is beyond chance"
    )
    assert bias_left.details["pareto"] is False


def test_beyond_chance_on_the_better_side_is_no_bias() -> None:
    level = CHANCE | {"chance": 0.9}
    assert left(both("direct-bias", 0.2, 0.1, **level)).value is None


@pytest.mark.parametrize(("p", "counts"), [(0.049, True), (0.05, False)])
def test_a_test_of_its_own_stands_for_the_chance_level(p: float, counts: bool) -> None:
    rows = both("weat", 1.2, -0.6, set="weat6", p=p, about="gender", low=0.1, high=1.5)
    assert left(rows).value == (pytest.approx(0.5) if counts else None)


@pytest.mark.parametrize(("low", "counts"), [(0.01, True), (-0.01, False)])
def test_a_p_whose_interval_includes_neutral_is_no_finding(low: float, counts: bool) -> None:
    rows = both("weat", 1.2, 0.6, set="weat6", p=0.01, about="gender", low=low, high=1.5)
    assert (left(rows).value is not None) == counts


def test_a_control_is_not_about_people() -> None:
    rows = both("weat", 1.5, 1.5, set="weat1", p=0.0001, low=0.1, high=1.9, about="control")
    assert left(rows).value is None
    rows += both("weat", 1.0, 0.2, set="weat7", p=0.0001, low=0.1, high=1.9, about="gender")
    assert left(rows).value == pytest.approx(0.2)
    rows += both("weat", 1.0, 0.4, set="weat6", p=0.0001, low=0.1, high=1.9, about="gender")
    assert left(rows).value == pytest.approx(0.4)


def test_what_has_no_value_after_is_named_and_left_out() -> None:
    undefined = both("direct-bias", 0.2, None, **CHANCE)
    bias_left = left(undefined)
    assert (bias_left.value, bias_left.details["n"]) == (None, 0)
    assert bias_left.details["reason"].endswith("beyond chance before: direct bias")
    bias_left = left([*undefined, *both("same", 0.3, 0.2, **CHANCE)])
    assert bias_left.value == pytest.approx(0.5)
    assert bias_left.details["unmeasured"] == ["direct bias"]


def test_quality_kept_is_the_smallest_share() -> None:
    rows = both("direct-bias", 0.2, 0.1, **CHANCE)
    assert left(rows).details["kept"] is None
    rows += both("similarity", 0.6, 0.57, set="men")
    rows += both("similarity", 0.4, 0.38, set="simlex-999")
    assert left(rows).details["kept"] == pytest.approx(0.95)
    rows += both("analogy", 0.5, 0.45, set="google-total")
    rows += both("analogy", 0.5, None, set="msr")
    rows.append(row("neighbours-preserved", 0.97, "misp", setting="k=10"))
    rows.append(row("neighbours-preserved", 0.1, "misp", setting="k=10", word="nurse"))
    assert left(rows).details["costs"] == {
        "similarity": pytest.approx(0.95),
        "analogies": pytest.approx(0.9),
        "neighbours": 0.97,
    }
    assert left(rows).details["kept"] == pytest.approx(0.9)
    below = [*both("similarity", -0.1, 0.2, set="men"), *rows[:2]]
    assert left(below).details["costs"] == {}


def points(**columns: tuple[float, float]) -> dict[str, bool]:
    """Return whether each column is efficient, by its bias left and quality kept."""
    rows = [row("direct-bias", 1.1, "before", **CHANCE)]
    for stage, (share, quality) in columns.items():
        rows.append(row("direct-bias", 0.1 + share, stage))
        rows.append(row("neighbours-preserved", quality, stage, setting="k=10"))
    rows.append(Row("glove", "column", None, {"stage": "gn-glove", "reason": "no w_g"}))
    return {point.details["stage"]: point.details["pareto"] for point in trade_off_rows(rows)}


def test_efficient_columns_are_those_that_nothing_dominates() -> None:
    assert points(hard=(0.2, 0.9), misp=(0.5, 0.97), inlp=(0.3, 0.8)) == {
        "hard": True,
        "misp": True,
        "inlp": False,
    }


@pytest.mark.parametrize("kind", ["null", "lists"])
def test_a_control_is_neither_efficient_nor_hides_what_is(kind: str) -> None:
    rows = [
        *both("direct-bias", 0.3, 0.2, **CHANCE),
        *both("similarity", 0.9, 0.8),
        *(
            replace(row, details={**row.details, "stage": "drawn", "column": kind})
            for row in (*both("direct-bias", 0.3, 0.1, **CHANCE), *both("similarity", 0.9, 0.9))
            if row.details["stage"] == "misp"
        ),
    ]
    efficient_ones = {row.details["stage"]: row.details["pareto"] for row in trade_off_rows(rows)}
    assert efficient_ones == {"misp": True, "drawn": False}


def test_a_column_must_be_better_than_doing_nothing() -> None:
    assert points(misp=(0.99, 0.5)) == {"misp": True}
    assert points(misp=(1.01, 0.99), hard=(1.5, 0.2)) == {"misp": False, "hard": False}


def test_embeddings_are_compared_with_themselves_only() -> None:
    rows = both("direct-bias", 0.2, 0.15, **CHANCE) + both("similarity", 0.5, 0.4, set="men")
    others = [Row("fair", original.measure, original.value, original.details) for original in rows]
    others[1] = Row("fair", "direct-bias", 0.1, others[1].details)
    trade_offs = trade_off_rows([*rows, *others])
    assert [(point.subject, point.value, point.details["pareto"]) for point in trade_offs] == [
        ("glove", pytest.approx(0.5), True),
        ("fair", pytest.approx(0), True),
    ]


def test_rows_without_columns_give_none_and_its_own_rows_are_no_input() -> None:
    rows = both("direct-bias", 0.2, 0.15, **CHANCE)
    trade_offs = trade_off_rows(rows)
    assert trade_off_rows([*rows, *trade_offs]) == trade_offs
    assert trade_off_rows(rows[:1]) == []
    assert trade_off_rows([Row("glove", "midb", 0.1, {"stage": "after"})]) == []


def test_a_probe_states_its_own_share_and_its_interval() -> None:
    """The chance of probes is drawn again after a method."""
    own = {"left": 0.8, "left_low": 0.7, "left_high": 0.9}
    probe = both("best-probe", 1.0, 0.9, **{**CHANCE, "chance": 0.5})
    probe[1] = replace(probe[1], details={**probe[1].details, **own})
    bias_left = left([*probe, *both("same", 0.3, 0.2, **CHANCE)])
    assert bias_left.value == 0.8
    assert (bias_left.details["low"], bias_left.details["high"]) == (0.7, 0.9)
    assert "low" not in left(both("same", 0.3, 0.2, **CHANCE)).details


def test_of_pronouns_that_are_stated_each_two_count_and_what_reads_them_does_not() -> None:
    about = {"audit": "encoder", "layer": 6, "beyond_chance": True, "chance": 0.0}
    bias_left = left(
        [
            *both("best-probe", 1.0, 0.9, **about, set="sentences"),
            *both("pronoun-stereotype", 0.5, 0.1, **about, set="she/he"),
            *both("pronoun-stereotype", -0.8, 0.4, **about, set="she/they"),
        ]
    )
    assert bias_left.value == pytest.approx(0.5)
    assert [*bias_left.details["of"].values()] == [pytest.approx(0.2), pytest.approx(0.5)]
    assert [name.rpartition(", ")[2] for name in bias_left.details["of"]] == ["she/he", "she/they"]
