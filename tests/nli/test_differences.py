"""Paired differences of a study: scipy's tests, closed forms, and what so few seeds can show."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples
from scipy import stats

from wordbias.nli.differences import (
    about_power,
    fewest_seeds,
    paired_differences,
    readings,
)
from wordbias.results import Row
from wordbias.statistics import sign_flip_p
from wordbias.verdicts import smallest_p


def _rows(
    subject: str,
    values: Sequence[float | None],
    setting: str = "nouns",
    measure: str = "mab-error",
    seeds: Sequence[int] | None = None,
) -> list[Row]:
    about = {"attribute": "gender", "set": "explicit", "setting": setting, "better": "lower"}
    numbered = range(len(values)) if seeds is None else seeds
    return [
        Row(subject, measure, value, {**about, "seed": seed, "neutral": 0})
        for seed, value in zip(numbered, values, strict=True)
    ]


def _drawn(seed: int, n: int, shift: float = 0.0) -> list[float]:
    return (0.7 + shift + 0.1 * np.random.default_rng(seed).normal(size=n)).tolist()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 9))
@settings(max_examples=examples(40), deadline=None)
def test_a_difference_is_that_of_scipys_paired_tests(seed: int, n: int) -> None:
    before, after = _drawn(seed, n), _drawn(seed + 1, n, 0.05)
    (difference,) = paired_differences([*_rows("a", before), *_rows("b", after)])
    t = stats.ttest_rel(after, before)
    interval = t.confidence_interval(0.95)
    flipped = stats.permutation_test(
        (np.array(after), np.array(before)),
        lambda x, y, axis: (x - y).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert (difference.subject, difference.measure) == ("b", "mab-error-change")
    assert difference.value == pytest.approx(np.mean(after) - np.mean(before))
    about = difference.details
    assert (about["low"], about["high"]) == pytest.approx((interval.low, interval.high))
    assert about["p"] == about["p_holm"] == pytest.approx(flipped.pvalue)
    assert about["sd"] == pytest.approx(np.std(np.subtract(after, before), ddof=1))
    assert (about["original"], about["n"], about["tests"]) == ("a", n, 1)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 9))
@settings(max_examples=examples(40), deadline=None)
def test_an_excluded_effect_is_rejected_by_both_one_sided_tests(seed: int, n: int) -> None:
    """At that effect the larger of both p is .05; a smaller effect is not excluded."""
    before, after = _drawn(seed, n), _drawn(seed + 1, n, 0.05)
    (difference,) = paired_differences([*_rows("a", before), *_rows("b", after)])
    d = np.subtract(after, before)

    def larger_p(effect: float) -> float:
        above = stats.ttest_1samp(d, effect, alternative="less").pvalue
        below = stats.ttest_1samp(d, -effect, alternative="greater").pvalue
        return float(max(above, below))

    excluded = difference.details["excluded"]
    assert larger_p(excluded) == pytest.approx(0.05)
    assert larger_p(1.01 * excluded) < 0.05 < larger_p(0.99 * excluded)


def test_what_models_of_one_seed_share_is_not_in_the_interval() -> None:
    shared = np.array(_drawn(0, 6))
    own = 0.001 * np.random.default_rng(1).normal(size=6)
    rows = [*_rows("a", shared.tolist()), *_rows("b", (shared - 0.02 + own).tolist())]
    (difference,) = paired_differences(rows)
    assert difference.details["high"] < 0
    assert difference.details["excluded"] < 0.03
    assert np.std(shared, ddof=1) > 10 * difference.details["sd"]


def test_pairs_are_made_by_seed_not_by_order() -> None:
    before, after = [0.1, 0.2, 0.4], [0.5, 0.3, 0.9]
    rows = _rows("a", before, seeds=(0, 1, 2)) + _rows("b", after, seeds=(2, 0, 7))
    (difference,) = paired_differences(rows)
    assert difference.details["n"] == 2
    assert difference.value == pytest.approx(((0.5 - 0.4) + (0.3 - 0.1)) / 2)


def test_holm_is_over_embeddings_and_sets_of_one_measure() -> None:
    rows = []
    for i, subject in enumerate("abc"):
        for j, setting in enumerate(("nouns", "pronouns")):
            rows += _rows(subject, _drawn(9 * i + j, 6, -0.1 * i), setting)
            rows += _rows(subject, _drawn(99 * i + j, 6), setting, "mab-distance")
    differences = paired_differences(rows)
    for measure in ("mab-error-change", "mab-distance-change"):
        own = [row.details for row in differences if row.measure == measure]
        assert [row["tests"] for row in own] == [4] * 4
        corrected = stats_holm([row["p"] for row in own])
        np.testing.assert_allclose([row["p_holm"] for row in own], corrected)


def stats_holm(p: Sequence[float]) -> list[float]:
    """Correct by the definition: the largest of (m − j + 1) p of all that are not larger."""
    ordered = sorted(p)
    steps = [min(1.0, (len(p) - j) * p_value) for j, p_value in enumerate(ordered)]
    return [max(steps[: ordered.index(p_value) + p.count(p_value)]) for p_value in p]


def test_one_seed_has_a_difference_and_no_test() -> None:
    (difference,) = paired_differences([*_rows("a", [0.5]), *_rows("b", [0.25])])
    assert difference.value == -0.25
    assert not {"p", "low", "excluded", "tests"} & set(difference.details)


def test_without_a_common_value_there_is_a_reason() -> None:
    rows = [*_rows("a", [0.5, 0.6]), *_rows("b", [None, None]), *_rows("c", [0.1], seeds=[5])]
    rows += _rows("d", [0.4, None])
    by_subject = {row.subject: row for row in paired_differences(rows)}
    for name in "bc":
        assert by_subject[name].value is None
        assert (
            f"{name} and a have no value under the same seed" in by_subject[name].details["reason"]
        )
    assert by_subject["d"].value == pytest.approx(-0.1)
    assert paired_differences([]) == paired_differences(_rows("a", [0.1, 0.2])) == []


def test_means_over_seeds_are_not_taken_for_models() -> None:
    mean = Row("b", "mab-error", 9.0, {"set": "explicit", "setting": "nouns", "seeds": 2})
    (difference,) = paired_differences([*_rows("a", [0.1, 0.2]), *_rows("b", [0.2, 0.3]), mean])
    assert difference.value == pytest.approx(0.1)


def test_random_removals_are_a_second_original_for_all_embeddings_but_the_first() -> None:
    rows = []
    for i, subject in enumerate(("a", "b", "c", "a.null")):
        for j, setting in enumerate(("nouns", "pronouns")):
            rows += _rows(subject, _drawn(9 * i + j, 6, -0.1 * i), setting)
            rows += _rows(subject, _drawn(99 * i + j, 6), setting, "mab-distance")
    differences = paired_differences(rows, "a.null")
    changes = [row for row in differences if row.measure.endswith("-change")]
    assert changes == paired_differences(rows)
    against = [row for row in differences if row.measure.endswith("-against-null")]
    assert len(differences) == len(changes) + len(against)
    from_null = paired_differences(
        [row for name in ("a.null", "b", "c") for row in rows if row.subject == name]
    )
    assert {row.subject for row in against} == {"b", "c"}
    assert [(row.value, row.details) for row in against] == [
        (row.value, row.details) for row in from_null
    ]
    assert against[0].details["tests"] == 4


# --- what so many seeds can show


@pytest.mark.parametrize("n", range(2, 12))
@pytest.mark.parametrize("tests", [1, 3])
def test_the_smallest_p_is_reached_where_all_differences_have_one_sign(n: int, tests: int) -> None:
    rows = _rows("a", [0.0] * n)
    for i in range(tests):
        rows += _rows(f"b{i}", np.linspace(0.1, 0.2, n).tolist())
    differences = paired_differences(rows)
    assert [row.details["p"] for row in differences] == [smallest_p(n)] * tests
    assert {row.details["p_holm"] for row in differences} == {smallest_p(n, tests)}
    assert smallest_p(n) == sign_flip_p(np.ones(n))


@pytest.mark.parametrize("tests", [1, 2, 6, 20, 40])
def test_with_the_fewest_seeds_a_test_can_be_significant_and_with_one_less_not(tests: int) -> None:
    n = fewest_seeds(tests)
    assert smallest_p(n, tests) <= 0.05 < smallest_p(n - 1, tests)


def _changes(n: int, arms: int, spread: float) -> list[Row]:
    rows = _rows("a", [0.5] * n)
    around = np.linspace(-1, 1, n)
    around *= spread / around.std(ddof=1)
    for i in range(arms):
        rows += _rows(f"b{i}", (0.4 + around).tolist())
    return paired_differences(rows)


def test_too_few_seeds_are_said() -> None:
    notes = about_power(_changes(6, 5, 0.2), 0.5)
    assert notes[0].startswith("p cannot reach .05: with 6 seeds the smallest is .031, after Holm")
    assert "over 5 tests .156. It takes 8 seeds" in notes[0]
    assert notes[1].startswith("Too few seeds: 6 seeds find a difference of 26 % in E of the nouns")
    assert "with power 0, after Holm over 5 tests." in notes[1]
    assert "standard deviation of .200 (25 degrees of freedom)." in notes[1]


def test_enough_seeds_are_not_called_too_few() -> None:
    (note,) = about_power(_changes(9, 2, 0.05), 0.5)
    assert note.startswith("9 seeds find a difference of 26 % in E of the nouns (0.130,")
    assert "power .999" in note


def test_the_power_is_that_of_simulated_seeds() -> None:
    n, spread, error, arms = 8, 0.1, 0.5, 2
    note = about_power(_changes(n, arms, spread), error)[-1]
    power = float(note.split("with power ")[1].split(",")[0])
    rng = np.random.default_rng(0)
    drawn = 0.26 * error + spread * rng.normal(size=(20_000, n))
    rejected = float((stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05 / arms).mean())
    assert abs(power - rejected) < 0.0005 + 4 * math.sqrt(power * (1 - power) / 20_000)


@pytest.mark.parametrize(("spread", "arms"), [(0.02, 1), (0.02, 6), (0.1, 2), (0.1, 6)])
def test_the_sign_flip_test_finds_the_effect_with_the_seeds_that_are_said(
    spread: float, arms: int
) -> None:
    """Its power over simulated seeds, at the level that Holm asks of the smallest p."""
    note = about_power(_changes(12, arms, spread), 0.5)[-1]
    n = int(note.split("Power .8 takes ")[1].split(" seeds")[0])
    rng = np.random.default_rng(1)

    def found(n: int) -> float:
        drawn = 0.26 * 0.5 + spread * rng.normal(size=(1000, n))
        signs = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
        sums = np.abs(drawn @ signs.T)
        p = (sums >= np.abs(drawn.sum(axis=1, keepdims=True)) - 1e-9).mean(axis=1)
        return float((p <= 0.05 / arms).mean())

    assert found(n) > 0.75  # .8 by the t test, whose power it nearly has
    assert found(n - 1) < 0.8


def test_differences_without_spread_have_no_power_to_compute() -> None:
    assert about_power(_changes(9, 1, 0.0), 0.5) == []
    assert about_power([], 0.5) == []


def _made(
    arms: dict[str, Sequence[float]], null: str = "", outcome: str | None = "nouns"
) -> list[Row]:
    rows = [
        row
        for name, values in arms.items()
        for setting in ("nouns", "pronouns")
        for measure in ("mab-error", "mab-distance")
        for row in _rows(name, list(values), setting, measure)
    ]
    return paired_differences(rows, null, outcome=outcome)


def test_the_outcome_is_corrected_for_the_number_of_arms_only() -> None:
    arms = {name: _drawn(i, 9) for i, name in enumerate("abcd")}
    differences, before = _made(arms), _made(arms, outcome=None)
    assert [row.details["p"] for row in differences] == [row.details["p"] for row in before]
    own = [row for row in differences if row.details.get("outcome")]
    assert [(row.subject, row.measure, row.details["setting"]) for row in own] == [
        (name, "mab-error-change", "nouns") for name in "bcd"
    ]
    p = np.array([row.details["p"] for row in own])
    order = np.argsort(p)
    by_hand = np.minimum(np.maximum.accumulate(p[order] * np.arange(3, 0, -1)), 1)
    assert [row.details["p_holm"] for row in own] == pytest.approx(by_hand[np.argsort(order)])
    rest = [row for row in differences if "outcome" not in row.details]
    assert {row.details["tests"] for row in rest if row.measure == "mab-error-change"} == {3}
    assert {row.details["tests"] for row in rest if row.measure == "mab-distance-change"} == {6}
    assert not any("outcome" in row.details for row in before)


def test_readings_of_planted_differences() -> None:
    base, noise = np.array(_drawn(0, 12)), np.random.default_rng(1).normal(size=12)
    arms = {
        "base": base,
        "base.null": base - 0.1 + 0.01 * noise,
        "as-null": base - 0.1 + 0.01 * noise[::-1],
        "beyond": base - 0.3 + 0.01 * noise,
        "worse": base + 0.2 + 0.01 * noise,
        "same": base + 0.01 * (noise - noise.mean()),
        "wild": base + 3 * (noise - noise.mean()),
    }
    differences = _made({name: list(values) for name, values in arms.items()}, "base.null")
    read = readings(differences, float(base.mean()))
    assert {reading.change.subject: reading.said for reading in read} == {
        "base.null": "lower",
        "as-null": "lower than base, not shown to be below base.null",
        "beyond": "lower",
        "worse": "higher",
        "same": "not shown, 1 % or more excluded",
        "wild": "not shown",
    }
    against = {reading.change.subject: reading.against for reading in read}
    assert against.pop("base.null") is None
    for name, row in against.items():
        assert row is not None
        assert row.value == pytest.approx((arms[name] - arms["base.null"]).mean())
        assert row.details["original"] == "base.null"


@pytest.mark.parametrize("n", range(2, 9))
def test_where_p_cannot_reach_the_level_an_arm_has_no_reading(n: int) -> None:
    """Two seeds that agree, as in a study of 2 seeds, once read "24 % or more excluded"."""
    base = _drawn(0, n)
    arms = {
        "base": base,
        "less": [error - 0.1 for error in base],
        "same": [error + 1e-3 for error in base],
    }
    arms["same"][0] -= 2e-3
    read = readings(_made(arms), float(np.mean(base)))
    verdicts = {reading.change.subject: reading.said for reading in read}
    holm = [reading.change.details["p_holm"] for reading in read]
    assert min(holm) == min(1.0, 2 * sign_flip_p(np.ones(n)))  # less is lower with every seed
    if min(holm) > 0.05:
        assert set(verdicts.values()) == {"too few seeds to tell"}
    else:
        assert verdicts["less"] == "lower"
        assert verdicts["same"].startswith("not shown")


def test_without_random_removals_or_an_outcome() -> None:
    base = _drawn(0, 12)
    arms = {"base": base, "less": [value - 0.2 - 0.01 * i for i, value in enumerate(base)]}
    (reading,) = readings(_made(arms), float(np.mean(base)))
    assert (reading.against, reading.said) == (None, "lower")
    assert readings(_made(arms, outcome=None), 0.7) == []
