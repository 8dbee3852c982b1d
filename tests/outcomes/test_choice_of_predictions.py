"""A choice among many classifiers, against loops over sklearn, and where there is no effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, recall_score

from wordbias.errors import UsageError, WordbiasError
from wordbias.outcomes.choice import Examples, Limit, check_by, choose, halves
from wordbias.outcomes.fairness import SUM, fairness_rows
from wordbias.outcomes.metrics import Settings
from wordbias.statistics import p_of_null, resamples

CLASSES, GROUPS = ("judge", "nurse", "pilot"), ("F", "M")


def examples(n: int = 300, seed: int = 0, units: int = 0) -> Examples:
    rng = np.random.default_rng(seed)
    labels, of = rng.integers(3, size=n), rng.integers(2, size=n)
    named = [str(unit) for unit in rng.integers(units, size=n)] if units else None
    return Examples(CLASSES, GROUPS, labels, of, named)


def predictions(given: Examples, models: int, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    wrong = rng.random((len(given), models)) < rng.uniform(0.1, 0.6, models)
    return np.where(wrong, rng.integers(3, size=(len(given), models)), given.labels[:, None])


def test_values_are_those_of_a_loop_over_sklearn() -> None:
    given = examples()
    predicted = predictions(given, 7)
    values = given.values(predicted)
    for i in range(7):
        y, r = given.labels, predicted[:, i]
        recalls = [
            recall_score(y[given.of == g], r[given.of == g], average=None, labels=[0, 1, 2])
            for g in (0, 1)
        ]
        assert values["accuracy"][i] == pytest.approx(accuracy_score(y, r))
        assert values["macro-f1"][i] == pytest.approx(f1_score(y, r, average="macro"))
        assert values["tpr-gap"][i] == pytest.approx(np.abs(recalls[0] - recalls[1]).sum())


def test_values_are_those_of_wordbias_fairness() -> None:
    given = examples(units=80)
    predicted = predictions(given, 3)
    values = given.values(predicted)
    for i in range(3):
        rows = fairness_rows(given.confusion(predicted[:, i]), "x", Settings(draws=0))
        sums = {row.measure: row.value for row in rows if row.details["set"] == SUM}
        assert set(sums) <= set(values)
        for name, value in sums.items():
            assert values[name][i] == pytest.approx(value, abs=1e-15), name


def test_macro_f1_counts_the_classes_that_occur() -> None:
    given = Examples(CLASSES, GROUPS, np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    predicted = np.array([[0, 0], [0, 0], [1, 2], [0, 1]])
    macro_f1 = given.values(predicted)["macro-f1"]
    expected = [f1_score(given.labels, r, average="macro", zero_division=0) for r in predicted.T]
    assert macro_f1.tolist() == pytest.approx(expected)


def test_bootstrap_samples_are_of_whole_units_and_the_same_for_all_models() -> None:
    given = examples(60, units=20)
    predicted = predictions(given, 2)
    both = np.concatenate([predicted, predicted[:, :1]], axis=1)
    resampled = given.resampled(both, np.random.default_rng(3), draws=25)
    assert resampled["tpr-gap"].shape == (3, 25)
    np.testing.assert_array_equal(resampled["tpr-gap"][0], resampled["tpr-gap"][2])
    names = list(dict.fromkeys(given.units or ()))
    members = {name: np.flatnonzero([unit == name for unit in given.units or ()]) for name in names}
    draws = np.concatenate(list(resamples(len(names), np.random.default_rng(3), 25)))
    for draw in (0, 7, 24):
        rows = np.concatenate([members[names[i]] for i in draws[draw]])
        expected = given.part(rows).values(predicted[rows])
        for name, values in expected.items():
            np.testing.assert_allclose(resampled[name][:2, draw], values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("units", [0, 90])
def test_halves_are_disjoint_whole_and_alike(units: int) -> None:
    given = examples(400, units=units)
    together = given.units or list(range(400))
    first, second = halves(given, together, 0)
    assert sorted([*first, *second]) == list(range(400))
    assert not {together[i] for i in first} & {together[i] for i in second}
    if not units:
        cells = given.labels * 2 + given.of
        sizes = [np.bincount(cells[rows], minlength=6) for rows in (first, second)]
        assert np.abs(sizes[0] - sizes[1]).max() <= 1
    repeat, _ = halves(given, together, 0)
    other, _ = halves(given, together, 1)
    np.testing.assert_array_equal(first, repeat)
    assert first.tolist() != other.tolist()


def test_one_unit_cannot_be_halved() -> None:
    with pytest.raises(WordbiasError, match=r"1 unit of texts: to choose on one half .* --test"):
        halves(examples(10), ["one"] * 10, 0)


@pytest.mark.parametrize(("drop", "relative"), [(0.05, False), (0.3, False), (0.1, True)])
def test_the_choice_is_that_of_a_loop(drop: float, relative: bool) -> None:
    given = examples()
    for seed in range(20):
        values = given.values(predictions(given, 30, seed))
        best, lowest = 0, values["tpr-gap"][0]
        start = values["accuracy"][0]
        for i in range(30):
            lost = (start - values["accuracy"][i]) / (start if relative else 1)
            if lost <= drop + 1e-9 and values["tpr-gap"][i] < lowest:
                best, lowest = i, values["tpr-gap"][i]
        assert choose(values, "tpr-gap", Limit(drop, relative)) == best


def test_sums_in_another_order_are_no_better() -> None:
    gaps = np.array([0.1 + 0.2, 0.3])
    assert gaps[1] < gaps[0]
    assert (
        choose({"accuracy": np.array([0.80, 0.76]), "tpr-gap": gaps}, "tpr-gap", Limit(0.05)) == 0
    )
    gaps[1] = 0.299
    assert (
        choose({"accuracy": np.array([0.80, 0.76]), "tpr-gap": gaps}, "tpr-gap", Limit(0.05)) == 1
    )


def test_a_rule_of_ones_own() -> None:
    values = {
        "accuracy": np.array([0.9, 0.8, 0.7, 0.9]),
        "tpr-gap": np.array([0.4, 0.1, 0, np.nan]),
    }
    calls = []

    def rule(*given: float) -> float | None:
        calls.append(given)
        before, after, gap_before, gap = given
        return None if after < before - 0.15 else (gap_before - gap) - (before - after)

    assert choose(values, "tpr-gap", Limit(0.05), rule) == 1
    assert calls[1] == (0.9, 0.8, 0.4, 0.1)
    assert choose(values, "tpr-gap", Limit(0.05), lambda *_: None) == 0
    with pytest.raises(WordbiasError, match="rule=: expected a number or None, got 'good'"):
        choose(values, "tpr-gap", Limit(0.05), lambda *_: "good")  # type: ignore[arg-type]


def test_what_cannot_be_compared_is_refused() -> None:
    def of(labels: list[int], groups: list[int]) -> Examples:
        return Examples(CLASSES, GROUPS, np.array(labels), np.array(groups))

    with pytest.raises(WordbiasError, match="x: all texts are of one class, 'nurse'"):
        of([1, 1, 1], [0, 1, 1]).check("x")
    with pytest.raises(WordbiasError, match="x: every class has texts of one group only"):
        of([0, 0, 1, 1], [0, 0, 1, 1]).check("x")
    with pytest.raises(WordbiasError, match="1 text of class 'nurse' in group 'M', expected 2"):
        of([0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1]).check("x")
    with pytest.raises(UsageError, match="by accuracy: expected one of tpr-gap, fpr-gap"):
        check_by("accuracy")


@pytest.mark.slow
def test_the_choice_among_random_ones_is_calibrated_where_nothing_helps() -> None:
    """Settings and random removals are drawn alike, so that p ≤ .05 in one sweep of twenty."""
    settings, draws, p_values = 8, 19, []
    for seed in range(120):
        given = examples(120, seed)
        drawn = predictions(given, 1 + settings * (1 + draws), 1000 + seed)
        rows = halves(given, range(120), seed)
        gaps = []
        for k in range(1 + draws):
            models = [0, *range(1 + settings * k, 1 + settings * (k + 1))]
            parts = [given.part(part).values(drawn[part][:, models]) for part in rows]
            place = choose(parts[0], "tpr-gap", Limit(0.5))
            gaps.append(parts[1]["tpr-gap"][place] - parts[1]["tpr-gap"][0])
        sizes = np.abs(gaps)
        p_values.append(p_of_null(sizes[1:], sizes[0]))
    # a share of 120 of which .05 are expected is above .11 in fewer than 1 of 200 cases
    assert np.mean(np.array(p_values) <= 0.05) <= 0.11
    assert 0.4 <= np.mean(p_values) <= 0.62
