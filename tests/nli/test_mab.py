"""Marked attribute bias: the printed tables, inequalities, intervals and the permutation test."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import combinations
from math import comb, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wordbias import WordbiasError
from wordbias.nli.mab import (
    ENTAILED,
    IDEAL,
    by_word,
    can_be_significant,
    distance_test,
    distance_to_ideal,
    marked,
    resampled,
)
from wordbias.statistics import percentile_interval

Float = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)
HALF = 0.5e-4
"""The printed probabilities have four digits."""


def draw(seed: int, words: int, templates: int = 1, weight: Sequence[float] = (1, 1, 1)) -> Float:
    """Probability vectors of words with templates, shape ``(w, t, 3)``."""
    p: Float = np.random.default_rng(seed).dirichlet(weight, (words, templates))
    return p


def printed(shared_data: Path, name: str) -> list[dict[str, str]]:
    with (shared_data / "published" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def vectors(row: dict[str, str]) -> tuple[Float, Float]:
    m, f = (np.array([[[float(row[f"{g}_{x}"]) for x in "NEC"]]]) for g in "MF")
    return m, f


def same_as_printed(value: float, text: str, inputs: float) -> bool:
    """Whether a value rounds to what is printed, given how far the inputs' rounding moves it."""
    digits = len(text.partition(".")[2])
    return abs(value - float(text)) <= 0.5 * 10**-digits + inputs


@pytest.mark.parametrize("file", ["paper1_table1.csv", "paper1_tables2_4.csv"])
def test_every_printed_distance_is_that_of_the_means(shared_data: Path, file: str) -> None:
    """Dawkins (2021), Tables 1, 2 and 4; eq. (2) gives a quarter, which none of them is."""
    rows = printed(shared_data, file)
    assert len(rows) == 20
    for row in rows:
        distance = marked(*vectors(row)).distance
        moved = 2 * HALF * sqrt(3)  # each coordinate of both vectors by half a digit
        assert same_as_printed(distance, row["d"], moved), row
        assert not same_as_printed(distance / 4, row["d"], moved), row


def test_every_printed_error_is_that_of_the_means(shared_data: Path) -> None:
    for row in printed(shared_data, "paper1_table1.csv"):
        assert same_as_printed(marked(*vectors(row)).error, row["E"], HALF * sqrt(3)), row


def test_the_printed_error_is_not_that_of_the_grand_mean(shared_data: Path) -> None:
    row = next(
        row
        for row in printed(shared_data, "paper1_table1.csv")
        if (row["emb"], row["row"]) == ("GN-GloVe", "nouns")
    )
    m, f = vectors(row)
    grand = float(distance_to_ideal((m + f) / 2).item())
    assert not same_as_printed(grand, row["E"], HALF * sqrt(3))


@given(SEEDS, st.integers(1, 5), st.integers(1, 5), st.integers(1, 20))
def test_inequalities_hold_for_all_probabilities(
    seed: int, men: int, women: int, templates: int
) -> None:
    m, f = draw(seed, men, templates), draw(seed + 1, women, templates, (5, 1, 1))
    measures = marked(m, f)
    assert measures.error_per_pair >= measures.error - 1e-12  # Jensen
    for value in (measures.distance, measures.error, measures.error_per_pair):
        assert -1e-12 <= value <= sqrt(2) + 1e-12
    other = marked(f, m)
    assert (other.distance, other.error) == pytest.approx((measures.distance, measures.error))
    assert other.error_per_pair == pytest.approx(measures.error_per_pair)
    np.testing.assert_allclose(measures.first, [m[..., i].mean() for i in range(3)])
    np.testing.assert_allclose(measures.second.sum(), 1)


@given(SEEDS, st.permutations(range(4)), st.permutations(range(6)))
def test_neither_the_order_of_words_nor_of_templates_matters(
    seed: int, words: list[int], templates: list[int]
) -> None:
    m, f = draw(seed, 4, 6), draw(seed + 1, 4, 6)
    measures, moved = marked(m, f), marked(m[words][:, templates], f[:, templates])
    assert moved[2:] == pytest.approx(measures[2:])


@given(SEEDS)
def test_the_error_per_pair_is_eq_1(seed: int) -> None:
    m, f = draw(seed, 3, 7), draw(seed + 1, 3, 7)
    pairs = [*m.reshape(-1, 3), *f.reshape(-1, 3)]
    expected = sum(sqrt((1 - n) ** 2 + e**2 + c**2) for n, e, c in pairs) / len(pairs)
    assert marked(m, f).error_per_pair == pytest.approx(expected)


@given(SEEDS)
def test_both_errors_agree_where_all_pairs_err_alike(seed: int) -> None:
    """With a constant ratio of C to E all error vectors point one way, and the norm is linear."""
    rng = np.random.default_rng(seed)
    share, wrong = rng.random(), rng.random((2, 3, 5, 1))
    m, f = np.concatenate([1 - wrong, wrong * share, wrong * (1 - share)], axis=-1)
    measures = marked(m, f)
    assert measures.error_per_pair == pytest.approx(measures.error)


@pytest.mark.parametrize(
    ("male", "female", "distance", "error"),
    [
        ((1, 0, 0), (1, 0, 0), 0, 0),
        ((0, 1, 0), (0, 1, 0), 0, sqrt(2)),
        ((0, 1, 0), (1, 0, 0), sqrt(2), sqrt(2) / 2),
        ((0, 1, 0), (0, 0, 1), sqrt(2), sqrt(2)),
    ],
)
def test_corners(
    male: tuple[int, ...], female: tuple[int, ...], distance: float, error: float
) -> None:
    measures = marked(np.array([[male]], float), np.array([[female]], float))
    assert measures[2:] == pytest.approx((distance, error, error))


def enumerated(words: Float, male: int) -> tuple[int, int, int]:
    """Count the partitions that are as far apart, farther apart, and all: from the definition."""
    n = len(words)

    def apart(chosen: tuple[int, ...]) -> float:
        rest = [i for i in range(n) if i not in chosen]
        return float(np.linalg.norm(words[list(chosen)].mean(0) - words[rest].mean(0)))

    observed = apart(tuple(range(male)))
    distances = [apart(chosen) for chosen in combinations(range(n), male)]
    at_least = sum(d >= observed - 1e-12 for d in distances)
    return at_least, sum(d > observed + 1e-12 for d in distances), len(distances)


@settings(deadline=None)
@given(SEEDS, st.integers(1, 4), st.integers(1, 4))
def test_few_partitions_are_counted_exactly(seed: int, men: int, women: int) -> None:
    words = draw(seed, men + women)[:, 0]
    at_least, above, total = enumerated(words, men)
    outcome = distance_test(words, men, np.random.default_rng(0))
    assert outcome == (at_least / total, total, True)
    strict = distance_test(words, men, np.random.default_rng(0), strict=True)
    assert strict == (above / total, total, True)
    assert outcome.p > strict.p  # the observed partition is in the one and not in the other


@pytest.mark.parametrize("seed", range(3))
def test_drawn_partitions_agree_with_counted_ones(seed: int) -> None:
    words = draw(seed, 12)[:, 0]
    at_least, above, total = enumerated(words, 6)
    draws = 900  # fewer than there are
    rng = np.random.default_rng(seed)
    for strict, truth in ((False, at_least / total), (True, above / total)):
        outcome = distance_test(words, 6, rng, draws=draws, strict=strict)
        assert (outcome.partitions, outcome.exact) == (draws, False)
        margin = 5 * sqrt(truth * (1 - truth) / draws) + 1 / draws
        assert abs(outcome.p - truth) <= margin


def test_groups_of_different_size_are_drawn_in_their_sizes() -> None:
    words = draw(1, 14)[:, 0]
    at_least, _, total = enumerated(words, 4)
    outcome = distance_test(words, 4, np.random.default_rng(0), draws=1000)
    truth = at_least / total
    assert not outcome.exact
    assert abs(outcome.p - truth) <= 5 * sqrt(truth * (1 - truth) / 1000) + 1 / 1000


@given(SEEDS, st.permutations(range(16)), st.permutations(range(16)))
@settings(deadline=None, max_examples=20)
def test_p_does_not_depend_on_the_order_in_a_group(
    seed: int, men: list[int], women: list[int]
) -> None:
    words = draw(seed, 32)[:, 0]
    moved = words[[*men, *(16 + i for i in women)]]
    outcome, two = (
        distance_test(x, 16, np.random.default_rng(3), draws=500) for x in (words, moved)
    )
    assert not outcome.exact
    assert outcome == two


@pytest.mark.parametrize(("n", "men"), [(6, 3), (7, 2)])
def test_p_is_uniform_where_the_groups_mean_nothing(n: int, men: int) -> None:
    """Over all ways to name the groups, p ≤ α for a share of at most α, and of α where it can be.

    The partitions of equal groups come in pairs of one distance, so that p is a multiple of 2/N.
    """
    words = draw(5, n)[:, 0]
    p_values = []
    for chosen in combinations(range(n), men):
        rest = [i for i in range(n) if i not in chosen]
        regrouped = words[[*chosen, *rest]]
        p_values.append(distance_test(regrouped, men, np.random.default_rng(0)).p)
    total, step = comb(n, men), 2 if 2 * men == n else 1
    expected = [k / total for k in range(step, total + 1, step) for _ in range(step)]
    assert sorted(p_values) == pytest.approx(expected)


def test_a_drawn_p_is_valid_where_the_groups_mean_nothing() -> None:
    """With the observed partition counted in, P(p ≤ k/(N+1)) = k/(N+1) for continuous values."""
    repeats, draws = 2000, 19
    rng = np.random.default_rng(0)
    p_values = np.array(
        [distance_test(rng.dirichlet((1, 1, 1), 16), 8, rng, draws=draws).p for _ in range(repeats)]
    )
    for k in (1, 2, 5, 10):
        level = k / (draws + 1)
        assert abs((p_values <= level + 1e-12).mean() - level) <= 5 * sqrt(
            level * (1 - level) / repeats
        )


def test_p_is_never_zero_but_the_published_one_may_be() -> None:
    words = np.repeat([[1.0, 0, 0], [0, 1.0, 0]], 16, axis=0)
    rng = np.random.default_rng(0)
    assert distance_test(words, 16, rng, draws=1000).p == 1 / 1001
    assert distance_test(words, 16, rng, draws=1000, strict=True).p == 0


def test_words_that_are_all_alike_give_p_1_or_strictly_0() -> None:
    words = np.full((8, 3), 1 / 3)
    rng = np.random.default_rng(0)
    assert distance_test(words, 4, rng).p == 1
    assert distance_test(words, 4, rng, strict=True).p == 0


def test_the_seed_decides() -> None:
    words = draw(2, 32)[:, 0]
    first, two, other = (
        distance_test(words, 16, np.random.default_rng(seed), draws=1000).p for seed in (1, 1, 2)
    )
    assert first == two != other


@pytest.mark.parametrize("men", [0, 4])
def test_an_empty_group_is_refused(men: int) -> None:
    with pytest.raises(WordbiasError, match=f"both groups, found {men} and {4 - men}"):
        distance_test(draw(0, 4)[:, 0], men, np.random.default_rng(0))


def test_intervals_of_templates_that_are_all_alike_are_points() -> None:
    m, f = np.repeat(draw(0, 3), 10, axis=1), np.repeat(draw(1, 3), 10, axis=1)
    measures = marked(m, f)
    for value, drawn in zip(measures[2:], resampled(m, f, np.random.default_rng(0)), strict=True):
        np.testing.assert_allclose(drawn, value)


@pytest.mark.slow
def test_intervals_cover_the_true_value() -> None:
    """Of many samples of templates, 95 % of the intervals hold the value of the population.

    The margin is that of the number of repeats, and the order of what a percentile interval of so
    few templates is off by.
    """
    templates, repeats = 80, 250
    population = np.random.default_rng(7).dirichlet((4, 2, 1), (2, 3, 20_000))
    population[1] = np.random.default_rng(8).dirichlet((6, 1, 1), (3, 20_000))
    truth = marked(*population)
    rng = np.random.default_rng(9)
    held = np.zeros(3)
    for _ in range(repeats):
        chosen = rng.integers(20_000, size=templates)
        intervals = map(percentile_interval, resampled(*population[:, :, chosen], rng))
        held += [x.low <= v <= x.high for v, x in zip(truth[2:], intervals, strict=True)]
    margin = 4 * sqrt(0.95 * 0.05 / repeats) + 1 / templates
    np.testing.assert_allclose(held / repeats, 0.95, atol=margin)


@given(SEEDS)
def test_an_ideal_of_their_own_is_a_swap_of_neutral_and_entailment(seed: int) -> None:
    """Words that say no more than the premise are entailed, as others are neutral."""
    m, f = draw(seed, 3, 4), draw(seed + 1, 2, 4)
    both, swapped = np.stack([IDEAL, IDEAL]), [1, 0, 2]
    there, rng = np.stack([IDEAL, ENTAILED]), np.random.default_rng
    measures, other = marked(m, f, there), marked(m, f[..., swapped], both)
    np.testing.assert_allclose(measures[3:], other[3:], rtol=1e-12)
    drawn = resampled(m, f, rng(0), there), resampled(m, f[..., swapped], rng(0), both)
    np.testing.assert_allclose(*(draws[1:] for draws in drawn), rtol=1e-12)
    right = np.broadcast_to(ENTAILED, f.shape)
    assert marked(np.broadcast_to(IDEAL, m.shape), right, there)[3:] == (0, 0)


def test_arrays_of_the_caller_are_not_changed() -> None:
    m, f = draw(0, 3, 4), draw(1, 3, 4)
    before = m.copy(), f.copy()
    marked(m, f)
    resampled(m, f, np.random.default_rng(0))
    distance_test(m[:, 0], 1, np.random.default_rng(0))
    np.testing.assert_array_equal(m, before[0])
    np.testing.assert_array_equal(f, before[1])


def test_by_word_keeps_the_order_of_the_set() -> None:
    p = np.arange(2 * 3 * 3, dtype=np.float32).reshape(6, 3)
    per_word = by_word(p, 2, 3)
    assert per_word.dtype == np.float64
    np.testing.assert_array_equal(per_word[1, 2], p[5])
    np.testing.assert_array_equal(per_word[1, 0], p[3])


@pytest.mark.parametrize("shape", [(5, 3), (6, 2), (6,)])
def test_by_word_refuses_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(WordbiasError, match=r"shape \(6, 3\), one row a pair, got"):
        by_word(np.zeros(shape, np.float32), 2, 3)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 3), (3, 4), (4, 4), (2, 6), (1, 19)])
def test_the_permutation_test_is_made_if_it_can_be_significant(first: int, second: int) -> None:
    """Groups as far apart as can be have the smallest p there is."""
    words = np.zeros((first + second, 3))
    words[:first, 0] = 1
    words[first:, 1] = 1
    p = distance_test(words, first, np.random.default_rng(0)).p
    assert can_be_significant(first, second) == (p <= 0.05)
    assert can_be_significant(first, second, p)
    assert not can_be_significant(first, second, p * 0.999)
