"""OSCaR: a second concept is rotated to 90° from the first (Dev et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wordbias.arrays import matrix, rounding
from wordbias.devices import blas_threads
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direction import find_direction
from wordbias.methods.fitted import Fitted
from wordbias.methods.transform import GradedRotation, angle_between
from wordbias.methods.words import (
    Float,
    as_attribute,
    check_embedding,
    finite_vectors,
    listed_words,
)
from wordbias.results import Row
from wordbias.wordlists import Attribute, Resolved, Templates, resolve, wordlist

Concept = str | Path | Sequence[str] | None
_DIRECTIONS = 2


@blas_threads(1)
def fit(
    embedding: Embedding,
    attribute: Attribute | str | Path | None = None,
    *,
    concept: Concept = None,
    direction: str = "she-he",
) -> Fitted:
    """Fit OSCaR: rotate a concept that is associated with the attribute to 90° from it."""
    # Dev et al. (2021) say little about how the concept's directions are made; the released script
    # for encoders centres, as sklearn's PCA does, and so does this. Of the concept's first two
    # components the one nearer to v1 is v2. For GloVe it ships two directions and takes, by
    # mistake, the last pair of directions for the nearest.
    check_embedding(embedding)
    attribute = as_attribute(attribute)
    finite_vectors(embedding, sorted(listed_words(attribute).intersection(embedding.index)))
    first = find_direction(embedding, attribute, direction)
    resolved = resolve(concept_words(concept), embedding, f"{embedding.name}: concept")
    resolved.at_least(_DIRECTIONS + 1, "give words it has: oscar:concept=FILE")
    components = concept_directions(finite_vectors(embedding, resolved.found))
    chosen = nearest_directions(first.defined().basis, components)
    try:
        step = GradedRotation(chosen.v1, chosen.v2)
    except WordbiasError as error:
        what = f"{embedding.name}: {attribute.name} and the concept"
        raise WordbiasError(f"{what}: {error}") from None
    rows = _angle_rows(embedding.name, step, chosen, first.recipe, resolved)
    settings = {"concept": _as_json(concept), "direction": direction}
    return Fitted("oscar", (step,), found=rows, settings=settings)


def concept_words(concept: Concept = None) -> tuple[str, ...]:
    """Return the words of a concept: those given, those of a file, or by default occupations."""
    if concept is None:
        return Templates.load().occupations
    if isinstance(concept, str | Path):
        return wordlist(concept)
    return tuple(concept)


def concept_directions(vectors: ArrayLike) -> Float:
    """Return the first two principal components of vectors ``(n, d)``, or the only one."""
    x = matrix(vectors)
    _, s, vt = np.linalg.svd(x - x.mean(0), full_matrices=False)
    components: Float = vt[s > max(rounding(vectors), s[0] * max(x.shape) * np.finfo(float).eps)]
    if not len(components):
        raise WordbiasError(
            f"the vectors of all {len(x)} words of the concept are equal; give other words: "
            "oscar:concept=FILE"
        )
    return components[:_DIRECTIONS]


class Chosen(NamedTuple):
    """Nearest pair of directions, and the number of the concept's component, from 1."""

    v1: Float
    v2: Float
    component: int


def nearest_directions(first: Float, second: Float) -> Chosen:
    """Return the two of ``(k, d)`` and ``(m, d)`` unit directions with the largest ``|cosine|``."""
    # The second is reversed, if necessary, to make the cosine positive.
    cosine = first @ second.T
    i, j = np.unravel_index(int(np.abs(cosine).argmax()), cosine.shape)
    return Chosen(first[i], second[j] * (-1 if cosine[i, j] < 0 else 1), int(j) + 1)


def _angle_rows(
    subject: str, step: GradedRotation, chosen: Chosen, direction: str, resolved: Resolved[str]
) -> tuple[Row, ...]:
    """Return the angle between the two directions before and after, in degrees."""
    common = {
        "direction": direction,
        "component": chosen.component,
        "n": len(resolved.found),
        "missing": len(resolved.missing),
        "neutral": 90.0,
        "better": "neutral",
    }
    angles = {"before": step.angle, "after": angle_between(chosen.v1, step(chosen.v2))}
    return tuple(
        Row(subject, "angle", float(np.degrees(angle)), {"stage": stage, **common})
        for stage, angle in angles.items()
    )


def _as_json(concept: Concept) -> str | list[str] | None:
    if concept is None or isinstance(concept, str):
        return concept
    return str(concept) if isinstance(concept, Path) else list(concept)
