"""All sets on one embedding, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordbias.embedding import Embedding
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.word_tasks.analogy import Method, analogies
from wordbias.word_tasks.sets import AnalogySet, SimilaritySet
from wordbias.word_tasks.similarity import Oov, Space, similarity


@dataclass(frozen=True)
class Settings:
    """How to ask; see `similarity`, `analogies` and `AnalogySet.standardised`."""

    oov: Oov = "skip"
    method: Method = "add"
    standardise: bool = False
    seed: int = 0


def quality(
    embedding: Embedding,
    sets: Sequence[SimilaritySet | AnalogySet],
    settings: Settings | None = None,
    *,
    name: str | None = None,
) -> list[Row]:
    """Measure an embedding on every set.

    Parameters
    ----------
    embedding
        All of it: analogies are answered over its whole vocabulary.
    sets
        See `wordbias.word_tasks.find_sets`.
    name
        What the rows call it, by default its own name.
    """
    space = Space.of(embedding)
    settings = settings or Settings()
    subject = name or embedding.name
    found: list[Row] = []
    for asked in sets:
        if isinstance(asked, AnalogySet):
            found += _analogy(space, asked, settings, subject)
        else:
            found.append(_similarity(space, asked, settings, subject))
    return found


def _similarity(space: Space, asked: SimilaritySet, settings: Settings, subject: str) -> Row:
    rng = np.random.default_rng(settings.seed)
    found = similarity(space, asked, rng, settings.oov)
    details = _details("similarity", asked.name, found, found.missing, settings, "pairs")
    if found.interval is not None:
        details |= found.interval._asdict()
    return Row(subject, "similarity", found.value, details)


def _analogy(space: Space, asked: AnalogySet, settings: Settings, subject: str) -> Iterator[Row]:
    asked = asked.standardised() if settings.standardise else asked
    found = analogies(space, asked, settings.oov, settings.method)
    for name, part in asked.parts.items():
        accuracy = found.accuracy(part)
        details = _details("analogy", name, accuracy, found.missing, settings, "questions")
        setting = f"{settings.method}, standardised" if settings.standardise else settings.method
        yield Row(subject, "analogy", accuracy.value, {**details, "setting": setting})


def _details(
    measure: str, name: str, found: Any, missing: Sequence[str], settings: Settings, what: str
) -> dict[str, Any]:
    details = {
        "set": name,
        "n": found.n,
        "asked": found.asked,
        "coverage": found.coverage,
        "missing": list(missing),
        "oov": settings.oov,
        **ideal(measure),
    }
    if found.value is None:
        few = f"{found.n} of {found.asked} {what} have words of this embedding"
        details["reason"] = (
            f"undefined: {few}" if found.n < 2 else "undefined: all values are equal"
        )
    return details
