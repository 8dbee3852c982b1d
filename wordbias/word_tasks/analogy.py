r"""Analogies a : b = c : ?, answered exactly over the whole vocabulary of an embedding.

.. math:: \text{3CosAdd:}\ \arg\max_d\ \cos(d, b) - \cos(d, a) + \cos(d, c), \qquad
          \text{3CosMul:}\ \arg\max_d\ \frac{c_b(d)\, c_c(d)}{c_a(d) + \varepsilon},
          \quad c_x(d) = \frac{1 + \cos(d, x)}{2}

(Mikolov, Yih and Zweig 2013; Levy and Goldberg 2014, equation 4 with the shift of its footnote 7.
ε = 1e-5 as in word-embeddings-benchmarks, but in the denominator only, where the paper has it.)

Questions repeat few words in many ways, so that one matrix product with the *words* of a block of
questions is enough for all of them; each question then needs one addition for every word of the
vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import blas_threads, ordered_map
from wordbias.errors import WordbiasError
from wordbias.progress import progress
from wordbias.statistics import resampled_means
from wordbias.word_tasks.sets import AnalogySet
from wordbias.word_tasks.similarity import UNKNOWN, Oov, Space, check_oov

Method = Literal["add", "mul"]
EPSILON = 1e-5
_QUESTIONS = 512
_TILE = 512
_CANDIDATES = 1 << 16
_AT_ONCE = 1 << 13
Ints = NDArray[np.intp]
Array = NDArray[np.floating]


def analogies(
    space: Space, questions: AnalogySet, oov: Oov = "skip", method: Method = "add"
) -> Analogies:
    """Answer every question of a set over the whole vocabulary."""
    # oov="mean" counts every question, as web.evaluate.evaluate_analogy of
    # word-embeddings-benchmarks does: the mean of all vectors of length one replaces an unknown
    # word, and a question whose answer is unknown counts as wrong. That package also changes some
    # words first: see `AnalogySet.standardised`.
    check_oov(oov)
    row_by_word = space.find(word for question in questions.questions for word in question)
    rows = np.array(
        [[row_by_word[word] for word in question] for question in questions.questions], np.intp
    )
    known = (rows != UNKNOWN).all(axis=1)
    counted = known if oov == "skip" else np.ones_like(known)
    open_to_answer = np.flatnonzero(counted & (rows[:, 3] != UNKNOWN))
    right = np.zeros_like(known)
    answers = answer(space, rows[open_to_answer, :3], method)
    right[open_to_answer] = answers == rows[open_to_answer, 3]
    missing = tuple(word for word, row in row_by_word.items() if row == UNKNOWN)
    return Analogies(counted, known, right, missing)


@dataclass(frozen=True)
class Analogies:
    """Answers of an embedding to the questions of a set."""

    # for every question: it counts, the embedding has all of its words, the answer is right. Shape
    # `(q,)`.
    counted: NDArray[np.bool_]
    known: NDArray[np.bool_]
    right: NDArray[np.bool_]
    missing: tuple[str, ...]

    def accuracy(self, part: Sequence[int]) -> Accuracy:
        """Return the share over the questions with these numbers."""
        chosen = np.asarray(part, np.intp)
        counted = self.counted[chosen]
        right = self.right[chosen][counted]
        n = len(right)
        value = int(right.sum()) / n if n else None
        return Accuracy(value, n, len(chosen), int(self.known[chosen].sum()), right)


@dataclass(frozen=True)
class Accuracy:
    """Share of questions answered with the word that the set gives."""

    value: float | None  # in [0, 1]; None without a question that counts
    n: int  # number of questions in the value, in the set, and with all four words in the embedding
    total: int
    known: int
    # whether each question in the value is answered right, shape `(n,)`
    right: NDArray[np.bool_] = field(repr=False, compare=False)

    @property
    def coverage(self) -> float:
        """Share of the questions with all four words in the embedding."""
        return self.known / self.total

    def resampled(self, rng: np.random.Generator) -> NDArray[np.float64] | None:
        """Return shares of questions that are drawn again, ``(b,)``; None without a question."""
        if not self.n:
            return None
        return resampled_means(self.right[:, None].astype(np.float64), rng)[:, 0]


def answer(space: Space, questions: Ints, method: Method = "add") -> Ints:
    """Answer analogies, a, b and c as rows (q, 3); the words of a question are never its answer."""
    # The mean vector stands for `UNKNOWN`. Of equal answers it is the lowest, decided in float64
    # among those that the rounding of the first pass could have swapped.
    if method not in get_args(Method):
        raise WordbiasError(f"method {method!r}: expected one of {', '.join(get_args(Method))}")
    answers = np.full(len(questions), UNKNOWN, np.intp)

    def work(start: int) -> int:
        part = slice(start, start + _QUESTIONS)
        answers[part] = _block(space, questions[part], method)
        return len(questions[part])

    starts = range(0, len(questions), _QUESTIONS)
    with blas_threads(1), progress("analogies", len(questions), "question") as bar:
        for done in ordered_map(work, starts):
            bar.update(done)
    return answers


def _block(space: Space, questions: Ints, method: Method) -> Ints:
    best = np.full(len(questions), -np.inf)
    candidates = np.empty((2, 0), np.intp)
    for start, scores in _tiles(space, questions, method):
        highest = scores.max(axis=1)
        np.maximum(best, highest, out=best)
        floor = _floor(best, space, method)
        near = np.flatnonzero((highest >= floor) & (highest > -np.inf))
        i, column = np.nonzero(scores[near] >= floor[near, None])
        candidates = np.concatenate([candidates, [near[i], column + start]], axis=1)
        if candidates.shape[1] > _CANDIDATES:  # nearly all words are alike
            candidates = _best(space, questions, candidates, method)
    answers = np.full(len(questions), UNKNOWN, np.intp)
    question, row = _best(space, questions, candidates, method)
    answers[question] = row
    return answers


def _tiles(space: Space, questions: Ints, method: Method) -> Iterator[tuple[int, Array]]:
    """Yield scores of all questions, those of their own words −∞, for a tile of the vocabulary."""
    dtype = np.float32 if method == "add" else np.float64
    words, inverse = np.unique(questions, return_inverse=True)
    a, b, c = inverse.reshape(-1, 3).T
    pairs, pair = np.unique(np.stack([a, b], axis=1), axis=0, return_inverse=True)
    query, pair = space.take(words).astype(dtype), pair.ravel()
    own, row = np.repeat(np.arange(len(questions)), 3), questions.ravel()
    for start in range(0, len(space.vectors), _TILE):
        cosine = query @ space.vectors[start : start + _TILE].T.astype(dtype, copy=False)
        scores = _scores(cosine, pairs, pair, c, method)
        here = (row >= start) & (row < start + _TILE)
        scores[own[here], row[here] - start] = -np.inf
        yield start, scores


def _scores(cosine: Array, pairs: Ints, pair: Ints, c: Ints, method: Method) -> Array:
    combine: Callable[..., Array]
    if method == "add":
        combine, offset = np.add, cosine[pairs[:, 1]] - cosine[pairs[:, 0]]
    else:
        cosine = (1 + cosine) / 2
        combine, offset = np.multiply, cosine[pairs[:, 1]] / (cosine[pairs[:, 0]] + EPSILON)
    scores = cosine[c]
    return combine(scores, offset[pair], out=scores)


def _floor(best: NDArray[np.float64], space: Space, method: Method) -> NDArray[np.float64]:
    """Return the score below which rounding cannot have hidden the best answer.

    With u half the spacing of floats at 1, each of the three cosines of a score is off by at most
    ``(d + 2) u``, and two scores are compared; a quotient is off by 1/`EPSILON` times that at most.
    """
    eps = np.finfo(np.float32).eps if method == "add" else np.finfo(np.float64).eps / EPSILON
    band = 4 * (space.vectors.shape[1] + 4) * float(eps)
    floor: NDArray[np.float64] = best - band * np.maximum(1, np.abs(best))
    return floor


def _best(space: Space, questions: Ints, candidates: Ints, method: Method) -> Ints:
    """Keep the best candidate of every question, by a score in float64; of equals the first."""
    # Candidates are numbers of questions and rows, shape (2, k).
    of, row = candidates
    steps = range(0, len(of), _AT_ONCE)
    parts = [candidates[:, start : start + _AT_ONCE] for start in steps]
    scores = [_exact(space, questions[i], rows, method) for i, rows in parts]
    order = np.lexsort((row, -np.concatenate([np.zeros(0), *scores]), of))
    first = np.unique(of[order], return_index=True)[1]
    best: Ints = candidates[:, order[first]]
    return best


def _exact(space: Space, questions: Ints, rows: Ints, method: Method) -> NDArray[np.float64]:
    """Return the exact score of one row for each question, shape ``(k,)``."""
    a, b, c = space.take(questions).astype(np.float64).transpose(1, 0, 2)
    d = space.vectors[rows].astype(np.float64)
    if method == "add":
        score: NDArray[np.float64] = (d * (b - a + c)).sum(axis=1)
        return score
    near_a, near_b, near_c = ((1 + (d * x).sum(axis=1)) / 2 for x in (a, b, c))
    quotient: NDArray[np.float64] = near_b * near_c / (near_a + EPSILON)
    return quotient
