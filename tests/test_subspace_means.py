"""The subspace in which the means of groups differ: its rank, what it removes, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples

from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.subspace import Subspace
from wordbias.wordlists import WordGroups, resolve

EPS = float(np.finfo(float).eps)


@st.composite
def many(draw: st.DrawFn) -> list[np.ndarray]:
    """Two to six groups of one to nine vectors around means of their own."""
    k, d = draw(st.integers(2, 6)), draw(st.integers(6, 9))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    return [rng.normal(size=d) * 3 + rng.normal(size=(rng.integers(1, 10), d)) for _ in range(k)]


def _spread(means: np.ndarray) -> float:
    return float(np.abs(means - means.mean(0)).max())


@given(many())
@settings(max_examples=examples(40), deadline=None)
def test_taken_out_whole_the_means_are_equal(groups: list[np.ndarray]) -> None:
    g = Subspace.from_means(groups)
    assert g.dims == len(groups) - 1
    before = np.stack([x.mean(0) for x in groups])
    after = np.stack([g.remove(x, hard=True).mean(0) for x in groups])
    size = max(np.linalg.norm(x, axis=1).max() for x in groups)
    assert _spread(before) > 0.01
    assert _spread(after) <= 1e3 * EPS * size  # sums of at most 9 × 9 products of this size


@given(many())
@settings(max_examples=examples(40), deadline=None)
def test_every_difference_of_two_means_lies_inside(groups: list[np.ndarray]) -> None:
    g = Subspace.from_means(groups)
    means = np.stack([x.mean(0) for x in groups])
    gap = means[0] - means[-1]
    inside = g.coordinates(gap) @ g.basis
    np.testing.assert_allclose(inside, gap, atol=1e3 * EPS * np.abs(means).max())
    assert g.weights.sum() == pytest.approx(1)


def test_of_two_groups_it_is_the_difference_of_their_means() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(7, 5)), rng.normal(size=(4, 5)) + 1
    g = Subspace.from_means([first, second])
    expected = Subspace.from_direction(first.mean(0) - second.mean(0))
    np.testing.assert_allclose(g.basis, expected.basis, atol=100 * EPS)
    np.testing.assert_allclose(g.weights, [1])


def test_it_is_the_eigenvectors_of_the_scatter_between_means() -> None:
    rng = np.random.default_rng(1)
    groups = [rng.normal(size=(n, 6)) + rng.normal(size=6) for n in (3, 30, 5, 8)]
    means = np.stack([x.mean(0) for x in groups])
    scatter = sum(np.outer(m - means.mean(0), m - means.mean(0)) for m in means)
    values, vectors = np.linalg.eigh(scatter)
    g = Subspace.from_means(groups, 2)
    for i in range(2):
        assert abs(g.basis[i] @ vectors[:, -1 - i]) == pytest.approx(1)
        assert g.weights[i] == pytest.approx(values[-1 - i] / values.sum())
        assert g.basis[i] @ (means[0] - means.mean(0)) > 0


def test_a_group_counts_alike_however_many_words_it_has() -> None:
    rng = np.random.default_rng(2)
    a, b, c = rng.normal(size=(3, 2, 5))
    once = Subspace.from_means([a, b, c])
    often = Subspace.from_means([a, np.tile(b, (50, 1)), c])
    np.testing.assert_allclose(np.abs(once.basis @ often.basis.T), np.eye(2), atol=1e4 * EPS)


def test_means_on_a_line_span_one_dimension() -> None:
    """Three groups, but what tells them apart is one direction."""
    x = np.random.default_rng(3).normal(size=(4, 5))
    v = np.ones(5)
    groups = [x, x + v, x + 3 * v]
    with pytest.raises(WordbiasError, match="the means of 3 groups span 1 of 5 dimensions"):
        Subspace.from_means(groups)
    subspace = Subspace.from_means(groups, 1)
    np.testing.assert_allclose(np.abs(subspace.basis[0]), v / np.sqrt(5), atol=1e3 * EPS)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "two groups of vectors or more, of one dimension, got the shapes none"),
        ([np.ones((3, 2))], r"got the shapes \(3, 2\)"),
        ([np.ones((3, 2)), np.ones((3, 3))], r"got the shapes \(3, 2\), \(3, 3\)"),
        ([np.ones((3, 2)), np.ones((0, 2))], r"got the shapes \(3, 2\), \(0, 2\)"),
        ([np.ones((3, 2)), np.ones((4, 2))], "span 0 of 2 dimensions"),
    ],
)
def test_what_has_no_such_subspace(groups: list[np.ndarray], message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        Subspace.from_means(groups)


def test_more_components_than_the_means_span_are_refused() -> None:
    groups = list(np.random.default_rng(4).normal(size=(3, 4, 6)))
    with pytest.raises(WordbiasError, match="3 components cannot be fitted: the means of 3 groups"):
        Subspace.from_means(groups, 3)


def test_five_religions_of_real_vectors() -> None:
    sample, religion = Embedding.sample(), WordGroups.load("religion")
    groups = [sample.take(resolve(words, sample).found) for words in religion.members]
    g = Subspace.from_means(groups)
    assert g.dims == 4
    x = [group.astype(float) for group in groups]
    after = np.stack([g.remove(group, hard=True).mean(0) for group in x])
    assert _spread(after) < 1e-6 * _spread(np.stack([group.mean(0) for group in x]))
