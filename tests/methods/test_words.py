"""Moments of a vocabulary and vectors of words, refused by name where they are not finite."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias import Embedding, WordbiasError, devices
from wordbias.methods.words import finite_vectors, moments

Matrix = NDArray[np.float64]
EPS = float(np.finfo(float).eps)


def _random(seed: int, n: int, d: int) -> Matrix:
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("rows", [1, 2, 8191, 8192, 8193, 20_000])
@pytest.mark.parametrize("offset", [0, 1000])
def test_moments_are_those_of_the_whole_matrix(rows: int, offset: float) -> None:
    vectors = (_random(rows, rows, 4) + offset * np.arange(1, 5)).astype(np.float32)
    mean, covariance = moments(Embedding([str(i) for i in range(rows)], vectors))
    x = vectors.astype(float)
    centred = x - x.mean(0)
    # what rounding the means does, squared; and sums of so many products
    slack = (rows * EPS * 4 * max(offset, 1)) ** 2 + rows * EPS * 20
    np.testing.assert_allclose(mean, x.mean(0), rtol=rows * EPS, atol=rows * EPS)
    np.testing.assert_allclose(covariance, centred.T @ centred / rows, rtol=0, atol=slack)
    devices.set_threads(2)
    threaded = moments(Embedding([str(i) for i in range(rows)], vectors))
    np.testing.assert_array_equal(threaded[0], mean)
    np.testing.assert_array_equal(threaded[1], covariance)


def test_moments_need_no_copy_of_the_matrix() -> None:
    vectors = _random(0, 100_000, 30).astype(np.float32)
    embedding = Embedding([str(i) for i in range(len(vectors))], vectors)
    tracemalloc.start()
    moments(embedding)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < vectors.nbytes / 2


@pytest.mark.parametrize("row", [0, 8191, 8192, 9999])
def test_moments_name_the_word_that_is_not_finite(row: int) -> None:
    vectors = np.ones((10_000, 3), np.float32)
    vectors[row, 1] = np.nan
    with pytest.raises(WordbiasError, match=rf"embedding: the vector of '{row}' is not finite"):
        moments(
            Embedding([str(i) for i in range(10_000)], np.ones((10_000, 3))).with_vectors(vectors)
        )


def test_vectors_of_words_are_refused_by_name_where_not_finite() -> None:
    embedding = Embedding(["a", "b", "c"], np.ones((3, 2)), "abc")
    embedding = embedding.with_vectors([[1, 2], [3, np.inf], [5, 6]])
    np.testing.assert_array_equal(finite_vectors(embedding, ["c", "a"]), [[5, 6], [1, 2]])
    with pytest.raises(WordbiasError, match="abc: the vector of 'b' is not finite; leave the"):
        finite_vectors(embedding, ["a", "b"])
