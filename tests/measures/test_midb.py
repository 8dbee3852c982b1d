"""MIDB against the paper's equation 3, word by word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias.measures import midb, midb_of_words
from wordbias.subspace import Subspace

ROUNDING = 1e3 * np.finfo(float).eps


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12))
def test_it_is_the_weighted_sum_of_inner_products(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(5, 3)))[0].T
    weights = rng.uniform(size=3)
    vectors = rng.normal(size=(n, 5)).astype(np.float32)
    words, squares = [], 0.0
    for x in vectors.astype(float):
        parts = [weights[i] * sum(basis[i] * x) for i in range(3)]
        words.append(sum(parts))
        squares += sum(part**2 for part in parts)
    subspace = Subspace(basis, weights)
    np.testing.assert_allclose(midb_of_words(vectors, subspace), words, rtol=0, atol=ROUNDING)
    got = midb(vectors, subspace)
    assert got.signed == pytest.approx(np.mean(words), abs=ROUNDING)
    assert got.absolute == pytest.approx(np.mean(np.abs(words)), abs=ROUNDING)
    assert got.rms == pytest.approx((squares / n) ** 0.5, abs=ROUNDING)


def test_words_that_lean_to_opposite_groups_cancel_only_in_the_signed_mean() -> None:
    subspace = Subspace(np.eye(2, 3), np.array([0.5, 0.25]))
    vectors = np.array([[4, 0, 9], [-4, 0, 9]], np.float32)
    assert midb(vectors, subspace) == (0, 2, 2)


def test_components_that_cancel_within_a_word_still_count_in_the_rms() -> None:
    subspace = Subspace(np.eye(2, 3), np.array([0.5, 0.25]))
    assert midb(np.array([[2, -4, 0]], np.float32), subspace) == (0, 0, 2**0.5)


def test_words_beyond_one_block_count_alike() -> None:
    subspace = Subspace(np.eye(1, 2), np.array([0.5]))
    vectors = np.zeros((16_385, 2), np.float32)
    vectors[:, 0] = np.arange(16_385)
    assert midb(vectors, subspace).signed == 4096
    assert midb_of_words(vectors, subspace).tolist() == [i / 2 for i in range(16_385)]


def test_midb_grows_with_the_length_of_the_vectors() -> None:
    subspace = Subspace(np.eye(1, 2), np.array([0.5]))
    vectors = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)
    small, large = midb(vectors, subspace), midb(vectors * np.float32(4), subspace)
    assert large == tuple(4 * value for value in small)
