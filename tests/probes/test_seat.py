"""SEAT: WEAT if each word has one sentence, and the same p however often sentences are repeated."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias import Embedding
from wordbias.draws import change_keys
from wordbias.measures.weat import Settings, weat
from wordbias.probes.seat import Seat, word_cosines
from wordbias.wordlists.queries import Query

X, Y = ("a1", "a2", "a3", "a4"), ("b1", "b2", "b3", "b4")
A, B = ("c1", "c2", "c3"), ("d1", "d2", "d3")
QUERY = Query("q", (("x", X), ("y", Y)), (("a", A), ("b", B)), about="gender")
WORDS = (*X, *Y, *A, *B)
Vectors = dict[str, NDArray[np.float64]]


def made(shift: float, sentences: int, seed: int = 0) -> Vectors:
    """Make sentences of each word; X and A, Y and B share a direction."""
    rng = np.random.default_rng(seed)
    vectors = {}
    for word in WORDS:
        x = rng.normal(size=(sentences, 8))
        x[:, 0] += shift if word[0] in "ac" else -shift
        vectors[word] = x
    return vectors


def test_with_one_sentence_a_word_it_is_weat() -> None:
    vectors = made(0.3, 1)
    embedding = Embedding(list(vectors), np.concatenate(list(vectors.values())).astype(np.float32))
    (expected,) = weat(embedding, QUERY, Settings(alternative="greater"))
    row = Seat(QUERY, {w: x.astype(np.float32) for w, x in vectors.items()}).row("m", {"layer": 3})
    assert row.value == pytest.approx(expected.value, abs=1e-6)
    assert row.details["p"] == expected.details["p"]
    for key in ("low", "high"):
        assert row.details[key] == pytest.approx(expected.details[key], abs=1e-6)
    assert row.details["n"] == {"x": 4, "y": 4, "a": 3, "b": 3}
    assert (row.details["set"], row.details["about"]) == ("q", "gender")


def test_repeated_sentences_change_nothing() -> None:
    vectors = made(0.3, 3)
    once = Seat(QUERY, vectors)
    twice = Seat(QUERY, {word: np.concatenate([x, x]) for word, x in vectors.items()})
    assert twice.p == once.p
    assert twice.estimate.value == pytest.approx(once.estimate.value)


def test_word_cosines_are_means_over_all_pairs_of_sentences() -> None:
    vectors = made(0.0, 3)
    means = word_cosines([vectors["a1"], vectors["b1"]], [vectors["c1"]])
    for i, word in enumerate(("a1", "b1")):
        cosines = [
            x @ y / np.linalg.norm(x) / np.linalg.norm(y)
            for x in vectors[word]
            for y in vectors["c1"]
        ]
        assert means[i, 0] == pytest.approx(np.mean(cosines))


def test_exchanged_attributes_change_the_sign() -> None:
    vectors = made(0.5, 2)
    other = Query("q", QUERY.targets, QUERY.attributes[::-1])
    seat, turned = Seat(QUERY, vectors), Seat(other, vectors)
    assert turned.estimate.value == pytest.approx(-seat.estimate.value)


def test_a_change_is_over_the_same_draws_and_none_where_nothing_changed() -> None:
    vectors = made(0.5, 2)
    before = Seat(QUERY, vectors).row("m", {})
    same = change_keys(before, Seat(QUERY, vectors).row("m", {}))
    assert same == {"change": 0, "change_low": 0, "change_high": 0}
    without = {word: x * np.array([0, *[1.0] * 7]) for word, x in vectors.items()}
    removed = Seat(QUERY, without).row("m", {})
    assert removed.value is not None
    keys = change_keys(before, removed)
    assert keys["change"] == pytest.approx(removed.value - before.value)
    assert keys["change_high"] < 0


def test_equal_associations_have_no_effect_size() -> None:
    row = Seat(QUERY, {word: np.ones((2, 4)) for word in WORDS}).row("m", {})
    assert row.value is None
    assert "associated alike" in row.details["reason"]
    assert "p" not in row.details
