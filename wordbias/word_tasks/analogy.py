"""Analogies: how many of a set's questions an embedding answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordbias.word_tasks.sets import AnalogySet
from wordbias.word_tasks.solving import Method, answer
from wordbias.word_tasks.space import UNKNOWN, Oov, Space, check_oov


@dataclass(frozen=True)
class Accuracy:
    """Share of questions answered with the word the set gives.

    Attributes
    ----------
    value
        In [0, 1]; None where no question could be asked.
    n, asked, known
        Questions the value is over, questions of the set, those of which all four words were found.
    """

    value: float | None
    n: int
    asked: int
    known: int

    @property
    def coverage(self) -> float:
        """Share of the questions of which the embedding has all four words."""
        return self.known / self.asked


@dataclass(frozen=True)
class Analogies:
    """What an embedding answered to every question of a set.

    Attributes
    ----------
    counted, known, right
        Of every question: whether it counts, whether the embedding has all of its words, whether it
        was answered. Shape ``(q,)``.
    missing
        The words the embedding does not have.
    """

    counted: NDArray[np.bool_]
    known: NDArray[np.bool_]
    right: NDArray[np.bool_]
    missing: tuple[str, ...]

    def accuracy(self, part: Sequence[int]) -> Accuracy:
        """Return the share over the questions with these numbers."""
        chosen = np.asarray(part, np.intp)
        n = int(self.counted[chosen].sum())
        right = int(self.right[chosen].sum())
        return Accuracy(right / n if n else None, n, len(chosen), int(self.known[chosen].sum()))


def analogies(
    space: Space, asked: AnalogySet, oov: Oov = "skip", method: Method = "add"
) -> Analogies:
    """Answer every question of a set over the whole vocabulary.

    Parameters
    ----------
    space
        The embedding.
    asked
        The set.
    oov
        ``"skip"`` leaves out questions with an unknown word. ``"mean"`` counts every question, as
        ``web.evaluate.evaluate_analogy`` of word-embeddings-benchmarks does: the mean of all
        vectors of length one stands for an unknown word of the question, and a question whose
        answer is unknown counts as wrong. That package also changes some words first: see
        `AnalogySet.standardised`.
    method
        See `wordbias.word_tasks.solving`.
    """
    check_oov(oov)
    found = space.find(word for question in asked.questions for word in question)
    rows = np.array([[found[word] for word in question] for question in asked.questions], np.intp)
    known = (rows != UNKNOWN).all(axis=1)
    counted = known if oov == "skip" else np.ones_like(known)
    open_to_answer = np.flatnonzero(counted & (rows[:, 3] != UNKNOWN))
    right = np.zeros_like(known)
    answers = answer(space, rows[open_to_answer, :3], method)
    right[open_to_answer] = answers == rows[open_to_answer, 3]
    missing = tuple(word for word, row in found.items() if row == UNKNOWN)
    return Analogies(counted, known, right, missing)
