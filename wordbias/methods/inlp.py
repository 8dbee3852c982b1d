"""INLP: iterative nullspace projection (Ravfogel et al. 2020), and its information-weighted form.

The words the classifiers learn from are labelled by the embedding itself, see
`wordbias.methods.classes`; the rounds are those of `wordbias.methods.nullspace.learn`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.classes import LabelledWords, default_classes, labelled_words
from wordbias.methods.fitted import Fitted
from wordbias.methods.linear_probe import probe_rows
from wordbias.methods.nullspace import Rounds, information_weight, learn
from wordbias.methods.projection import Projection
from wordbias.methods.words import as_embedding, as_groups
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, WordGroups

WEIGHTS = ("hard", "information")
ITERATIONS = 35
TOLERANCE = 0.01
"""Held-out accuracy so little above chance is chance."""
LARGE_SHARE = 0.25


def fit(
    embedding: Embedding,
    attribute: Attribute | WordGroups | str | Path | None = None,
    *,
    classes: int | None = None,
    iterations: int = ITERATIONS,
    per_class: int | None = None,
    weights: str = "hard",
    classifier: str = "svm",
    as_published: bool = False,
    seed: int = 0,
) -> Fitted:
    """Fit INLP.

    Parameters
    ----------
    embedding
        Whose words are labelled; see `labelled_words`.
    attribute
        Two groups or more, or a file with them; by default gender.
    classes
        As many as groups: the words that lean most to each, one direction a round for two groups
        and up to `k` for more. One more: neutral words as well, and a direction more. By default 3
        for two groups, as published, and `k` for more.
    iterations
        Rounds at most; 35 in the published code.
    per_class
        Words of each class; by default 5 % of the candidates, 7,500 at most.
    weights
        ``hard`` removes all directions whole. ``information`` removes those of a round by its
        `information_weight`, as Dawkins (2021, section 5) proposes; later rounds learn where the
        earlier directions are gone whole all the same.
    classifier
        ``svm``, as published, or ``logistic``; neither has an intercept.
    as_published
        Train on the vectors as they are, and do all iterations in which there is a direction. By
        default the vectors are centred on the mean of the training words, and the first classifier
        whose held-out balanced accuracy is at most a point above chance ends the rounds; its
        directions are not removed. Centring stands for the intercept: a hyperplane through the
        origin may be at chance because all words are on one side of it, while one beside it tells
        them apart.
    seed
        Of the neutral words and of the split into training, development and test words.

    Returns
    -------
    Fitted
        One `Projection`. Found are the rows ``inlp-accuracy``, one a round, and ``probe-accuracy``
        of fresh classifiers before and after, whose sets `linear_probe.probe` explains; fitted on
        are the training words, the development words only end the rounds.

    Raises
    ------
    WordbiasError
        If an argument is none of those named, the attribute has no axis, words of a class are too
        few, the first classifier is at chance already, or the rounds use up all dimensions.
    """
    embedding, attribute = as_embedding(embedding), as_groups(attribute)
    classes = default_classes(attribute) if classes is None else classes
    settings = {
        "classes": classes,
        "iterations": iterations,
        "per_class": per_class,
        "weights": weights,
        "classifier": classifier,
        "as_published": as_published,
        "seed": seed,
    }
    _check(iterations, weights)
    words = labelled_words(embedding, attribute, classes=classes, per_class=per_class, seed=seed)
    rounds = _learnt(embedding, words, iterations, classifier, as_published)
    projection = _projection(embedding, rounds, classes, weights)
    x = words.vectors(embedding)
    found = (
        *_round_rows(embedding, words, rounds, weights, classifier),
        *probe_rows(embedding.name, x, projection(x), words, words.train),
    )
    warnings = _warnings(rounds, classes, iterations)
    return Fitted("inlp", (projection,), found=found, settings=settings, warnings=warnings)


def _check(iterations: int, weights: str) -> None:
    if iterations < 1:
        raise WordbiasError(f"{iterations} iterations asked for: expected at least 1")
    if weights not in WEIGHTS:
        raise WordbiasError(f"weights {weights!r}: expected one of {', '.join(WEIGHTS)}")


def _learnt(
    embedding: Embedding, words: LabelledWords, iterations: int, classifier: str, published: bool
) -> Rounds:
    return learn(
        words.vectors(embedding),
        words.labels,
        words.train,
        words.dev,
        iterations=iterations,
        classifier=classifier,
        center=not published,
        stop_at=None if published else 1 / len(words.classes) + TOLERANCE,
    )


def _projection(embedding: Embedding, rounds: Rounds, classes: int, weights: str) -> Projection:
    hard = weights == "hard"
    shares = rounds.information_weights(classes)
    if not shares.any():
        raise WordbiasError(
            f"{embedding.name}: no classifier was right about more held-out words than chance "
            f"({1 / classes:.3f}), so that there is nothing to remove (the first: "
            f"{rounds.rounds[0].accuracy:.3f}); is it debiased already?"
        )
    return Projection(Subspace(rounds.basis, np.ones(len(shares)) if hard else shares), hard)


def _round_rows(
    embedding: Embedding, words: LabelledWords, rounds: Rounds, weights: str, classifier: str
) -> list[Row]:
    rows, removed, classes = [], 0, len(words.classes)
    for i, (accuracy, directions) in enumerate(rounds.rounds, 1):
        removed += directions
        weight = 1.0 if weights == "hard" else information_weight(accuracy, classes)
        details = {
            "iteration": i,
            "directions": removed,
            "weight": weight if directions else 0.0,
            "classifier": classifier,
            "n": len(words.dev),
            "neutral": 1 / classes,
            "better": "lower",
        }
        rows.append(Row(embedding.name, "inlp-accuracy", accuracy, details))
    return rows


def _warnings(rounds: Rounds, classes: int, iterations: int) -> tuple[str, ...]:
    (removed, d), last, said = rounds.basis.shape, rounds.rounds[-1].accuracy, []
    if removed > LARGE_SHARE * d:
        said.append(
            f"{removed} of {d} dimensions were removed, more than a quarter: other things that the "
            "vectors know went with them; fewer iterations, or fewer classes, remove fewer"
        )
    if not rounds.at_chance and last > 1 / classes + TOLERANCE:
        said.append(
            f"the classifier of the last of {iterations} iterations still had a held-out balanced "
            f"accuracy of {last:.3f}, where chance is {1 / classes:.3f}; ask for more iterations"
        )
    return tuple(said)
