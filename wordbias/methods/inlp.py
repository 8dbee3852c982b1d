"""INLP: iterative nullspace projection (Ravfogel et al. 2020), and its information-weighted form.

The words the classifiers learn from are labelled by the embedding itself, see
`wordbias.methods.classes`; the rounds are those of `wordbias.methods.nullspace.learn`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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
    words = labelled_words(embedding, attribute, classes=classes, per_class=per_class, seed=seed)
    x = words.vectors(embedding)
    projection, rounds = fit_vectors(
        x, words.labels, words.train, words.dev,
        iterations=iterations, weights=weights, classifier=classifier, as_published=as_published,
    )  # fmt: skip
    if projection is None:
        raise WordbiasError(
            f"{embedding.name}: no classifier was right about more held-out words than chance "
            f"({1 / classes:.3f}), so that there is nothing to remove (the first: "
            f"{rounds.rounds[0].accuracy:.3f}); is it debiased already?"
        )
    found = (
        *_round_rows(embedding, words, rounds, weights, classifier),
        *probe_rows(embedding.name, x, projection(x), words, words.train),
    )
    warnings = _warnings(rounds, classes, iterations)
    return Fitted("inlp", (projection,), found=found, settings=settings, warnings=warnings)


def fit_vectors(
    x: NDArray[np.float64],
    labels: NDArray[np.intp],
    train: NDArray[np.intp],
    dev: NDArray[np.intp],
    *,
    iterations: int = ITERATIONS,
    weights: str = "hard",
    classifier: str = "svm",
    as_published: bool = False,
    at_least: int = 0,
) -> tuple[Projection | None, Rounds]:
    """Fit INLP on vectors and their classes.

    Parameters
    ----------
    x, labels
        Vectors and their classes, 0 to K − 1, shapes ``(n, d)`` and ``(n,)``.
    train, dev
        Places of those to train on, and of those whose accuracy ends the rounds.
    iterations, weights, classifier, as_published
        See `fit`.
    at_least
        Dimensions that are left; by default using up all is an error.

    Returns
    -------
    projection, rounds
        None if no classifier is better than chance, so that there is nothing to remove.

    Raises
    ------
    WordbiasError
        If an argument is none of those named, or the rounds use up all dimensions.
    """
    if iterations < 1:
        raise WordbiasError(f"{iterations} iterations asked for: expected at least 1")
    if weights not in WEIGHTS:
        raise WordbiasError(f"weights {weights!r}: expected one of {', '.join(WEIGHTS)}")
    classes = int(labels.max()) + 1
    rounds = learn(
        x,
        labels,
        train,
        dev,
        iterations=iterations,
        classifier=classifier,
        center=not as_published,
        stop_at=None if as_published else 1 / classes + TOLERANCE,
        at_least=at_least,
    )
    hard = weights == "hard"
    shares = rounds.information_weights(classes)
    if not shares.any():
        return None, rounds
    subspace = Subspace(rounds.basis, np.ones(len(shares)) if hard else shares)
    return Projection(subspace, hard), rounds


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
    (removed, d), said = rounds.basis.shape, list[str]()
    if removed > LARGE_SHARE * d:
        said.append(
            f"{removed} of {d} dimensions were removed, more than a quarter: other things that the "
            "vectors know went with them; fewer iterations, or fewer classes, remove fewer"
        )
    return (*said, *unfinished(rounds, classes, iterations))


def unfinished(rounds: Rounds, classes: int, most: int, what: str = "iterations") -> list[str]:
    """Say where the classifier of the last of all rounds that were asked for is above chance."""
    last = rounds.rounds[-1].accuracy
    if rounds.at_chance or last <= 1 / classes + TOLERANCE:
        return []
    return [
        f"the classifier of the last of {most} {what} still had a held-out balanced accuracy of "
        f"{last:.3f}, where chance is {1 / classes:.3f}; ask for more {what}"
    ]
