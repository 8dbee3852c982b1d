"""Intervals and tests against their definitions, their theorems, and scipy."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples
from scipy import stats
from scipy.optimize import brentq
from scipy.stats import binomtest, norm, rankdata, spearmanr

from wordbias import WordbiasError, statistics
from wordbias.draws import by_bootstrap, change_keys, drawn, spread_keys
from wordbias.results import Row
from wordbias.statistics import (
    SAMPLES,
    SIGNS,
    _ranks,
    bootstrap,
    crossed_means,
    detectable_effect,
    excluded_effect,
    holm,
    majority_share,
    normal_interval,
    p_of_null,
    pairs_needed,
    percentile_interval,
    permutation_test,
    resampled_cells,
    resampled_means,
    resampled_spearman,
    resamples,
    sign_flip_p,
    spearman,
    subset_sums,
    t_power,
    upper_tail,
    weighted_spearman,
    wilson,
)

BEYOND = 4.42  # a normal variable is further out once in 100,000


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("n", [2, 10, 400])
def test_means_have_the_mean_and_the_standard_error_of_theory(n: int) -> None:
    x = _rng(n).exponential(size=n)
    means = resampled_means(x[:, None], _rng())[:, 0]
    error = x.std() / np.sqrt(n)  # exact: a mean of n independent draws from the n words
    assert abs(means.mean() - x.mean()) <= BEYOND * error / np.sqrt(SAMPLES)
    # Var(s²) = (μ₄ − σ⁴) / B, and the fourth moment of such a mean is known
    fourth = 3 * error**4 + (((x - x.mean()) ** 4).mean() - 3 * x.std() ** 4) / n**3
    spread = np.sqrt(max(fourth - error**4, 0) / SAMPLES)
    assert abs(((means - x.mean()) ** 2).mean() - error**2) <= BEYOND * spread


def test_two_words_are_drawn_binomially() -> None:
    means = resampled_means(np.array([[0.0], [1.0]]), _rng())[:, 0]
    seen = [(means == share).sum() for share in (0, 0.5, 1)]
    assert sum(seen) == SAMPLES
    assert stats.chisquare(seen, SAMPLES * np.array([0.25, 0.5, 0.25])).pvalue > 1e-5


def test_quantities_of_a_word_are_drawn_together() -> None:
    x = _rng().normal(size=50)
    means = resampled_means(np.stack([x, 2 * x + 1], axis=1), _rng())
    np.testing.assert_allclose(means[:, 1], 2 * means[:, 0] + 1, rtol=0, atol=1e-13)


def test_the_seed_and_only_the_seed_decides() -> None:
    x = _rng().normal(size=(30, 2))
    first, repeat, other = (resampled_means(x, _rng(seed)) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, repeat)
    assert (first != other).any()


@pytest.mark.parametrize("at_once", [1, 7 * 13, 999 * 13])
def test_drawing_in_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    x = _rng().normal(size=(13, 2))
    whole = resampled_means(x, _rng(1))
    # private: sizes of the blocks of a numerical kernel, which may change no value
    monkeypatch.setattr(statistics, "_AT_ONCE", at_once)
    np.testing.assert_allclose(resampled_means(x, _rng(1)), whole, rtol=0, atol=1e-14)


def test_a_constant_has_no_spread() -> None:
    means = resampled_means(np.full((9, 1), 3.0), _rng())
    assert percentile_interval(means[:, 0]) == (3, 3)


@pytest.mark.parametrize("n", [1, 2, 13, 164])
def test_rows_drawn_in_blocks_are_those_drawn_sample_by_sample(
    monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    generator, other = _rng(2), _rng(2)
    # private: sizes of the blocks of a numerical kernel, which may change no value
    monkeypatch.setattr(statistics, "_AT_ONCE", 7 * n)
    samples = np.concatenate(list(resamples(n, generator, 30)))
    np.testing.assert_array_equal(samples, [other.integers(n, size=n) for _ in range(30)])
    assert generator.random() == other.random()


def test_the_bootstrap_of_a_mean_is_that_of_the_means() -> None:
    x = _rng().normal(size=50)
    means = bootstrap(lambda rows: x[rows].mean(axis=1), 50, _rng(1))
    np.testing.assert_allclose(means, resampled_means(x[:, None], _rng(1))[:, 0], atol=1e-14)


def test_cells_are_multinomial() -> None:
    counts = np.array([300, 90, 10, 0])
    drawn = resampled_cells(counts, _rng())
    assert drawn.shape == (SAMPLES, 4)
    assert (drawn.sum(1) == 400).all()
    assert (drawn[:, 3] == 0).all()
    p = counts / 400
    spread = np.sqrt(400 * p * (1 - p) / SAMPLES)
    assert (np.abs(drawn.mean(0) - counts) <= BEYOND * spread).all()
    expected = 400 * (np.diag(p) - np.outer(p, p))
    cov = np.cov(drawn.T, ddof=0)
    # of nearly normal counts: Var(s_ij) = (σ_ii σ_jj + σ_ij²) / B
    error = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / SAMPLES)
    assert (np.abs(cov - expected) <= BEYOND * 1.2 * error).all()


def test_cells_and_words_are_the_same_bootstrap() -> None:
    """Drawing words and counting their cells, or drawing the counts: one distribution."""
    x = np.repeat([0.0, 1.0], [30, 10])
    words = resampled_means(x[:, None], _rng(1))[:, 0] * 40
    cells = resampled_cells(np.array([30, 10]), _rng(2))[:, 1]
    assert stats.ks_2samp(np.round(words), cells).pvalue > 1e-5


def test_the_interval_holds_the_middle_95_percent() -> None:
    x = _rng().permutation(np.arange(1001.0))
    interval = percentile_interval(x)
    assert interval == (25, 975)
    assert interval.low < interval.high
    assert ((x >= interval.low) & (x <= interval.high)).mean() == pytest.approx(0.95, abs=1e-3)


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    """Of 200 normal samples of 100 words; a percentile interval of a mean is nearly exact."""
    hits = 0
    for seed in range(200):
        x = _rng(seed).normal(size=(100, 1))
        low, high = percentile_interval(resampled_means(x, _rng(seed), 300)[:, 0])
        hits += low <= 0 <= high
    assert stats.binomtest(hits, 200, 0.94).pvalue > 1e-4


@pytest.mark.parametrize(("right", "n"), [(0, 10), (3, 10), (970, 1000), (10, 10)])
def test_wilson_inverts_the_score_test(right: int, n: int) -> None:
    p, z = right / n, norm.ppf(0.975)

    def score(q: float) -> Any:
        return (p - q) ** 2 - z * z * q * (1 - q) / n

    low, high = wilson(p, n)
    if right:
        assert low == pytest.approx(brentq(score, 1e-9, p - 1e-9), abs=1e-9)
    else:
        assert low == pytest.approx(0, abs=1e-12)
    if right < n:
        assert high == pytest.approx(brentq(score, p + 1e-9, 1 - 1e-9), abs=1e-9)
    else:
        assert high == pytest.approx(1, abs=1e-12)


@given(st.integers(1, 3000), st.data())
def test_wilsons_interval_is_scipys(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    expected = binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k / n, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("z", [-3.0, 0.0, 1.0, 8.0, 30.0])
def test_the_normal_interval_and_tail_are_scipys(z: float) -> None:
    assert upper_tail(z) == pytest.approx(norm.sf(z), rel=1e-12)
    assert normal_interval(z, 2.0) == pytest.approx(norm.interval(0.95, z, 2.0), rel=1e-12)


@pytest.mark.parametrize("factor", [0, 1])
def test_means_over_crossed_factors_are_scipys_over_one_if_the_other_changes_nothing(
    factor: int,
) -> None:
    """Rows are every two of 22 and 20 levels; standard errors within five of their own errors.

    The standard deviation of B draws, here 4,000, has a relative error of 1/√(2B).
    """
    from scipy.stats import bootstrap

    sizes = (22, 20)
    levels = np.divmod(np.arange(22 * 20), 20)
    effects = _rng().normal(size=sizes[factor])
    values = effects[levels[factor]]
    ours = crossed_means(values[:, None], levels, _rng(1), 4000)[:, 0]
    theirs = bootstrap((effects,), np.mean, n_resamples=4000, method="percentile", rng=_rng(2))
    error = np.hypot(*[1 / np.sqrt(2 * 4000)] * 2)
    assert ours.std() == pytest.approx(theirs.standard_error, rel=5 * error)
    assert ours.std() > 2 * resampled_means(values[:, None], _rng(3)).std()


def test_a_row_of_two_levels_of_one_factor_counts_as_often_as_both() -> None:
    """Of the pairs of three words, of which one draw in 27 has the same word thrice: no row."""
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    values = np.eye(3)
    drawn = crossed_means(values, [pairs], _rng(), 5000)
    times = _rng().multinomial(3, np.full(3, 1 / 3), 5000)  # the draws of that seed
    weights = times[:, pairs].prod(axis=2)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(drawn, weights / weights.sum(axis=1, keepdims=True))
    assert np.isnan(drawn[:, 0]).any()


def test_the_majority_share_is_the_accuracy_of_the_commonest_label() -> None:
    labels = np.array([2, 0, 2, 2, 1])
    assert majority_share(labels) == max((labels == i).mean() for i in range(3)) == 0.6


# --- permutation test


@pytest.mark.parametrize(("n", "m"), [(5, 5), (6, 3), (3, 7), (1, 4)])
@pytest.mark.parametrize("width", [1, 3])
def test_the_permutation_test_counts_all_partitions(n: int, m: int, width: int) -> None:
    """Of the distance of the means of two groups of vectors; in one dimension scipy agrees."""
    rows = _rng(n).normal(size=(n + m, width))
    rows[:n, 0] += 1
    total = rows.sum(axis=0)

    def distance(sums: Any) -> Any:
        return np.linalg.norm(sums / n - (total - sums) / m, axis=-1)

    observed = float(distance(rows[:n].sum(axis=0)))
    outcome = permutation_test(rows, n, distance, observed, _rng(), samples=500)
    every = [distance(rows[list(chosen)].sum(axis=0)) for chosen in combinations(range(n + m), n)]
    assert outcome == (np.mean(np.array(every) >= observed - 1e-12), len(every), True)
    if width == 1 and min(n, m) > 1:  # which scipy needs
        peer = stats.permutation_test(
            (rows[:n, 0], rows[n:, 0]),
            lambda a, b: abs(a.mean() - b.mean()),
            n_resamples=np.inf,
            alternative="greater",
        )
        assert outcome.p == pytest.approx(peer.pvalue, abs=1e-15)


def test_a_drawn_p_counts_the_observed_value_and_an_exact_one_has_it() -> None:
    null = np.array([0.0, 1, 2, 3])
    assert p_of_null(null, 2.0, exact=True) == 2 / 4
    assert p_of_null(null, 2.0) == 3 / 5
    assert p_of_null(null, 9.0) == 1 / 5


def test_every_sampled_partition_has_each_word_once() -> None:
    s = 2.0 ** np.arange(12)  # a sum of distinct powers of two names its words
    totals: list[int] = []

    def collect(sums: Any) -> Any:
        totals.extend(sums.astype(int).tolist())
        return sums

    permutation_test(s, 5, collect, 0.0, _rng(), samples=5000, max_exact=0)
    assert len(totals) == 5000
    assert {total.bit_count() for total in totals} == {5}
    assert len(set(totals)) > 780  # of 792


@pytest.mark.parametrize(("n", "k"), [(1, 1), (4, 2), (6, 6), (7, 1), (9, 4)])
def test_subset_sums_are_all_of_them(n: int, k: int) -> None:
    s = 2.0 ** np.arange(n)
    expected = sorted(sum(chosen) for chosen in combinations(s.tolist(), k))
    assert sorted(subset_sums(s, k).tolist()) == expected


# --- sign-flip test

WHOLE = st.lists(st.integers(-50, 50), min_size=1, max_size=9)


@given(WHOLE)
def test_p_is_the_share_of_signs_with_as_large_a_sum(differences: list[int]) -> None:
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(total >= abs(sum(differences)) for total in sums) / len(sums)
    assert sign_flip_p(differences) == expected


@settings(deadline=None)
@given(WHOLE.filter(lambda d: len(d) > 1 and any(d)), st.sampled_from([0.001, 0.1, 7.0, 1e300]))
def test_p_does_not_depend_on_unit_order_or_direction(differences: list[int], unit: float) -> None:
    p = sign_flip_p(differences)
    assert sign_flip_p([-d * unit / 50 for d in differences]) == p
    assert sign_flip_p(differences[::-1]) == p


def test_p_is_that_of_scipy() -> None:
    rng = np.random.default_rng(4)
    for n in (6, 10, 13):
        x, y = rng.normal(0.4, 1, n), rng.normal(0, 1, n)
        peer = stats.permutation_test(
            (x, y),
            lambda a, b, axis: (a - b).mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        )
        assert sign_flip_p(x - y) == peer.pvalue


@pytest.mark.parametrize("n", range(1, 21))
def test_the_smallest_p_is_two_of_all_signs(n: int) -> None:
    assert sign_flip_p(np.linspace(0.1, 3, n)) == min(1, 2 / 2**n)


def test_beyond_twenty_pairs_signs_are_drawn() -> None:
    d = np.random.default_rng(2).normal(0.3, 1, 22)
    p = sign_flip_p(d)
    assert p == sign_flip_p(d) != sign_flip_p(d, seed=1)
    signs = np.array(list(product((1, -1), repeat=11)), np.int8)  # halves, added in all pairs
    left, right = signs @ d[:11], signs @ d[11:]
    exact = np.mean([np.mean(abs(a + right) >= abs(d.sum()) - 1e-9) for a in left])
    assert abs(p - exact) < 5 * np.sqrt(exact * (1 - exact) / SIGNS)
    assert sign_flip_p(np.ones(40)) == 1 / (SIGNS + 1)  # never 0


def test_no_difference_is_no_evidence() -> None:
    assert sign_flip_p(np.zeros(8)) == 1


@pytest.mark.parametrize("bad", [[], [[1.0]], [np.nan, 1.0], [np.inf]])
def test_what_is_no_difference(bad: list[float]) -> None:
    with pytest.raises(WordbiasError, match="expected one finite difference for each pair"):
        sign_flip_p(bad)


# --- Holm

P = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def _by_closure(p: list[float]) -> list[float]:
    """Reject what every intersection with it rejects by Bonferroni: what Holm's shortcut equals."""
    places = range(len(p))
    subsets = [s for n in range(1, len(p) + 1) for s in combinations(places, n)]
    return [max(min(1.0, len(s) * min(p[j] for j in s)) for s in subsets if i in s) for i in places]


@given(P)
@settings(max_examples=examples(60), deadline=None)
def test_holm_is_the_closed_test_of_bonferroni(p: list[float]) -> None:
    np.testing.assert_allclose(holm(p), _by_closure(p), rtol=1e-12)


@given(P)
@settings(max_examples=examples(40), deadline=None)
def test_holm_only_raises_p_values_and_does_not_change_their_order(p: list[float]) -> None:
    corrected = holm(p)
    assert (corrected >= np.array(p)).all()
    assert (corrected <= 1).all()
    assert (np.diff(corrected[np.argsort(p, kind="stable")]) >= 0).all()


def test_a_single_test_needs_no_correction() -> None:
    assert holm([0.03]).tolist() == [0.03]
    assert holm([]).shape == (0,)


def test_holm_of_independent_true_hypotheses_few_samples_reject_any() -> None:
    """The family-wise error is at most the level: 5 %, of 4,000 samples at 5 standard errors."""
    rng = np.random.default_rng(0)
    wrong = np.mean([holm(p).min() <= 0.05 for p in rng.random((4000, 10))])
    assert wrong <= 0.05 + 5 * np.sqrt(0.05 * 0.95 / 4000)


@pytest.mark.parametrize("bad", [[-0.1], [1.1], [np.nan], [[0.1]]])
def test_what_is_no_p_value_is_refused(bad: list[float]) -> None:
    with pytest.raises(WordbiasError, match=r"expected p-values in \[0, 1\]"):
        holm(bad)


# --- rank correlation


PAIRS = st.integers(2, 30).flatmap(
    lambda n: st.tuples(
        *[st.lists(st.integers(-3, 3).map(float), min_size=n, max_size=n).map(np.array)] * 2
    )
)


def _expected(x: np.ndarray, y: np.ndarray) -> float:
    if len(set(x.tolist())) < 2 or len(set(y.tolist())) < 2:
        return float("nan")
    return float(spearmanr(x, y).statistic)


@given(PAIRS)
def test_spearman_is_scipys(sample: tuple[np.ndarray, np.ndarray]) -> None:
    assert spearman(*sample) == pytest.approx(_expected(*sample), abs=1e-12, nan_ok=True)


@given(PAIRS, st.integers(0, 2**32))
def test_pairs_drawn_several_times_are_ranked_again(
    sample: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    x, y = sample
    drawn = np.random.default_rng(seed).integers(len(x), size=len(x))
    times = np.bincount(drawn, minlength=len(x))[None].astype(float)
    # private: the weighted formula that the bootstrap of the rank correlation rests on
    got = weighted_spearman(x, y, times)[0]
    assert got == pytest.approx(_expected(x[drawn], y[drawn]), abs=1e-12, nan_ok=True)
    ranks = _ranks(x, times)[0, drawn]
    assert ranks.tolist() == rankdata(x[drawn]).tolist()


@given(PAIRS, st.integers(0, 100))
def test_spearmans_rho_of_pairs_drawn_again_lies_in_its_bounds(
    sample: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    rhos = resampled_spearman(*sample, np.random.default_rng(seed), 50)
    if np.isnan(rhos).all():
        assert np.isnan(spearman(*sample))
    else:
        assert -1 <= np.nanmin(rhos) <= np.nanmax(rhos) <= 1


def test_spearmans_bootstrap_is_that_of_scipys() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60)
    drawn = np.random.default_rng(1).integers(60, size=(1000, 60))
    values = [spearmanr(x[rows], y[rows]).statistic for rows in drawn]
    got = resampled_spearman(x, y, np.random.default_rng(1))
    np.testing.assert_allclose(got, values, atol=1e-12)


def test_spearmans_bootstrap_of_many_pairs_is_drawn_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 40))
    whole = resampled_spearman(x, y, np.random.default_rng(3))
    monkeypatch.setattr("wordbias.statistics._AT_ONCE", 300)
    in_parts = resampled_spearman(x, y, np.random.default_rng(3))
    np.testing.assert_array_equal(in_parts, whole)


@pytest.mark.parametrize("drawn", [[], [1.0], [np.nan, 1.0], [np.nan]])
def test_a_single_draw_has_no_interval(drawn: list[float]) -> None:
    x = np.array(drawn)
    assert by_bootstrap(x, "words") == {}
    assert change_ends_of(x, x + 1) == {}
    two = np.append(x, [1.0, 3.0])
    known = two[~np.isnan(two)]
    low, high = np.percentile(known, [2.5, 97.5])
    spread = spread_keys("lists", two)
    assert spread == {"lists_draws": len(known), "lists_low": low, "lists_high": high}


def change_ends_of(before: NDArray[np.float64], after: NDArray[np.float64]) -> dict[str, float]:
    rows = [Row("x", "m", 1.0, {}, drawn(draws, "words")) for draws in (before, after)]
    return {key: value for key, value in change_keys(*rows).items() if key != "change"}


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0]])
def test_spearman_without_two_different_values_there_is_none(values: list[float]) -> None:
    x = np.array(values)
    assert np.isnan(spearman(x, x))
    assert by_bootstrap(resampled_spearman(x, x, np.random.default_rng(0)), "words") == {}


# --- power, and effects that are excluded


@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_pairs_needed_are_those_of_cohens_tables(effect: float, n: int) -> None:
    """Cohen's small, medium and large effect, two-sided at .05, power .8 (as G*Power has them)."""
    assert pairs_needed(effect, 1.0) == pairs_needed(-3 * effect, 3.0) == n
    assert t_power(effect * np.sqrt(n), n - 1) >= 0.8 > t_power(effect * np.sqrt(n - 1), n - 2)


def test_the_power_of_two_groups_is_cohens_too() -> None:
    assert t_power(0.5 * np.sqrt(64 / 2), 2 * 63) == pytest.approx(0.8015, abs=5e-5)


@given(st.floats(0.01, 6), st.integers(2, 60), st.sampled_from([0.05, 0.05 / 6, 0.01]))
@settings(max_examples=examples(60), deadline=None)
def test_power_is_the_noncentral_t_beyond_both_critical_values(
    shift: float, df: int, level: float
) -> None:
    critical = stats.t.ppf(1 - level / 2, df)
    want = stats.nct.sf(critical, df, shift) + stats.nct.cdf(-critical, df, shift)
    power = t_power(shift, df, level)
    assert power == t_power(-shift, df, level) == pytest.approx(want, abs=1e-7)


def test_without_an_effect_power_is_the_level_and_with_a_large_one_it_is_full() -> None:
    assert t_power(0, 5) == pytest.approx(0.05)
    assert t_power(0, 5, 0.01) == pytest.approx(0.01)
    for shift in (30, 60, 1000):
        assert t_power(shift, 5) == pytest.approx(1)


@pytest.mark.parametrize("n", [2, 3, 6, 40])
def test_the_detectable_effect_has_power_four_fifths(n: int) -> None:
    effect = detectable_effect(0.3, n)
    assert effect is not None
    assert t_power(effect * np.sqrt(n) / 0.3, n - 1) == pytest.approx(0.8)
    assert pairs_needed(1.0001 * effect, 0.3) == n
    assert detectable_effect(0.0, n) == 0


def test_one_pair_detects_and_excludes_nothing() -> None:
    assert detectable_effect(0.3, 1) is None
    assert excluded_effect([0.3]) is None


def test_pairs_that_do_not_vary_are_two_and_an_effect_of_0_is_refused() -> None:
    assert pairs_needed(0.1, 0.0) == 2
    with pytest.raises(WordbiasError, match="no number of pairs finds an effect of 0"):
        pairs_needed(0, 1)


def test_the_excluded_effect_is_the_farther_end_of_the_90_percent_interval() -> None:
    d = _rng(4).normal(0.2, 1, 7)
    low, high = stats.ttest_1samp(d, 0).confidence_interval(0.9)
    assert excluded_effect(d) == excluded_effect(-d) == pytest.approx(max(abs(low), abs(high)))
