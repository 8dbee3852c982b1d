"""Analogies answered: against a double loop, ties, masks, invariances."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias import Embedding, devices
from wordbias.errors import WordbiasError
from wordbias.word_tasks import Space, analogy, answer

METHODS: tuple[Literal["add", "mul"], ...] = ("add", "mul")
CLOSE = {"add": 1e-12, "mul": 1e-6}  # cosines near −1 are divided by ε


def _embedding(vectors: np.ndarray) -> Embedding:
    return Embedding([f"w{i}" for i in range(len(vectors))], vectors)


def _loop(space: Space, question: list[int], method: str) -> list[float]:
    """Score of every word; −∞ for those of the question."""
    a, b, c = (space.vectors[i].astype(float) if i >= 0 else space.mean for i in question)
    scores = []
    for i, d in enumerate(space.vectors.astype(float)):
        if method == "add":
            score = d @ b - d @ a + d @ c
        else:
            score = (1 + d @ b) / 2 * (1 + d @ c) / 2 / ((1 + d @ a) / 2 + 1e-5)
        scores.append(-np.inf if i in question else float(score))
    return scores


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 30), st.sampled_from(METHODS))
def test_the_answer_is_that_of_a_double_loop(
    seed: int, dim: int, size: int, method: Literal["add", "mul"]
) -> None:
    rng = np.random.default_rng(seed)
    space = Space.of(_embedding(rng.integers(-2, 3, (size, dim)).astype(float)))
    questions = rng.integers(-1, size, (12, 3))
    for question, got in zip(questions.tolist(), answer(space, questions, method), strict=True):
        scores = _loop(space, question, method)
        if max(scores) == -np.inf:
            assert got == -1
        else:
            assert got not in question
            assert scores[got] >= max(scores) - CLOSE[method] * max(1, abs(max(scores)))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [3, 700, 1500])
def test_tiles_blocks_and_threads_change_nothing(
    monkeypatch: pytest.MonkeyPatch, method: Literal["add", "mul"], size: int
) -> None:
    rng = np.random.default_rng(size)
    space = Space.of(_embedding(rng.normal(size=(size, 8))))
    questions = rng.integers(-1, size, (700, 3))
    whole = answer(space, questions, method)
    best = [int(np.argmax(_loop(space, q, method))) for q in questions[:50].tolist()]
    if size > 3:
        assert whole[:50].tolist() == best
    for tile, block, count in ((7, 700, 1), (512, 3, 2), (100_000, 100_000, 2)):
        # private: sizes of the blocks of a numerical kernel, which may change no value
        monkeypatch.setattr(analogy, "_TILE", tile)
        monkeypatch.setattr(analogy, "_QUESTIONS", block)
        devices.set_threads(count)
        assert answer(space, questions, method).tolist() == whole.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_of_equal_answers_the_first_word_is_taken(method: Literal["add", "mul"]) -> None:
    rng = np.random.default_rng(0)
    once = rng.normal(size=(601, 50))
    twice = np.concatenate([once, once[::-1], 4 * once, once[:7]])
    questions = rng.integers(0, 601, (400, 3))
    of_one = answer(Space.of(_embedding(once)), questions, method)
    # The question's words stand again further down: those may be the answer, and then the first.
    of_both = answer(Space.of(_embedding(twice)), questions, method)
    for question, a, b in zip(questions.tolist(), of_one, of_both, strict=True):
        same = np.flatnonzero((twice == twice[b]).all(axis=1))
        scaled = np.flatnonzero((twice == 4 * twice[b]).all(axis=1))
        allowed = sorted({*same.tolist(), *scaled.tolist()} - set(question))
        assert b == allowed[0]
        assert b == a or any((once[i] == twice[b]).all() for i in question)


@pytest.mark.parametrize("method", METHODS)
def test_words_that_are_all_alike_fill_no_memory(
    monkeypatch: pytest.MonkeyPatch, method: Literal["add", "mul"]
) -> None:
    # private: sizes of the blocks of a numerical kernel, which may change no value
    monkeypatch.setattr(analogy, "_CANDIDATES", 100)
    monkeypatch.setattr(analogy, "_AT_ONCE", 64)
    monkeypatch.setattr(analogy, "_TILE", 16)
    space = Space.of(_embedding(np.tile([[0.3, 0.7, 0.1]], (90, 1))))
    questions = np.array([[0, 1, 2], [5, 6, 7], [0, 0, 0], [1, 0, 3]])
    assert answer(space, questions, method).tolist() == [3, 0, 1, 2]


def test_the_words_of_a_question_are_no_answer() -> None:
    space = Space.of(_embedding(np.array([[1.0, 0.0], [0.9, 0.1], [0.8, 0.3], [-1.0, 0.0]])))
    assert answer(space, np.array([[0, 0, 0], [0, 1, 2], [1, 0, 0]])).tolist() == [1, 3, 2]
    three = Space.of(_embedding(np.eye(3)))
    assert answer(three, np.array([[0, 1, 2], [0, 0, 1]])).tolist() == [-1, 2]


def test_no_questions_have_no_answers() -> None:
    space = Space.of(_embedding(np.eye(3)))
    assert answer(space, np.empty((0, 3), np.intp)).tolist() == []


def test_vectors_of_zeros_are_words_like_others() -> None:
    space = Space.of(_embedding(np.array([[0.0, 0], [1, 0], [-1, 0], [0, 0]])))
    assert answer(space, np.array([[1, 2, 2]])).tolist() == [0]
    assert answer(space, np.array([[0, 0, 3]]), "mul").tolist() == [1]


@given(st.integers(0, 2**32), st.sampled_from(METHODS))
def test_rotation_and_scale_change_no_answer(seed: int, method: Literal["add", "mul"]) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(60, 6))
    rotation = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    turned = vectors @ rotation * rng.uniform(0.1, 50, (60, 1))
    questions = rng.integers(0, 60, (20, 3))
    space = Space.of(_embedding(vectors))
    got = answer(Space.of(_embedding(turned)), questions, method)
    for question, row in zip(questions.tolist(), got.tolist(), strict=True):
        scores = _loop(space, question, method)
        a = space.vectors[question[0]].astype(float)
        steep = 1 if method == "add" else 1 / (min(1 + space.vectors @ a) / 2 + 1e-5)
        assert scores[row] >= max(scores) - 1e-5 * max(1, max(scores)) * steep


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(WordbiasError, match="'sum': expected one of add, mul"):
        answer(Space.of(_embedding(np.eye(3))), np.array([[0, 1, 2]]), "sum")  # type: ignore[arg-type]
