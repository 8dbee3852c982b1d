"""Density matching: its gradient, what it keeps, and what it takes from classifiers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples

import wordbias as wb
from wordbias import DensityMatching, WordbiasError
from wordbias.calls import WordbiasWarning
from wordbias.measures.held_out_probes import BEST, read_groups
from wordbias.methods import density_matching as module
from wordbias.methods.density_matching import directions, discrepancy

pytestmark = pytest.mark.usefixtures("one_thread")
Matrix = NDArray[np.float64]
Integers = NDArray[np.intp]


@pytest.fixture
def _few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STEPS", 10)
    monkeypatch.setattr(module, "_BATCH", 60)


def rows(k: int = 2, n: int = 400, d: int = 5, seed: int = 0) -> tuple[Matrix, Integers]:
    """Classes that differ in their means, and in their spread along one direction."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % k
    x = rng.normal(size=(n, d)) + rng.normal(size=(k, d))[codes]
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    x[:, 0] *= 1 + 3 * codes
    return x @ turn, codes


@given(k=st.integers(2, 4), dims=st.integers(1, 3), seed=st.integers(0, 10**6))
@settings(max_examples=examples(40))
def test_the_gradient_is_that_of_finite_differences(k: int, dims: int, seed: int) -> None:
    """The median is held fixed, as a unit of width."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(k), 6)
    x = rng.normal(size=(len(codes), 6))
    basis = np.linalg.qr(rng.normal(size=(6, dims)))[0]
    _, gradient = discrepancy(x, codes, basis)
    way, step = rng.normal(size=basis.shape), 1e-6
    with pytest.MonkeyPatch.context() as patch:
        y = x - x @ basis @ basis.T
        fixed = np.median(((y[:, None] - y) ** 2).sum(2))
        patch.setattr(np, "median", lambda _: fixed)
        ahead, behind = (discrepancy(x, codes, basis + s * way)[0] for s in (step, -step))
    # central differences: rounding of a value of order one over the step, and the step's square
    assert (gradient * way).sum() == pytest.approx((ahead - behind) / (2 * step), abs=1e-7)


@pytest.mark.parametrize("k", [2, 3])
def test_the_value_is_the_discrepancy_of_the_classes_from_their_mean(k: int) -> None:
    """By its definition, pair by pair of classes."""
    x, codes = rows(k, 30)
    distance, _ = discrepancy(x, codes, np.zeros((5, 1)))
    squares = ((x[:, None] - x) ** 2).sum(2)
    kernel = sum(np.exp(-squares / (w * np.median(squares))) for w in module.WIDTHS)

    def inner(a: Matrix, b: Matrix) -> float:
        return float(a @ kernel @ b)

    each = [(codes == code) / (codes == code).sum() for code in range(k)]
    mean = np.mean(each, axis=0)
    expected = np.mean(
        [inner(mass, mass) - 2 * inner(mass, mean) + inner(mean, mean) for mass in each]
    )
    assert distance == pytest.approx(expected, rel=1e-10)


@pytest.mark.usefixtures("_few_steps")
@pytest.mark.parametrize("dims", [1, 99])
@pytest.mark.parametrize("k", [2, 3])
def test_it_is_a_projection_after_which_the_means_are_equal(k: int, dims: int) -> None:
    x, codes = rows(k)
    before = x.copy()
    after = DensityMatching(dims=dims).fit(x, codes).transform(x)
    np.testing.assert_array_equal(x, before)
    means = np.stack([after[codes == code].mean(0) for code in range(k)])
    assert np.ptp(means, axis=0).max() < 1e-12
    removed = x - after
    assert np.linalg.matrix_rank(removed, tol=1e-8) == min(k - 1 + dims, 4)  # of 5 one is left
    np.testing.assert_allclose((after * removed).sum(1), 0, atol=1e-12)
    for size in (1.0, 2.0**900, 2.0**-900):  # whose squares are no numbers
        scaled = DensityMatching(dims=dims, random_state=0).fit(x * size, codes).transform(x * size)
        np.testing.assert_array_equal(after * size, scaled)


@pytest.mark.slow
def test_a_direction_in_which_only_the_spread_differs_is_found() -> None:
    """LEACE leaves it, and a probe that is not linear reads the label there."""
    x, codes = rows(n=600)
    new, labels = rows(n=600)
    rng = np.random.default_rng(1)
    order = rng.permutation(600)
    known, rest = order[:300], order[300:]
    left = {}
    for method in (wb.LEACE(), DensityMatching(dims=1)):
        method.fit(x[known], codes[known])
        reading = read_groups(method.transform(new[rest]), labels[rest])
        left[type(method).__name__] = reading
        before = read_groups(new[rest], labels[rest])
        assert before.probes[0].measure == BEST
        assert before.probes[0].value > 0.8
    assert left["LEACE"].p(left["LEACE"].probes[0]) == 0.01
    assert left["DensityMatching"].p(left["DensityMatching"].probes[0]) > 0.05


@pytest.mark.slow
def test_descent_finds_what_covariances_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes of one mean and one covariance, which differ along the first coordinate."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr(module, "_BATCH", 400)  # all rows: without noise
    codes = np.arange(400) % 2
    x = rng.normal(size=(400, 3))
    x[codes == 0, 0] = rng.permutation(np.repeat([-2.0, 0.0, 2.0], [25, 150, 25]))
    x[codes == 1, 0] = rng.permutation(np.repeat([-1.0, 1.0], 100))
    for k in (0, 1):
        x[codes == k] -= x[codes == k].mean(0)
        values, v = np.linalg.eigh(np.cov(x[codes == k].T, bias=True))
        x[codes == k] @= v * values**-0.5 @ v.T
    basis = directions(x, codes, 1, np.random.default_rng(0)).T
    first, *others = (discrepancy(x, codes, axis[:, None])[0] for axis in np.eye(3))
    assert discrepancy(x, codes, basis)[0] < first < 0.1 * min(others)


@pytest.mark.usefixtures("_few_steps")
def test_it_is_saved_applied_and_erases_several_labels(tmp_path: Path, short_probes: None) -> None:
    x, codes = rows()
    np.save(tmp_path / "x.npy", x)
    eraser = wb.erase(
        tmp_path / "x.npy", {"a": codes, "b": (x[:, 1] > 0) * 1}, methods="density-matching:dims=1",
        output=tmp_path / "clean.npy", save_transform=tmp_path / "m.st",
    )  # fmt: skip
    loaded: Any = wb.load(tmp_path / "m.st")
    assert repr(loaded) == "DensityMatching(dims=1) (fitted, frozen)"
    np.testing.assert_allclose(loaded.transform(x), np.load(tmp_path / "clean.npy"), atol=1e-12)
    assert np.linalg.matrix_rank(x - eraser.transform(x), tol=1e-8) == 4


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(WordbiasError, match="20 vectors are all the same: there is nothing to"):
        DensityMatching().fit(np.ones((20, 3)), np.arange(20) % 2)
    x, codes = rows()
    with pytest.raises(WordbiasError, match="dims: expected a whole number from 1 on"):
        wb.erase(x, codes, methods="density-matching:dims=-1")
    with pytest.raises(WordbiasError, match="DensityMatching: is for rows with labels, not for"):
        DensityMatching().fit(wb.load())


@pytest.mark.usefixtures("_few_steps")
def test_where_the_means_of_the_classes_span_all_nothing_is_left() -> None:
    """Exactly nothing: scaled up, rounding would tell the class. Of files it is refused."""
    x, codes = rows(k=4, d=3)
    flat = np.hstack([x, x @ np.ones((3, 2))])  # of five columns three are independent
    for vectors in (x, flat):
        with pytest.warns(WordbiasWarning, match="DensityMatching: every direction in which"):
            assert not DensityMatching().fit(vectors, codes).transform(vectors).any()
        assert DensityMatching().fit(vectors, codes % 3).transform(vectors).std() > 0.1
        with pytest.raises(WordbiasError, match="nothing is left but rounding; erase fewer"):
            wb.erase(vectors, codes, methods="density-matching")
