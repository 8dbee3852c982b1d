"""Spearman and its interval: against scipy, and in their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

from wordbias.word_tasks.ranks import _ranks, _weighted_spearman, spearman, spearman_interval

SAMPLES = st.integers(2, 30).flatmap(
    lambda n: st.tuples(
        *[st.lists(st.integers(-3, 3).map(float), min_size=n, max_size=n).map(np.array)] * 2
    )
)


def _expected(x: np.ndarray, y: np.ndarray) -> float:
    if len(set(x.tolist())) < 2 or len(set(y.tolist())) < 2:
        return float("nan")
    return float(spearmanr(x, y).statistic)


@given(SAMPLES)
def test_it_is_scipys(sample: tuple[np.ndarray, np.ndarray]) -> None:
    assert spearman(*sample) == pytest.approx(_expected(*sample), abs=1e-12, nan_ok=True)


@given(SAMPLES, st.integers(0, 2**32))
def test_pairs_drawn_several_times_are_ranked_again(
    sample: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    x, y = sample
    drawn = np.random.default_rng(seed).integers(len(x), size=len(x))
    times = np.bincount(drawn, minlength=len(x))[None].astype(float)
    got = _weighted_spearman(x, y, times)[0]
    assert got == pytest.approx(_expected(x[drawn], y[drawn]), abs=1e-12, nan_ok=True)
    ranks = _ranks(x, times)[0, drawn]
    assert ranks.tolist() == rankdata(x[drawn]).tolist()


@given(SAMPLES, st.integers(0, 100))
def test_the_interval_lies_in_its_bounds(sample: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    interval = spearman_interval(*sample, np.random.default_rng(seed), 50)
    if interval is None:
        assert np.isnan(spearman(*sample))
    else:
        assert -1 <= interval.low <= interval.high <= 1


def test_the_interval_is_the_bootstrap_of_scipys() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60)
    drawn = np.random.default_rng(1).integers(60, size=(1000, 60))
    values = [spearmanr(x[rows], y[rows]).statistic for rows in drawn]
    got = spearman_interval(x, y, np.random.default_rng(1))
    assert got == pytest.approx(np.percentile(values, [2.5, 97.5]).tolist(), abs=1e-12)


def test_the_interval_of_many_pairs_is_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 40))
    whole = spearman_interval(x, y, np.random.default_rng(3))
    monkeypatch.setattr("wordbias.word_tasks.ranks._AT_ONCE", 300)
    assert spearman_interval(x, y, np.random.default_rng(3)) == whole


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0]])
def test_without_two_different_values_there_is_none(values: list[float]) -> None:
    x = np.array(values)
    assert np.isnan(spearman(x, x))
    assert spearman_interval(x, x, np.random.default_rng(0)) is None
