"""Quality of an embedding on all test sets, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import by_bootstrap, change_keys, drawn, items_of
from wordbias.embedding import Embedding
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import resampled_means, resampled_spearman, spearman
from wordbias.word_tasks.analogy import Accuracy, Method, analogies
from wordbias.word_tasks.sets import AnalogySet, SimilaritySet
from wordbias.word_tasks.similarity import Oov, Similarity, Space, similarity


@dataclass(frozen=True)
class Measured:
    """A row, and what it is made of."""

    row: Row  # row of one set, or of one part of it
    # cosine of each pair, or whether each question is answered right; nan for those that do not
    # count. Shape `(n,)`.
    items: NDArray[np.float64]
    # people's scores of pairs, shape `(n,)`; none for questions
    scores: NDArray[np.float64] | None = None


def quality(
    embedding: Embedding,
    sets: Sequence[SimilaritySet | AnalogySet],
    *,
    oov: Oov = "skip",
    method: Method = "add",
    standardise: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> list[Measured]:
    """Measure an embedding on every set; analogies are answered over its whole vocabulary."""
    space = Space.of(embedding)
    subject = name or embedding.name
    measured: list[Measured] = []
    for test_set in sets:
        if isinstance(test_set, SimilaritySet):
            result = similarity(space, test_set, np.random.default_rng(seed), oov)
            details = _details("similarity", test_set.name, result, result.missing, oov)
            details |= by_bootstrap(result.samples, "pairs")
            draws = drawn(result.samples, "pairs", items_of(test_set.pairs, result.missing, seed))
            row = Row(subject, "similarity", result.value, details, draws)
            measured.append(Measured(row, result.cosines, np.array(test_set.scores, np.float64)))
            continue
        questions = test_set.standardised() if standardise else test_set
        answered = analogies(space, questions, oov, method)
        setting = f"{method}, standardised" if standardise else method
        right = np.where(answered.counted, answered.right, np.nan)
        for part, numbers in questions.parts.items():
            accuracy = answered.accuracy(numbers)
            samples = accuracy.resampled(np.random.default_rng(seed))
            details = _details("analogy", part, accuracy, answered.missing, oov)
            details |= {"setting": setting, "among": len(embedding)}
            details |= by_bootstrap(samples, "questions")
            items = items_of(questions.questions, part, answered.missing, seed)
            draws = drawn(samples, "questions", items)
            row = Row(subject, "analogy", accuracy.value, details, draws)
            measured.append(Measured(row, right[numbers]))
    return measured


def since_first(first: Measured, other: Measured, seed: int = 0) -> Row:
    """Return the row of `other` with its change from `first`, over the items that count in both."""
    # Both values are taken of the same items drawn again; `change_n` is their number where it is
    # not `n`.
    both = ~np.isnan(first.items) & ~np.isnan(other.items)
    about = change_keys(*(_over(measured, both, seed) for measured in (first, other)))
    if about and (n := int(both.sum())) != other.row.details["n"]:
        about["change_n"] = n
    return replace(other.row, details={**other.row.details, **about})


def _over(measured: Measured, rows: NDArray[np.bool_], seed: int) -> Row:
    """Return the value over some items with its draws of these."""
    items, rng = measured.items[rows], np.random.default_rng(seed)
    if measured.scores is not None:
        scores = measured.scores[rows]
        value, samples = spearman(items, scores), resampled_spearman(items, scores, rng)
    elif len(items):
        value, samples = float(items.mean()), resampled_means(items[:, None], rng)[:, 0]
    else:
        value, samples = np.nan, None
    known = None if np.isnan(value) else value
    return Row(measured.row.subject, measured.row.measure, known, {}, drawn(samples, "items"))


def _details(
    measure: str, name: str, result: Similarity | Accuracy, missing: Sequence[str], oov: Oov
) -> dict[str, Any]:
    details = {
        "set": name,
        "n": result.n,
        "asked": result.total,
        "coverage": result.coverage,
        "missing": list(missing),
        "oov": oov,
        **ideal(measure),
    }
    if result.value is None and result.n < 2:
        items = "pairs" if measure == "similarity" else "questions"
        few = f"{result.n} of {result.total} {items} have words of this embedding"
        details["reason"] = f"undefined: {few}"
    elif result.value is None:
        details["reason"] = "undefined: all values are equal"
    return details
