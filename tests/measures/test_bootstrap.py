"""Bootstrap samples against what theory says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq
from scipy.stats import binomtest, norm

from wordbias.measures import bootstrap
from wordbias.measures.bootstrap import (
    SAMPLES,
    percentile_interval,
    resampled_cells,
    resampled_means,
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
    one, again, other = (resampled_means(x, _rng(seed)) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


@pytest.mark.parametrize("at_once", [1, 7 * 13, 999 * 13])
def test_drawing_in_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    x = _rng().normal(size=(13, 2))
    whole = resampled_means(x, _rng(1))
    monkeypatch.setattr(bootstrap, "_AT_ONCE", at_once)
    np.testing.assert_allclose(resampled_means(x, _rng(1)), whole, rtol=0, atol=1e-14)


def test_a_constant_has_no_spread() -> None:
    means = resampled_means(np.full((9, 1), 3.0), _rng())
    assert percentile_interval(means[:, 0]) == (3, 3)


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
