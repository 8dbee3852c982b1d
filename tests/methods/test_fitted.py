"""Steps, fitted methods that know words, chains, and the refusal of what changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from wordbias import Embedding, devices
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Chain, Fitted, Reach, Replaced
from wordbias.methods.transform import (
    Linear,
    Normalise,
    Projection,
    Shift,
    Step,
    refuse_no_change,
    transformed,
    turns,
)
from wordbias.subspace import Subspace

WORDS = ["she", "he", "nurse", "doctor"]
X = np.array([[3.0, 4, 0], [0, 5, 0], [1, 2, 2], [0, 0, 0]], np.float32)


@pytest.fixture
def embedding() -> Embedding:
    return Embedding(WORDS, X)


def _along(i: int) -> Projection:
    return Projection(Subspace.from_direction(np.eye(3)[i]), hard=True)


def test_normalise_keeps_zero_rows_and_float_types() -> None:
    for dtype in (np.float32, np.float64):
        out = Normalise()(X.astype(dtype))
        assert out.dtype == dtype
        np.testing.assert_allclose(np.linalg.norm(out, axis=1), [1, 1, 1, 0], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e20, 1e30])
def test_normalise_where_squares_leave_the_range(scale: float) -> None:
    x = X[:3] * np.float32(scale)
    expected = X[:3].astype(float) / np.linalg.norm(X[:3], axis=1, keepdims=True)
    np.testing.assert_allclose(Normalise()(x), expected, rtol=1e-5)


@settings(max_examples=50, deadline=None)
@given(
    arrays(
        np.float64,
        array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5),
        elements=st.floats(-1e6, 1e6, allow_subnormal=False),
    )
)
def test_normalise_is_idempotent(x: np.ndarray) -> None:
    before = x.copy()
    once = Normalise()(x)
    np.testing.assert_allclose(Normalise()(once), once, atol=1e-12)
    np.testing.assert_array_equal(x, before)


def test_steps_are_steps_and_do_what_they_say() -> None:
    shift, linear = Shift([1.0, 2, 3]), Linear(np.diag([1.0, 2, 3]))
    for step in (shift, linear, Normalise(), _along(0)):
        assert isinstance(step, Step)
    np.testing.assert_array_equal(shift(X), X - np.array([1, 2, 3]))
    np.testing.assert_array_equal(linear(X), X * np.array([1, 2, 3]))
    assert shift(X).dtype == linear(X).dtype == np.float32
    with pytest.raises(WordbiasError, match="expected rows of 3 values, got shape"):
        linear(X[:, :2])
    with pytest.raises(ValueError, match="read-only"):
        linear.matrix[0, 0] = 7


def test_a_word_may_be_exempt_or_replaced(embedding: Embedding) -> None:
    fitted = Fitted(
        "m",
        (_along(1),),
        frozenset({"she", "he", "absent"}),
        (Normalise(),),
        Replaced(("he", "unknown"), [[7.0, 8, 9], [0, 0, 0]]),
    )
    after = fitted(embedding)
    np.testing.assert_allclose(after["she"], [0.6, 0.8, 0], rtol=1e-6)
    np.testing.assert_array_equal(after["he"], [7, 8, 9])
    np.testing.assert_array_equal(after["nurse"], [1, 0, 2])
    assert after.name == "embedding.m"
    assert fitted.reach(WORDS) == Reach(mapped=2, replaced=1, outside=1)
    np.testing.assert_array_equal(fitted.apply(WORDS, X), after.vectors)
    np.testing.assert_array_equal(X, embedding.vectors)


def test_a_method_without_steps_only_replaces(embedding: Embedding) -> None:
    fitted = Fitted("ran", replaced=Replaced(("nurse",), [[1.0, 1, 1]]))
    after = fitted(embedding)
    np.testing.assert_array_equal(after.vectors[[0, 1, 3]], X[[0, 1, 3]])
    np.testing.assert_array_equal(after["nurse"], [1, 1, 1])
    assert fitted.reach(WORDS) == Reach(0, 1, 3)


def test_blocks_of_any_size_give_the_same(embedding: Embedding) -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(9000)]
    large = Embedding(words, rng.normal(size=(9000, 3)))
    fitted = Fitted(
        "m", (_along(0), Normalise()), frozenset(words[::7]), (), Replaced(words[1:3], X[:2])
    )
    whole = fitted(large)
    for start in (0, 4000, 8990):
        part = slice(start, start + 11)
        np.testing.assert_allclose(
            fitted.apply(words[part], large.vectors[part]), whole.vectors[part], rtol=1e-6
        )
    devices.set_threads(1)
    try:
        np.testing.assert_array_equal(fitted(large).vectors, whole.vectors)
    finally:
        devices.set_threads(None)


def test_a_chain_applies_in_order(embedding: Embedding) -> None:
    first = Fitted("a", (Shift([1.0, 0, 0]),), frozenset({"she"}))
    second = Fitted("b", (Linear(np.diag([2.0, 1, 1])),))
    chain = Chain((first, second))
    assert chain.name == "a.b"
    after = chain(embedding)
    assert after.name == "embedding.a.b"
    np.testing.assert_array_equal(after["she"], [6, 4, 0])
    np.testing.assert_array_equal(after["he"], [-2, 5, 0])
    np.testing.assert_array_equal(chain.apply(WORDS, X), after.vectors)
    assert chain.reach(WORDS) == [Reach(3, 0, 1), Reach(4, 0, 0)]


def test_what_changes_no_direction_is_refused(embedding: Embedding) -> None:
    longer = embedding.with_vectors(2 * X)
    for after in (embedding, longer):
        with pytest.raises(WordbiasError, match="m changed no word of embedding"):
            refuse_no_change("m", embedding, after)
    once = transformed(embedding, _along(1))
    refuse_no_change("m", embedding, once)
    with pytest.raises(WordbiasError, match="debiased already"):
        refuse_no_change("m", once, transformed(once, _along(1)))


def test_one_turned_row_of_many_is_a_change() -> None:
    x = np.ones((9000, 3), np.float32)
    y = x.copy()
    assert not turns(x, y)
    y[8999, 0] = 1.001
    assert turns(x, y)
    assert turns(x, y[:, :2])


def test_words_and_vectors_must_fit() -> None:
    with pytest.raises(WordbiasError, match="2 words do not fit vectors of shape"):
        Replaced(("a", "b"), np.ones((3, 2)))
