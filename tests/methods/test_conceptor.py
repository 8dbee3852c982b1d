"""Negated conceptor against its definition, its limits and its eigenvalues."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import wordbias as wb
from wordbias import Embedding, WordbiasError
from wordbias.methods.conceptor import conceptor, fit
from wordbias.wordlists.groups import load_attribute

Matrix = NDArray[np.float64]


def drawn(seed: int, n: int, d: int) -> Matrix:
    return np.random.default_rng(seed).normal(size=(n, d))


def defined(vectors: Matrix, alpha: float) -> Matrix:
    """The conceptor, entry by entry and by an inverse, as the paper writes it."""
    n, d = vectors.shape
    r = np.zeros((d, d))
    for row in vectors:
        for i in range(d):
            for j in range(d):
                r[i, j] += row[i] * row[j] / n
    matrix: Matrix = r @ np.linalg.inv(r + alpha**-2 * np.eye(d))
    return matrix


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999), st.integers(1, 12), st.integers(1, 6), st.floats(0.1, 10))
def test_it_is_the_negated_conceptor_of_the_paper(seed: int, n: int, d: int, alpha: float) -> None:
    vectors, x = drawn(seed, n, d), drawn(seed + 1, 5, d)
    c = defined(vectors, alpha)
    # the inverse has the condition (σ + α⁻²) / α⁻², and σ is at most tr R
    condition = 1 + alpha**2 * (vectors**2).sum() / n
    bound = 50 * d * condition * np.finfo(float).eps * np.linalg.norm(x, axis=1).max()
    got = conceptor(vectors, alpha).remove(x)
    np.testing.assert_allclose(got, x - x @ c.T, rtol=0, atol=bound)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999), st.integers(5, 12), st.integers(1, 6), st.floats(1, 100))
def test_eigenvalues_are_at_least_zero_and_below_one(
    seed: int, n: int, d: int, alpha: float
) -> None:
    fitted = conceptor(drawn(seed, n, d), alpha)
    assert ((fitted.weights > 0) & (fitted.weights < 1)).all()
    assert len(fitted.weights) == min(n, d)


def test_a_large_aperture_projects_onto_the_orthogonal_complement() -> None:
    vectors, x = drawn(0, 3, 7), drawn(1, 10, 7)
    q, _ = np.linalg.qr(vectors.T)
    least = np.linalg.svd(vectors, compute_uv=False)[-1] ** 2 / 3
    # 1 − σ / (σ + α⁻²) < α⁻² / σ
    bound = 1e-8 / least * np.linalg.norm(x, axis=1).max()
    np.testing.assert_allclose(conceptor(vectors, 1e4).remove(x), x - x @ q @ q.T, atol=bound)


def test_a_small_aperture_leaves_vectors_alone() -> None:
    vectors, x = drawn(0, 3, 7), drawn(1, 10, 7)
    largest = (vectors**2).sum() / 3
    bound = 1e-4 * largest * np.linalg.norm(x, axis=1).max()  # σ / (σ + α⁻²) < α² σ
    np.testing.assert_allclose(conceptor(vectors, 1e-2).remove(x), x, rtol=0, atol=bound)


def test_the_words_of_all_groups_are_fitted_once(sample: Embedding) -> None:
    groups = {"a": ["she", "her", "woman"], "b": ["he", "him", "man"]}
    fitted = fit(sample, load_attribute(groups), aperture=1.0)
    words = [word for group in groups.values() for word in group]
    c = defined(sample.take(words).astype(float), 1.0)
    (row,) = fitted.found
    assert (row.measure, row.details["n"]) == ("quota", 6)
    assert row.value == pytest.approx(np.trace(c) / sample.dim, rel=1e-10)
    x = sample.take(["nurse", "she"]).astype(float)
    np.testing.assert_allclose(fitted.steps[0](x), x - x @ c.T, rtol=0, atol=1e-10)


def test_more_than_two_groups(sample: Embedding) -> None:
    done = wb.debias(sample, "conceptor", groups="religion")
    assert not np.array_equal(done.vectors, sample.vectors)


def test_it_is_stored_exactly(sample: Embedding, tmp_path: Path) -> None:
    fitted = wb.Conceptor(aperture=1.5).fit(sample)
    fitted.save(tmp_path / "c.safetensors")
    loaded = wb.load(tmp_path / "c.safetensors")
    assert loaded.aperture == 1.5
    assert np.array_equal(loaded.transform(sample).vectors, fitted.transform(sample).vectors)


@pytest.mark.parametrize("aperture", [0.0, -1.0, np.nan, np.inf])
def test_an_aperture_that_is_not_positive_is_refused(aperture: float) -> None:
    with pytest.raises(WordbiasError, match="expected a positive number, such as 2"):
        conceptor(drawn(0, 3, 4), aperture)


def test_vectors_that_give_no_conceptor_are_refused() -> None:
    with pytest.raises(WordbiasError, match="vectors of all 3 words of the groups are zero"):
        conceptor(np.zeros((3, 4)))
    with pytest.raises(WordbiasError, match="nothing would change"):
        conceptor(drawn(0, 3, 4), 1e-6)
