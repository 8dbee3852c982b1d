"""Independence, separation and sufficiency: against scipy, their definitions, and theorems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from wordbias import WordbiasError
from wordbias.outcomes.metrics import (
    along_costs,
    along_positions,
    by_class,
    kl_from_mixture,
    separation,
    sufficiency,
    sum_defined,
    total_variation,
)

Counts = NDArray[np.int64]
# no class and no group is empty, so that every distribution is defined
full = arrays(np.int64, (2, 4, 4), elements=st.integers(1, 50))
sparse = arrays(np.int64, (3, 4, 5), elements=st.integers(0, 3))


def independence(counts: Counts) -> NDArray[np.float64]:
    """KL(P(r|z) ‖ P(r)) of each group, of counts by group, class and outcome."""
    return kl_from_mixture(counts.sum(axis=-2))


def _total(distances: NDArray[np.float64], how: str = "sum") -> float:
    return float(sum_defined(by_class(distances, how)))  # type: ignore[arg-type]


def _mirrored() -> Counts:
    """P(r|F) = (.6, .4) and P(r|M) = (.4, .6), whatever the gold class."""
    return np.array([[[6, 4], [6, 4]], [[4, 6], [4, 6]]])


def test_mirror_images_differ_in_the_sum_but_not_in_the_difference() -> None:
    counts = _mirrored()
    expected = 2 * (0.6 * np.log(1.2) + 0.4 * np.log(0.8))
    assert round(expected, 4) == 0.0403
    assert independence(counts).sum() == pytest.approx(expected, rel=1e-12)
    apart = separation(counts)
    assert _total(apart) == pytest.approx(2 * expected, rel=1e-12)
    assert _total(apart, "difference") == pytest.approx(0, abs=1e-15)
    assert _total(sufficiency(counts, total_variation)) == 0  # a prediction says nothing of y


@settings(deadline=None)
@given(full)
def test_distances_are_those_of_scipy(counts: Counts) -> None:
    from scipy.stats import entropy, wasserstein_distance

    k = counts.shape[1]
    positions = np.arange(k)
    distances = {
        "independence": independence(counts),
        "separation": separation(counts),
        "positions": sufficiency(counts, along_positions(positions.astype(float))),
        "tv": sufficiency(counts, total_variation),
    }
    for z in range(2):
        predicted, overall = counts[z].sum(axis=0), counts.sum(axis=(0, 1))
        assert distances["independence"][z] == pytest.approx(entropy(predicted, overall), abs=1e-12)
        for c in range(k):
            given_y, all_y = counts[z, c], counts[:, c].sum(axis=0)
            assert distances["separation"][c, z] == pytest.approx(
                entropy(given_y, all_y), abs=1e-12
            )
            given_r, all_r = counts[z, :, c], counts[:, :, c].sum(axis=0)
            moved = wasserstein_distance(positions, positions, given_r, all_r)
            assert distances["positions"][c, z] == pytest.approx(moved, abs=1e-12)
            apart = np.abs(given_r / given_r.sum() - all_r / all_r.sum()).sum() / 2
            assert distances["tv"][c, z] == pytest.approx(apart, abs=1e-12)


@settings(deadline=None)
@given(sparse)
def test_independence_weighted_by_groups_is_mutual_information(counts: Counts) -> None:
    from sklearn.metrics import mutual_info_score

    n = counts.sum(axis=(1, 2))
    if n.sum() == 0:
        return
    table = counts.sum(axis=1)
    weighted = np.nansum(n / n.sum() * independence(counts))
    assert weighted == pytest.approx(
        mutual_info_score(None, None, contingency=table), rel=1e-9, abs=1e-12
    )


@settings(deadline=None)
@given(sparse)
def test_a_group_is_at_most_as_far_as_its_share_allows(counts: Counts) -> None:
    """KL(P_z ‖ Σ w P) ≤ −log w_z, as the mixture holds w_z P_z; and it is not negative."""
    n = counts.sum(axis=-1).T  # (classes, groups)
    total = n.sum(axis=1, keepdims=True)
    apart = separation(counts)
    np.testing.assert_array_equal(np.isnan(apart), n == 0)
    there = n > 0
    w = (n / np.maximum(total, 1))[there]
    assert np.all(apart[there] >= 0)
    assert np.all(apart[there] <= -np.log(w) + 1e-12)


@settings(deadline=None)
@given(arrays(np.int64, (4, 4), elements=st.integers(0, 9)), st.integers(1, 5))
def test_groups_in_proportion_are_at_no_distance(counts: Counts, times: int) -> None:
    if not counts.any():
        return
    both = np.stack([counts, times * counts])
    assert independence(both).sum() == pytest.approx(0, abs=1e-12)
    assert np.nansum(separation(both)) == pytest.approx(0, abs=1e-12)
    assert np.nansum(sufficiency(both, total_variation)) == pytest.approx(0, abs=1e-12)


@settings(deadline=None)
@given(full, st.permutations(range(4)))
def test_only_positions_depend_on_how_classes_are_spelled(counts: Counts, order: list[int]) -> None:
    moved = counts[:, order][:, :, order]
    for measure in (independence, separation, lambda c: sufficiency(c, total_variation)):
        assert np.sum(measure(moved)) == pytest.approx(np.sum(measure(counts)), abs=1e-12)


@settings(deadline=None)
@given(st.integers(2, 9), st.integers(0, 99))
def test_pot_and_the_closed_form_give_the_distance_of_scipy(classes: int, seed: int) -> None:
    """Without mass no distance is defined, and what is returned is finite."""
    from scipy.stats import wasserstein_distance

    rng = np.random.default_rng(seed)
    positions = np.cumsum(rng.random(classes))
    p, q = rng.dirichlet(np.ones(classes), (2, 7))
    expected = [
        wasserstein_distance(positions, positions, *pair) for pair in zip(p, q, strict=True)
    ]
    with_pot = along_positions(positions)(p, q)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordbias.outcomes.metrics._BY_POT", 0)
        closed = along_positions(positions)(p, q)
    np.testing.assert_allclose(with_pot, expected, atol=1e-12)
    np.testing.assert_allclose(closed, expected, atol=1e-12)
    p[0] = 0
    assert np.isfinite(along_positions(positions)(p, q)).all()


def test_values_along_positions_go_through_pot(monkeypatch: pytest.MonkeyPatch) -> None:
    ot = pytest.importorskip("ot")
    calls = []

    def spy(*given: Any, **named: Any) -> Any:
        calls.append(given)
        return real(*given, **named)

    real = ot.wasserstein_1d
    monkeypatch.setattr(ot, "wasserstein_1d", spy)
    assert along_positions(np.arange(3.0))(np.array([1.0, 0, 0]), np.array([0, 0, 1.0])) == 2
    assert len(calls) == 1


def test_the_cost_of_two_positions_is_their_distance() -> None:
    """Half of the mass from class 1 to class 3 costs 1, to class 2 one half."""
    distance = along_positions(np.arange(4.0))
    from_one = np.array([0, 1.0, 0, 0])
    assert distance(from_one, np.array([0, 0.5, 0, 0.5])) == pytest.approx(1)
    assert distance(from_one, np.array([0, 0.5, 0.5, 0])) == pytest.approx(0.5)
    assert along_positions(np.array([0, 2, 3, 9.0]))(
        from_one, np.array([0, 0.5, 0, 0.5])
    ) == pytest.approx(3.5)


@settings(deadline=None)
@given(full)
def test_sufficiency_is_separation_with_labels_and_predictions_exchanged(counts: Counts) -> None:
    def kl(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        total: NDArray[np.float64] = (p * np.log(p / q)).sum(axis=-1)
        return total

    exchanged = np.swapaxes(counts, 1, 2)
    np.testing.assert_allclose(sufficiency(counts, kl), separation(exchanged), atol=1e-12)


def test_costs_agree_with_what_needs_no_programme() -> None:
    """The same cost everywhere is total variation, |i − j| is the distance along positions."""
    pytest.importorskip("ot")
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 6, (2, 2, 4, 4))
    counts[0, 0, :, 1] = 0  # nobody of a group is predicted so
    counts[1, :, :, 2] = 0  # nobody at all
    nominal = 1 - np.eye(4)
    linear = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    for costs, distance in (
        (nominal, total_variation),
        (linear, along_positions(np.arange(4.0))),
    ):
        by_costs = sufficiency(counts, along_costs(costs))
        np.testing.assert_allclose(by_costs, sufficiency(counts, distance), atol=1e-9)
        assert np.isnan(by_costs[0, 1, 0])
        assert np.isnan(by_costs[1, 2]).all()


def test_costs_are_those_of_a_linear_programme() -> None:
    pytest.importorskip("ot")
    from scipy.optimize import linprog

    rng = np.random.default_rng(1)
    costs = rng.random((4, 4))
    costs = (costs + costs.T) * (1 - np.eye(4))
    p, q = rng.dirichlet(np.ones(4), 2)
    sums = np.concatenate([np.kron(np.eye(4), np.ones(4)), np.kron(np.ones(4), np.eye(4))])
    expected = linprog(costs.ravel(), A_eq=sums, b_eq=np.concatenate([p, q])).fun
    assert along_costs(costs)(p, q) == pytest.approx(expected, abs=1e-9)


def test_without_the_package_costs_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ot", None)
    with pytest.raises(WordbiasError, match=r"given costs needs ot; install .*\[fairness\]"):
        along_costs(np.eye(2))


def test_empty_cells_are_nan_and_leave_the_others_their_distance() -> None:
    counts = np.array([[[5, 0], [0, 0]], [[2, 3], [0, 4]]])
    apart = separation(counts)
    np.testing.assert_array_equal(np.isnan(apart), [[False, False], [True, False]])
    assert apart[1, 1] == 0  # whoever is alone is the mixture
    assert sum_defined(by_class(apart)) == pytest.approx(apart[0].sum())
    np.testing.assert_array_equal(np.isnan(by_class(apart, "difference")), [False, True])
    assert np.isnan(kl_from_mixture(np.zeros((2, 3), int))).all()
    assert np.isnan(sum_defined(np.full((2, 3), np.nan))).all()


def test_a_difference_is_of_two_groups() -> None:
    with pytest.raises(WordbiasError, match="difference of two groups, found 3; name two"):
        by_class(np.zeros((4, 3)), "difference")
