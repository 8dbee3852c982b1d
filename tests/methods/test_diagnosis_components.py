"""The diagnosis of components: cosines, share, and how stable their signs are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from wordbias import LEACE, Attribute, Embedding
from wordbias.measures.chance import draw_nulls
from wordbias.measures.midb import chance_of_midb
from wordbias.measures.panel import Panel
from wordbias.methods.diagnosis import Diagnosis, components, difference_removed
from wordbias.methods.transform import Projection
from wordbias.subspace import Subspace
from wordbias.wordlists import resolve_groups

EPS = np.finfo(float).eps


def _groups(difference: float, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(30, 5)).astype(np.float32)
    second = rng.normal(size=(20, 5)).astype(np.float32)
    return first + np.float32(difference), second


def _mirrored(seed: int) -> Any:
    """Vectors whose mean is zero and whose bootstrap means are as often positive as negative."""
    half = np.random.default_rng(seed).normal(size=(20, 5)).astype(np.float32)
    return np.concatenate([half, -half])


@pytest.mark.parametrize("centre", [True, False])
def test_cosines_and_share(centre: bool) -> None:
    first, second = _groups(1)
    fitted = Subspace.from_groups(first, second, 3, centre=centre)
    axis = np.arange(5.0)
    diagnosis = components(fitted, first, second, axis, np.random.default_rng(0))
    delta = first.astype(float).mean(0) - second.astype(float).mean(0)
    for i, g in enumerate(fitted.basis):
        cosine = sum(g * delta) / np.linalg.norm(delta)
        assert diagnosis.cos_difference[i] == pytest.approx(cosine, abs=64 * EPS)
        assert diagnosis.cos_direction is not None
        along = sum(g * axis) / np.linalg.norm(axis)
        assert diagnosis.cos_direction[i] == pytest.approx(along, abs=64 * EPS)
    inside = fitted.basis.T @ fitted.basis @ delta
    assert diagnosis.share == pytest.approx(sum(inside**2) / sum(delta**2), abs=64 * EPS)
    assert diagnosis.weights is fitted.weights


def test_without_an_axis_there_is_no_cosine_with_it() -> None:
    first, second = _groups(1)
    fitted = Subspace.from_groups(first, second, 2)
    diagnosis = components(fitted, first, second, None, np.random.default_rng(0))
    assert diagnosis.cos_direction is None


def test_the_whole_space_holds_the_whole_difference() -> None:
    first, second = _groups(1)
    fitted = Subspace.from_groups(first, second, 5)
    diagnosis = components(fitted, first, second, None, np.random.default_rng(0))
    assert diagnosis.share == pytest.approx(1, abs=64 * EPS)


@pytest.mark.parametrize("seed", range(5))
def test_well_separated_groups_have_stable_signs(seed: int) -> None:
    first, second = _groups(10, seed)  # 20 and more standard errors apart along (1, …, 1)
    fitted = Subspace.from_direction(np.ones(5))
    diagnosis = components(fitted, first, second, None, np.random.default_rng(seed))
    assert diagnosis.stability.tolist() == [1]


@pytest.mark.parametrize("seed", range(5))
def test_the_sign_of_groups_without_a_difference_is_a_coin(seed: int) -> None:
    first, second = _mirrored(seed), _mirrored(seed + 100)
    fitted = Subspace.from_groups(first, second, 3)
    diagnosis = components(fitted, first, second, None, np.random.default_rng(seed), samples=1000)
    # the difference is zero but for rounding, its bootstrap symmetric about zero
    low, high = binom.ppf([1e-6, 1 - 1e-6], 1000, 0.5) / 1000
    assert (diagnosis.stability >= low).all()
    assert (diagnosis.stability <= high).all()


def test_stability_is_the_normal_probability_of_the_observed_difference() -> None:
    rng = np.random.default_rng(7)
    first, second = rng.normal(size=(400, 3)) + 0.08, rng.normal(size=(400, 3))
    fitted = Subspace.from_direction([1.0, 0, 0])
    samples = 4000
    diagnosis = components(fitted, first, second, None, np.random.default_rng(0), samples)
    # the bootstrap as everybody writes it: draw words, take means, look at the sign
    x, y = first[:, 0], second[:, 0]
    observed = np.sign(x.mean() - y.mean())
    other = np.random.default_rng(99)
    share = np.mean(
        [
            np.sign(other.choice(x, 400).mean() - other.choice(y, 400).mean()) == observed
            for _ in range(samples)
        ]
    )
    assert 0.5 < share < 1
    bound = 5 * np.sqrt(2 * share * (1 - share) / samples)  # two independent binomial shares
    assert diagnosis.stability[0] == pytest.approx(share, abs=bound)


def test_a_shift_of_all_vectors_does_not_change_the_stability() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(30, 5)) + 0.1, rng.normal(size=(20, 5))
    fitted = Subspace.from_groups(first, second, 3)
    here, there = (
        components(fitted, first + by, second + by, None, np.random.default_rng(0)).stability
        for by in (0, 1000)
    )
    assert (here < 1).any()
    assert here.tolist() == there.tolist()


def test_the_same_generator_gives_the_same_stability() -> None:
    first, second = _groups(0.1)
    fitted = Subspace.from_groups(first, second, 3)
    stability, other = (
        components(fitted, first, second, None, np.random.default_rng(4)).stability.tolist()
        for _ in range(2)
    )
    assert stability == other


def test_identical_groups_have_no_difference_to_hold() -> None:
    first, _ = _groups(0)
    fitted = Subspace.from_groups(first, first, 2)
    diagnosis = components(fitted, first, first, None, np.random.default_rng(0))
    assert diagnosis.share == 0
    assert diagnosis.cos_difference.tolist() == [0, 0]


@pytest.fixture
def erased() -> Embedding:
    """The sample after LEACE of the words of both groups."""
    sample = Embedding.sample()
    first, second = (g.found for g in resolve_groups(Attribute.load(), sample))
    x, y = sample.take([*first, *second]), np.repeat(["f", "m"], [len(first), len(second)])
    after = LEACE().fit(x, y).transform(sample.vectors)
    return sample.with_vectors(np.asarray(after, np.float32))


def test_a_difference_of_rounding_is_none(erased: Embedding) -> None:
    """What LEACE leaves of it in float32 has no direction to hold or to remove."""
    diagnosis = Diagnosis.of(erased, Attribute.load(), 4)
    first, second = diagnosis.vectors
    assert (first.mean(0, float) != second.mean(0, float)).any()
    assert diagnosis.components.share == 0
    assert diagnosis.components.cos_difference.tolist() == [0] * 4
    projection = Projection(diagnosis.subspace, hard=True)
    assert difference_removed(projection, first, second) is None
    rows = [diagnosis.component_rows()[-1], diagnosis.removed_row(projection)]
    reason = "undefined: the groups' means are the same"
    assert [(row.value, row.details["reason"]) for row in rows] == [(None, reason)] * 2
    notes = [note for note in diagnosis.cautions() if "difference between the groups" in note]
    assert notes == []
    assert any("do not differ by more than rounding" in note for note in diagnosis.cautions())
    assert any("MIDB and the mean of |MIDB| with it" in note for note in diagnosis.cautions())
    before = Diagnosis.of(Embedding.sample(), Attribute.load(), 4)
    assert "reason" not in before.component_rows()[-1].details


def test_no_null_holds_a_share_of_a_difference_of_rounding(erased: Embedding) -> None:
    panel = Panel(erased, erased, erased.words[300:400], Attribute.load())
    assert ("difference-in-span", "") not in chance_of_midb(panel, draw_nulls(panel, 2))
    sample = Embedding.sample()
    panel = Panel(sample, sample, sample.words[300:400], Attribute.load())
    assert ("difference-in-span", "") in chance_of_midb(panel, draw_nulls(panel, 2))


def test_the_vectors_stay_as_they_are() -> None:
    first, second = _groups(1)
    copies = first.copy(), second.copy()
    for array in (first, second):
        array.flags.writeable = False
    fitted = Subspace.from_groups(first, second, 2)
    components(fitted, first, second, None, np.random.default_rng(0))
    np.testing.assert_array_equal(first, copies[0])
    np.testing.assert_array_equal(second, copies[1])
