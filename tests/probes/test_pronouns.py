"""Occupations between she and he, and what a projection keeps of similarities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

from wordbias.arrays import normalise
from wordbias.draws import with_change
from wordbias.probes.pronouns import Chance, Pronouns, leans, similarity_row
from wordbias.probes.similarity_kept import kept_rows

N, T, D = 20, 3, 9
WOMEN = {f"job {i}": float(5 * i) for i in range(N)}
Array = NDArray[np.float64]


def units(*shape: int, seed: int = 0) -> Array:
    x = np.random.default_rng(seed).normal(size=(*shape, D))
    vectors: Array = normalise(x.reshape(-1, D)).reshape(x.shape)
    return vectors


def planted(strength: float) -> tuple[Array, Array, Array]:
    """Make occupations that lie along she − he as their share of women says."""
    jobs, axis = units(N, T), np.zeros(D)
    axis[0] = 1
    share = (np.array(list(WOMEN.values())) - 50) / 50
    jobs = jobs + strength * share[:, None, None] * axis
    base = units(T, seed=1)
    she, he = (normalise(base + sign * axis) for sign in (0.5, -0.5))
    return normalise(jobs.reshape(-1, D)).reshape(jobs.shape), she, he


def rows(one: Pronouns, **others: Any) -> dict[str, Any]:
    return {row.measure: row for row in one.rows("m", {"layer": 1}, **others)}


def test_a_lean_is_the_mean_difference_of_two_cosines() -> None:
    jobs, she, he = planted(0.5)
    lean = leans(jobs, she, he)
    for i in (0, 7):
        expected = np.mean([jobs[i, t] @ she[t] - jobs[i, t] @ he[t] for t in range(T)])
        assert lean[i] == pytest.approx(expected)
    np.testing.assert_allclose(leans(jobs, he, she), -lean)


def test_what_is_planted_is_found_beyond_chance() -> None:
    jobs, she, he = planted(2.0)
    chance = Chance.of(jobs, units(8, T, seed=2), WOMEN)
    by_measure = rows(Pronouns.of(jobs, she, he, WOMEN), chance=chance)
    row, lean = by_measure["pronoun-stereotype"], leans(jobs, she, he)
    assert row.value == pytest.approx(spearmanr(lean, list(WOMEN.values())).statistic)
    assert row.value > 0.8
    assert row.details["low"] > 0.5
    assert row.details["beyond_chance"] is True
    assert row.details["chance_low"] == -row.details["chance_high"]
    assert by_measure["pronoun-gap"].value == pytest.approx(lean.mean())


def test_pronouns_like_other_subjects_are_rarely_beyond_chance() -> None:
    beyond = 0
    for seed in range(20):
        subjects, jobs = units(10, T, seed=100 + seed), units(N, T, seed=200 + seed)
        chance = Chance.of(jobs, subjects[2:], WOMEN)
        by_measure = rows(Pronouns.of(jobs, subjects[0], subjects[1], WOMEN), chance=chance)
        beyond += by_measure["pronoun-stereotype"].details["beyond_chance"]
    assert beyond <= 3  # of one pair among 29 that are alike, 1 in 29 is the largest


def test_chance_counts_every_pair_of_subjects_in_both_orders() -> None:
    jobs, subjects = units(N, T), units(5, T, seed=3)
    chance = Chance.of(jobs, subjects, WOMEN)
    assert len(chance.stereotype) == len(chance.gap) == 2 * 10
    assert sorted(chance.gap) == pytest.approx(sorted(-x for x in chance.gap))
    first = leans(jobs, subjects[0], subjects[1])
    assert chance.gap[0] == pytest.approx(first.mean())


def test_a_turned_axis_changes_the_correlation_by_a_paired_interval() -> None:
    jobs, she, he = planted(2.0)
    before = Pronouns.of(jobs, she, he, WOMEN)
    turned = jobs.copy()
    turned[..., 0] = jobs[::-1, ..., 0]
    after = Pronouns.of(turned, she, he, WOMEN)
    old, new = (rows(pronouns)["pronoun-stereotype"] for pronouns in (before, after))
    row = with_change(old, new)
    assert row.details["change"] == pytest.approx(row.value - before.stereotype.value)
    assert row.details["change_high"] < 0
    same = with_change(old, old)
    assert (same.details["change_low"], same.details["change_high"]) == (0, 0)


def test_leans_that_a_removal_left_by_rounding_are_in_no_order() -> None:
    rng = np.random.default_rng(0)
    parts = [normalise(x.reshape(-1, D)).reshape(x.shape) for x in planted(2.0)]
    for x in parts:
        x[..., 0] = 1e-8 * rng.standard_normal(x[..., 0].shape)
    jobs, she, _ = parts
    he = she.copy()
    he[..., 0] = -she[..., 0]
    row = rows(Pronouns.of(jobs, she, he, WOMEN))["pronoun-stereotype"]
    assert row.value is None
    assert row.details["reason"] == "undefined: all occupations lean alike"


def test_each_occupation_has_a_row_if_asked_for() -> None:
    jobs, she, he = planted(1.0)
    pronouns = Pronouns.of(jobs, she, he, WOMEN)
    words = [row for row in pronouns.rows("m", {}, words=True) if row.measure == "pronoun-lean"]
    assert [row.details["word"] for row in words] == [*WOMEN]
    assert [row.value for row in words] == pytest.approx(pronouns.lean.tolist())
    assert words[3].details["women"] == 15.0
    assert not [row for row in pronouns.rows("m", {}) if row.measure == "pronoun-lean"]


def test_equal_leans_have_no_correlation() -> None:
    jobs = np.repeat(units(1, T), N, axis=0)
    row = rows(Pronouns.of(jobs, *units(2, T, seed=4), WOMEN))["pronoun-stereotype"]
    assert row.value is None
    assert "lean alike" in row.details["reason"]


def test_similarity_is_the_mean_cosine_of_pairs() -> None:
    first, second = units(6), units(6, seed=1)
    row = similarity_row("m", "pairs", first, second, {})
    assert row.value == pytest.approx((first * second).sum(1).mean())
    assert row.details["set"] == "pairs"


# What a projection keeps


def kept(before: Array, after: Array) -> dict[str, Any]:
    return {row.measure: row for row in kept_rows("m", before, after, {})}


def test_a_rotation_keeps_everything() -> None:
    x = units(30)
    q = np.linalg.qr(np.random.default_rng(0).normal(size=(D, D)))[0]
    by_measure = kept(x, x @ q)
    assert by_measure["sentence-order-kept"].value == pytest.approx(1)
    assert by_measure["sentence-similarity-moved"].value == pytest.approx(0, abs=1e-12)
    assert by_measure["sentence-neighbours-kept"].value == 1


def test_values_are_those_of_scipy_and_of_a_loop() -> None:
    x, y = units(12), units(12, seed=5)
    by_measure = kept(x, y)
    i, j = np.triu_indices(12, 1)
    old, new = (x @ x.T)[i, j], (y @ y.T)[i, j]
    assert by_measure["sentence-order-kept"].value == pytest.approx(spearmanr(old, new).statistic)
    assert by_measure["sentence-similarity-moved"].value == pytest.approx(np.abs(new - old).mean())
    shares = []
    for k in range(12):
        near = [{*np.argsort(-np.delete(z[k] @ z.T, k))[:5].tolist()} for z in (x, y)]
        shares.append(len(near[0] & near[1]) / 5)
    assert by_measure["sentence-neighbours-kept"].value == pytest.approx(np.mean(shares))
    row = by_measure["sentence-order-kept"]
    assert row.details["low"] <= row.value <= row.details["high"]


def test_neighbours_are_looked_for_among_other_sentences_too() -> None:
    x, others = units(8), units(40, seed=6)
    moved = units(40, seed=7)
    alone = kept_rows("m", x, x, {})[2].value
    among = kept_rows("m", x, x, {}, pool=(others, moved))[2].value
    assert alone == 1
    assert among is not None
    assert among < 1
