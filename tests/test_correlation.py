"""Correlations: intervals against scipy, formulas and simulation; one pair left out, by hand."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples, first_quick
from scipy import stats
from scipy.stats import spearmanr

from wordbias.correlation import (
    correlation,
    exact_spearman_p,
    fisher_interval,
    robustness,
    weighted_pearson,
)

_MIDB = "23 7 25 38 24 -32 -4 172 -96 201 68 6 -19 -12 -1 -1"
_E = "206 163 164 131 188 198 155 301 149 247 336 179 175 154 193 167"
TABLE_6 = np.array(_MIDB.split(), float) / 1000, np.array(_E.split(), float) / 1000
"""MIDB and E of the 16 embeddings of Dawkins (2021), Table 6."""


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("n", [3, 5, pytest.param(7, marks=pytest.mark.slow)])
def test_the_exact_p_of_spearman_is_scipys(n: int) -> None:
    x = _rng(n).normal(size=n)
    y = np.round(x + _rng(n + 1).normal(size=n), 1)
    peer = stats.permutation_test(
        (y,),
        lambda z: abs(spearmanr(x, z).statistic),
        permutation_type="pairings",
        n_resamples=np.inf,
        alternative="greater",
    )
    assert exact_spearman_p(x, y) == pytest.approx(peer.pvalue, abs=1e-12)


def _normal_pairs(rng: np.random.Generator, rho: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=n)
    return x, rho * x + math.sqrt(1 - rho**2) * rng.normal(size=n)


# --- Fisher's interval


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(4, 40), rho=st.floats(-0.99, 0.99))
@settings(max_examples=examples(50), deadline=None)
def test_fishers_interval_is_scipys(seed: int, n: int, rho: float) -> None:
    pearson = stats.pearsonr(*_normal_pairs(_rng(seed), rho, n))
    want = pearson.confidence_interval()
    got = fisher_interval(float(pearson.statistic), n)
    assert got == pytest.approx((want.low, want.high), abs=1e-9)


def test_a_line_has_an_interval_without_width_and_ranks_that_agree_have_none() -> None:
    assert fisher_interval(1.0, 4) == (1, 1)
    assert fisher_interval(-1.0, 4) == (-1, -1)
    assert fisher_interval(1.0, 4, "spearman") is None
    assert fisher_interval(0.5, 3) is None


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_fishers_interval_covers_the_truth_as_often_as_it_says(method: str) -> None:
    """Of normal values Spearman's ρ is 6/π arcsin(r/2); both are covered by 95 % of intervals."""
    rng, rho, n, samples = _rng(1), 0.6, 25, 2000
    truth = rho if method == "pearson" else 6 / math.pi * math.asin(rho / 2)
    covered = 0
    for _ in range(samples):
        x, y = _normal_pairs(rng, rho, n)
        if method == "spearman":
            x, y = stats.rankdata(x), stats.rankdata(y)
        interval = fisher_interval(float(np.corrcoef(x, y)[0, 1]), n, method)
        assert interval is not None
        covered += interval.low <= truth <= interval.high
    assert abs(covered / samples - 0.95) < 4 * math.sqrt(0.95 * 0.05 / samples)


def test_the_interval_of_spearman_is_wider() -> None:
    narrow, wide = (fisher_interval(0.7, 20, method) for method in ("pearson", "spearman"))
    assert narrow is not None
    assert wide is not None
    assert wide.low < narrow.low < narrow.high < wide.high


# --- samples in which pairs occur several times


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 12))
@settings(max_examples=examples(50), deadline=None)
def test_pairs_that_occur_several_times_are_repeated_rows(seed: int, n: int) -> None:
    rng = _rng(seed)
    x, y = rng.uniform(-1, 1, (2, n))
    times = rng.multinomial(n, np.ones(n) / n, 5)
    for row, coefficient in zip(times, weighted_pearson(x, y, times.astype(float)), strict=True):
        if np.count_nonzero(row) < 2:
            assert np.isnan(coefficient)
        else:
            repeated = np.corrcoef(np.repeat(x, row), np.repeat(y, row))[0, 1]
            assert coefficient == pytest.approx(repeated, abs=1e-9)


def test_rounding_makes_no_correlation() -> None:
    """A mean of equal values may differ from them in the last bit."""
    x, y = np.full(7, 0.1), np.linspace(-1, 1, 7)
    assert np.isnan(weighted_pearson(x, y, np.ones((1, 7)))).all()


# --- robustness


@pytest.mark.parametrize("method", ["pearson", "spearman"])
@pytest.mark.parametrize("seed", range(3))
def test_each_pair_is_left_out_once(method: str, seed: int) -> None:
    x, y = _normal_pairs(_rng(seed), 0.5, 9)
    peer = stats.pearsonr if method == "pearson" else stats.spearmanr
    want = [peer(np.delete(x, i), np.delete(y, i)).statistic for i in range(9)]
    robust = robustness(x, y, method)
    assert robust is not None
    np.testing.assert_allclose(robust.without, want, rtol=0, atol=1e-12)
    assert robust.driver == np.abs(np.array(want) - peer(x, y).statistic).argmax()


@pytest.mark.parametrize("seed", first_quick(range(8)))
@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_the_bootstrap_over_embeddings_is_scipys_with_every_seed(
    method: str, seed: int, scipys: dict[str, np.ndarray]
) -> None:
    """With 1,000 samples the lower end of MIDB and E lay between .12 and .33."""
    robust = robustness(*TABLE_6, method, seed)
    assert robust is not None
    assert robust.bootstrap is not None
    want = scipys[method]
    for got, q in zip(robust.bootstrap, (0.025, 0.975), strict=True):
        error = 4 * math.sqrt(q * (1 - q) * (1 / 40_000 + 1 / len(want)))  # of a share of draws
        below, up_to = (np.searchsorted(want, got, side) / len(want) for side in ("left", "right"))
        assert below - error < q < up_to + error


@pytest.fixture(scope="module")
def scipys() -> dict[str, np.ndarray]:
    """Return the sorted bootstrap distribution of each coefficient, by scipy."""

    def peer(a: np.ndarray, b: np.ndarray, axis: int, method: str) -> np.ndarray:
        if method == "spearman":
            a, b = stats.rankdata(a, axis=axis), stats.rankdata(b, axis=axis)
        return np.asarray(stats.pearsonr(a, b, axis=axis).statistic)

    options = {"paired": True, "vectorized": True, "method": "percentile", "n_resamples": 50_000}
    return {
        method: np.sort(
            stats.bootstrap(
                TABLE_6, functools.partial(peer, method=method), rng=0, **options
            ).bootstrap_distribution
        )
        for method in ("pearson", "spearman")
    }


def test_one_far_point_drives_the_correlation() -> None:
    x = np.array([0.0, 1, 0, 1, 9])
    y = np.array([0.0, 0, 1, 1, 9])
    robust = robustness(x, y, "pearson")
    assert robust is not None
    assert robust.driver == 4
    assert robust.without[4] == pytest.approx(0, abs=1e-12)


def test_a_point_without_which_nothing_differs_drives_it() -> None:
    robust = robustness(np.array([0.0, 0, 0, 0, 1]), np.arange(5.0), "pearson")
    assert robust is not None
    assert robust.driver == 4
    assert np.isnan(robust.without[4])
    assert not np.isnan(robust.without[:4]).any()


def test_three_pairs_leave_two_which_always_agree() -> None:
    assert robustness(np.arange(3.0), np.array([1.0, 3, 2]), "pearson") is None


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(1e-200, 1e200))
@settings(max_examples=20, deadline=None)
def test_units_change_nothing(seed: int, scale: float) -> None:
    x, y = _normal_pairs(_rng(seed), 0.3, 8)
    robust, other = robustness(x, y, "pearson"), robustness(scale * x, -y, "pearson")
    assert robust is not None
    assert other is not None
    np.testing.assert_allclose(other.without, -robust.without, rtol=0, atol=1e-9)
    assert robust.bootstrap is not None
    assert other.bootstrap == pytest.approx(
        (-robust.bootstrap.high, -robust.bootstrap.low), abs=1e-9
    )


def test_the_seed_and_only_the_seed_decides_the_draws() -> None:
    x, y = _normal_pairs(_rng(0), 0.3, 12)
    by_seed = [robustness(x, y, "spearman", seed) for seed in (0, 0, 1)]
    ends = [None if robust is None else robust.bootstrap for robust in by_seed]
    assert ends[0] == ends[1] != ends[2]


def test_large_numbers_do_not_overflow() -> None:
    x = np.array([1.0, 2, 3, 5]) * 1e300
    pair = correlation(("a", x), ("b", -x), "pearson")
    assert pair.r == pytest.approx(-1)
    more = robustness(x, -x, "pearson")
    assert more is not None
    np.testing.assert_allclose(more.without, -1)
