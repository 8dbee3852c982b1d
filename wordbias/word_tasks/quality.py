"""Quality of an embedding on all test sets, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wordbias.draws import by_bootstrap, drawn
from wordbias.embedding import Embedding
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.word_tasks.analogy import Accuracy, Method, analogies
from wordbias.word_tasks.sets import AnalogySet, SimilaritySet
from wordbias.word_tasks.similarity import Oov, Similarity, Space, similarity


def quality(
    embedding: Embedding,
    sets: Sequence[SimilaritySet | AnalogySet],
    *,
    oov: Oov = "skip",
    method: Method = "add",
    standardise: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> list[Row]:
    """Measure an embedding on every set.

    Parameters
    ----------
    embedding
        The whole embedding: analogies are answered over its whole vocabulary.
    sets
        See `wordbias.word_tasks.find_sets`.
    oov
        Treatment of unknown words; see `similarity` and `analogies`.
    method
        Method for analogies; see `wordbias.word_tasks.analogy`.
    standardise
        Change the words of analogies first; see `AnalogySet.standardised`.
    seed
        Seed of the intervals: pairs and questions are drawn again.
    name
        Name in the rows, by default that of the embedding.
    """
    space = Space.of(embedding)
    subject = name or embedding.name
    rows: list[Row] = []
    for one in sets:
        if isinstance(one, SimilaritySet):
            result = similarity(space, one, np.random.default_rng(seed), oov)
            details = _details("similarity", one.name, result, result.missing, oov)
            details |= by_bootstrap(result.samples, "pairs")
            draws = drawn(result.samples, "pairs")
            rows.append(Row(subject, "similarity", result.value, details, draws))
            continue
        questions = one.standardised() if standardise else one
        answered = analogies(space, questions, oov, method)
        setting = f"{method}, standardised" if standardise else method
        for part, numbers in questions.parts.items():
            accuracy = answered.accuracy(numbers)
            samples = accuracy.resampled(np.random.default_rng(seed))
            details = _details("analogy", part, accuracy, answered.missing, oov)
            details |= {"setting": setting, "among": len(embedding)}
            details |= by_bootstrap(samples, "questions")
            draws = drawn(samples, "questions")
            rows.append(Row(subject, "analogy", accuracy.value, details, draws))
    return rows


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
