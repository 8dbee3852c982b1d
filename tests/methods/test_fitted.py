"""Fitted methods word by word, and chains of them."""

from __future__ import annotations

import numpy as np
import pytest

from wordbias import Embedding, devices
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Chain, Fitted, Reach, Replaced
from wordbias.methods.transform import (
    Linear,
    Normalise,
    Projection,
    Shift,
)
from wordbias.subspace import Subspace

WORDS = ["she", "he", "nurse", "doctor"]
X = np.array([[3.0, 4, 0], [0, 5, 0], [1, 2, 2], [0, 0, 0]], np.float32)


@pytest.fixture
def embedding() -> Embedding:
    return Embedding(WORDS, X)


def _along(i: int) -> Projection:
    return Projection(Subspace.from_direction(np.eye(3)[i]), hard=True)


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
    devices.set_threads(2)
    np.testing.assert_array_equal(fitted(large).vectors, whole.vectors)


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


def test_words_and_vectors_must_fit() -> None:
    with pytest.raises(WordbiasError, match="2 words do not fit vectors of shape"):
        Replaced(("a", "b"), np.ones((3, 2)))
