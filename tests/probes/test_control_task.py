"""Controls: random labels by type, random vectors of the same scale."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wordbias.probes.inputs import Examples, control_labels, random_vectors
from wordbias.probes.online import online_codes
from wordbias.probes.schedule import Recipe


@given(st.integers(0, 50), st.integers(1, 20))
def test_a_type_has_one_label(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    labels, types = rng.integers(0, 3, 200), 5 * rng.integers(0, count, 200)
    found = control_labels(labels, types, seed)
    assert all(len(set(found[types == one])) == 1 for one in set(types.tolist()))
    assert set(found) <= set(labels)
    np.testing.assert_array_equal(found, control_labels(labels, types, seed))


def test_labels_are_drawn_as_often_as_they_occur() -> None:
    labels = np.repeat([0, 1, 2], [700, 200, 100])
    drawn = np.concatenate([control_labels(labels, None, seed) for seed in range(50)])
    shares = np.bincount(drawn) / len(drawn)
    # five standard deviations of a share of 50,000 draws
    tolerance = 5 * np.sqrt(0.25 / len(drawn))
    np.testing.assert_allclose(shares, [0.7, 0.2, 0.1], atol=tolerance)
    assert not np.array_equal(drawn[:1000], drawn[1000:2000])
    assert abs(np.corrcoef(labels, drawn[:1000])[0, 1]) < 5 / np.sqrt(1000)


def test_a_type_that_occurs_again_can_be_memorised() -> None:
    """Twenty types, their one-hot vectors: the control task is easy, so selectivity is none."""
    rng = np.random.default_rng(0)
    types = rng.integers(0, 20, 1000)
    x = np.eye(20, dtype=np.float32)[types]
    labels = (types < 10).astype(int)
    recipe = Recipe(rate=0.05)
    (by_type,) = online_codes(Examples.of(x, labels), types=types, recipe=recipe)
    (by_row,) = online_codes(Examples.of(x, labels), recipe=recipe)
    assert by_type.selectivity == 0
    assert by_row.selectivity is not None
    assert by_row.selectivity > 0.3
    (without,) = online_codes(Examples.of(x, labels), control=False, recipe=recipe)
    assert without.selectivity is None


def test_random_vectors_have_the_scale_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    like = rng.standard_normal((2, 900, 30)) * [[[0.1]], [[7.0]]]
    before = like.copy()
    found = random_vectors(like, 3)
    np.testing.assert_array_equal(like, before)
    assert found.shape == like.shape
    # a mean square of N normal numbers has a relative standard deviation of √(2/N)
    tolerance = 5 * np.sqrt(2 / like[0].size) * 2
    for layer, same in zip(found, like, strict=True):
        np.testing.assert_allclose(np.mean(layer**2), np.mean(same**2), rtol=tolerance)
    assert abs(np.corrcoef(found[0].ravel(), like[0].ravel())[0, 1]) < 5 / np.sqrt(like[0].size)
    np.testing.assert_array_equal(found, random_vectors(like, 3))
    assert not np.array_equal(found, random_vectors(like, 4))
