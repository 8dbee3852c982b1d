"""The best settings against the base and against random removals: theorems on made-up items."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from wordbias.contextual.sweep.comparison import (
    Items,
    comparison_rows,
    comparison_tables,
    measured,
)
from wordbias.draws import seed_keys
from wordbias.results import Row
from wordbias.statistics import sign_flip_p
from wordbias.stereotypes.scores import Settings

NAMES = ["SENT-0", "L12-110"]
TRIPLES, OCCUPATIONS = 30, 20
FEW = Settings(0.5, samples=200)


def items(seed: int) -> Items:
    rng = np.random.default_rng(seed)
    parity = (rng.random(OCCUPATIONS) < 0.7).astype(float)
    return Items(rng.normal(size=TRIPLES), rng.random(TRIPLES), rng.random(OCCUPATIONS), parity)


def head(seed: int) -> dict[str, Items]:
    return {name: items(10 * seed + i) for i, name in enumerate(("Base", *NAMES))}


def drawn(seed: int, draws: int) -> dict[str, list[Items]]:
    return {name: [items(1000 * seed + 10 * i + k) for k in range(draws)] for i, name in
            enumerate(NAMES, 1)}  # fmt: skip


def rows(
    heads: list[Any], nulls: list[Any], seeds: tuple[int, ...] = (), lists: list[Any] | None = None
) -> list[Row]:
    return comparison_rows(NAMES, heads, nulls, ("nsp", "nli"), FEW, seeds, lists or [])


def one(found: list[Row], measure: str, **wanted: Any) -> Row:
    (row,) = (
        row
        for row in found
        if row.measure == measure
        and all(row.details.get(key) == value for key, value in wanted.items())
    )
    return row


def value_of(one: Items, measure: str) -> float:
    """The definitions: means of the largest half, and accuracy times parity."""
    if measure == "fairness":
        return float(one.neutral.mean() * one.parity.mean())
    values = one.strength if measure == "strength" else one.distance
    return float(np.sort(values)[-TRIPLES // 2 :].mean())


@pytest.mark.parametrize("measure", ["strength", "distance", "fairness"])
def test_differences_are_those_of_the_measures(measure: str) -> None:
    heads, nulls = [head(1), head(2), head(3)], [drawn(k, 4) for k in (1, 2, 3)]
    compared = rows(heads, nulls, (5, 6, 7))
    for name in NAMES:
        own = np.array([value_of(each[name], measure) for each in heads])
        base = np.array([value_of(each["Base"], measure) for each in heads])
        null = np.array([[value_of(x, measure) for x in each[name]] for each in nulls])
        change = one(compared, f"{measure}-change", setting=name, against="Base")
        assert change.value == pytest.approx((own - base).mean())
        assert change.subject == ("nli" if measure == "fairness" else "nsp")
        assert change.details["setting_value"] == pytest.approx(own.mean())
        low, high = stats.t.interval(0.95, 2, (own - base).mean(), stats.sem(own - base))
        assert change.details["heads_low"] == pytest.approx(low)
        assert change.details["heads_high"] == pytest.approx(high)
        assert change.details["p"] == sign_flip_p(own - base)
        assert change.details["p_holm"] >= change.details["p"]
        assert change.details["heads"] == [5, 6, 7]
        against = one(compared, f"{measure}-change", setting=name, against="null")
        assert against.value == pytest.approx((own - null.mean(1)).mean())
        row = one(compared, f"null-{measure}", setting=name)
        means = null.mean(0)
        assert row.value == pytest.approx(means.mean())
        better = means >= own.mean() if measure == "fairness" else means <= own.mean()
        assert row.details["reached"] == better.sum()
        assert row.details["p"] == (1 + better.sum()) / 5
        low, high = np.percentile(means, [2.5, 97.5])
        assert (row.details["low"], row.details["high"]) == pytest.approx((low, high))


@given(st.integers(0, 10_000))
@settings(max_examples=10)
def test_what_is_the_same_has_no_difference(seed: int) -> None:
    """Items are paired: equal ones differ by nothing in every sample, whatever their spread."""
    same = items(seed)
    compared = rows([dict.fromkeys(("Base", *NAMES), same)], [{name: [same] for name in NAMES}])
    for row in compared:
        if row.measure.endswith("-change"):
            assert (row.value, row.details["low"], row.details["high"]) == (0, 0, 0)
        else:
            assert row.details["reached"] == 1
            assert row.details["p"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("heads", [2, 8, 20])
def test_a_removal_that_predicts_the_same_for_every_head_reaches_the_setting(heads: int) -> None:
    """Means over heads are added in two orders, which must not decide whether they are equal."""
    for seed in range(6):
        same = [head(seed * heads + i) for i in range(heads)]
        nulls = [{name: [by_name[name]] * 3 for name in NAMES} for by_name in same]
        for row in rows(same, nulls, tuple(range(heads))):
            if row.measure.startswith("null-"):
                assert (row.details["reached"], row.details["p"]) == (3, 1)


def test_a_difference_that_all_items_share_is_certain() -> None:
    """S of items that are all lower by .5 is lower by .5 in every bootstrap sample."""
    base = items(3)
    lower = base._replace(strength=base.strength - 0.5)
    compared = rows([{"Base": base, **dict.fromkeys(NAMES, lower)}], [])
    row = one(compared, "strength-change", setting="SENT-0")
    assert row.value == pytest.approx(-0.5)
    assert (row.details["low"], row.details["high"]) == pytest.approx((-0.5, -0.5))
    assert "p" not in row.details  # one head has no test


def test_the_interval_is_that_of_the_paired_bootstrap() -> None:
    compared = rows([head(4)], [])
    row = one(compared, "fairness-change", setting="L12-110")
    rng = np.random.default_rng(FEW.seed)
    own, base = head(4)["L12-110"], head(4)["Base"]
    chosen = rng.integers(OCCUPATIONS, size=(FEW.samples, OCCUPATIONS))
    differences = [
        own.neutral[at].mean() * own.parity[at].mean()
        - base.neutral[at].mean() * base.parity[at].mean()
        for at in chosen
    ]
    low, high = np.percentile(differences, [2.5, 97.5])
    assert (row.details["low"], row.details["high"]) == pytest.approx((low, high))


def test_draws_that_differ_widen_the_interval() -> None:
    """The mean of a few draws is uncertain too."""
    base = items(1)
    apart = [base._replace(strength=base.strength + by) for by in (-1.0, 1.0)]
    alike = [base, base]
    width = []
    for nulls in (alike, apart):
        compared = rows(
            [{"Base": base, **dict.fromkeys(NAMES, base)}], [dict.fromkeys(NAMES, nulls)]
        )
        row = one(compared, "strength-change", setting="SENT-0", against="null")
        assert row.value == pytest.approx(0)
        width.append(row.details["high"] - row.details["low"])
    assert width[0] == 0
    assert width[1] == pytest.approx(2)  # both draws the lower one, or both the higher one


@pytest.mark.parametrize("measure", ["strength", "distance", "fairness"])
def test_redraws_give_the_changes_an_interval_and_change_nothing_else(measure: str) -> None:
    heads, nulls, redraws = [head(1), head(2)], [drawn(1, 2), drawn(2, 2)], [drawn(3, 9)] * 2
    redraws[1] = drawn(4, 9)
    alone, compared = rows(heads, nulls, (0, 1)), rows(heads, nulls, (0, 1), redraws)
    assert [
        {k: v for k, v in row.details.items() if not k.startswith("lists")} for row in compared
    ] == [row.details for row in alone]
    assert [row.details.get("against") for row in compared if "lists_draws" in row.details] == [
        "Base"
    ] * 6
    base = np.mean([value_of(each["Base"], measure) for each in heads])
    for name in NAMES:
        row = one(compared, f"{measure}-change", setting=name, against="Base")
        each = [[value_of(items, measure) for items in redraw[name]] for redraw in redraws]
        low, high = np.percentile(np.mean(each, axis=0) - base, [2.5, 97.5])
        assert row.details["lists_draws"] == 9
        assert (row.details["lists_low"], row.details["lists_high"]) == pytest.approx((low, high))
    table = comparison_tables(compared)[-1]
    assert table.title == "Change from the base, and over 9 redraws of the pairs"
    assert [line[0] for line in table.cells] == [
        f"{symbol}, {name}" for symbol in "SDη" for name in NAMES
    ]


def test_measures_of_samples() -> None:
    given_items = items(2)
    at = np.array([[0] * TRIPLES, range(TRIPLES)])
    sampled = measured(given_items, "distance", 15, at)
    assert sampled[0] == pytest.approx(given_items.distance[0])
    assert sampled[1] == pytest.approx(value_of(given_items, "distance"))


def test_the_tables_fit_and_say_what_was_compared() -> None:
    few = comparison_tables(rows([head(1)], []))
    assert [table.title for table in few] == [
        f"{symbol} of the best settings, against the base" for symbol in "SDη"
    ]
    many = comparison_tables(rows([head(1), head(2)], [drawn(1, 3), drawn(2, 3)], (0, 1)))
    assert len(many) == 6
    assert "paired over 2 heads" in many[1].title
    assert "at least 0.5" in many[1].note
    assert many[0].cells[0][0] == "SENT-0"
    assert comparison_tables([]) == []


def test_one_seed_has_no_spread() -> None:
    assert seed_keys([0.1]) == {}
