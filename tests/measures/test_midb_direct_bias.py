"""Direct bias against a plain loop over words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias.measures import direct_bias, direct_bias_of_words
from wordbias.measures.direction import UNDEFINED_BELOW, difference_direction

ROUNDING = 1e3 * np.finfo(float).eps


def _loop(vectors: Any, direction: Any, c: float) -> float:
    total = 0.0
    for word in vectors.astype(float):
        norm = sum(value**2 for value in word) ** 0.5 * sum(v**2 for v in direction) ** 0.5
        inner = sum(a * b for a, b in zip(word, direction, strict=True))
        total += abs(inner / norm) ** c if norm else 0.0
    return total / len(vectors)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 9), c=st.sampled_from([1, 2, 0.5]))
def test_it_is_the_mean_of_absolute_cosines(seed: int, n: int, c: float) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 5)).astype(np.float32)
    direction = rng.normal(size=5) * 100
    assert direct_bias(vectors, direction, c) == pytest.approx(
        _loop(vectors, direction, c), rel=ROUNDING, abs=ROUNDING
    )


def test_a_word_along_the_direction_has_one_and_a_word_across_it_none() -> None:
    vectors = np.array([[3, 0], [-2, 0], [0, 1]], np.float32)
    assert direct_bias_of_words(vectors, np.array([5.0, 0])).tolist() == [1, -1, 0]
    assert direct_bias(vectors, np.array([5.0, 0])) == 2 / 3


@pytest.mark.parametrize("c", [1, 2])
def test_a_word_of_length_zero_counts_as_neutral(c: float) -> None:
    vectors = np.array([[1, 1], [0, 0]], np.float32)
    expected = 0.5 * 0.5 ** (c / 2)
    assert direct_bias(vectors, np.array([1.0, 0]), c) == pytest.approx(expected, rel=ROUNDING)


def test_neither_length_nor_sign_of_the_direction_matters() -> None:
    vectors = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    direction = np.array([1.0, 2, 3, 4])
    expected = direct_bias(vectors, direction)
    assert direct_bias(vectors, direction * -1e-3) == pytest.approx(expected, rel=ROUNDING)
    assert direct_bias(vectors * np.float32(2), direction) == expected


def test_words_beyond_one_block_count_alike() -> None:
    vectors = np.tile(np.array([[3, 4]], np.float32), (20_001, 1))
    assert direct_bias(vectors, np.array([1.0, 0])) == pytest.approx(0.6, rel=2e4 * 2**-53)
    assert direct_bias_of_words(vectors, np.array([1.0, 0])).shape == (20_001,)


def test_hard_debiased_words_have_none() -> None:
    rng = np.random.default_rng(0)
    x, direction = rng.normal(size=(50, 6)), rng.normal(size=6)
    g = direction / np.linalg.norm(direction)
    without = (x - np.outer(x @ g, g)).astype(np.float32)
    assert direct_bias(without, direction) <= 8 * 2**-24  # what rounding to float32 puts back


@pytest.mark.parametrize("share", [0.0999, 0.05, 0.0])
def test_the_difference_of_near_words_is_undefined(share: float) -> None:
    a, b = np.array([1 + share / 2, 0.0]), np.array([1 - share / 2, 0.0])
    _, reason = difference_direction(a, b, ("she", "he"))
    assert reason == f"undefined: ‖she − he‖ is {share:.3f} of their mean length, below 0.1"


def test_the_difference_of_distant_words_is_defined() -> None:
    a, b = np.array([1.0501, 0]), np.array([0.9499, 0])
    vector, reason = difference_direction(a, b)
    assert reason == ""
    np.testing.assert_array_equal(vector, a - b)
    assert UNDEFINED_BELOW == 0.1


def test_two_zero_words_have_no_difference() -> None:
    assert difference_direction(np.zeros(3), np.zeros(3))[1].startswith("undefined: ")


def test_the_vectors_stay_as_they_are() -> None:
    vectors = np.eye(3, dtype=np.float32)
    vectors.flags.writeable = False
    direction = np.array([1.0, 2, 3])
    direction.flags.writeable = False
    direct_bias(vectors, direction)
    np.testing.assert_array_equal(vectors, np.eye(3))
