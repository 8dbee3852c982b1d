r"""INLP: iterative nullspace projection (Ravfogel et al. 2020), and its information-weighted form.

Each round trains a linear classifier on what the rounds before left, and removes the directions it
reads the classes by: the row space of its normal vectors `W` (*Null It Out*, algorithm 1). The
words that the classifiers learn from are labelled by the embedding, see
`wordbias.methods.classes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import blas_threads
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.classes import LabelledWords, default_classes, labelled_words
from wordbias.methods.fitted import Fitted
from wordbias.methods.linear_classifiers import (
    CLASSIFIERS,
    LinearSvm,
    balanced_accuracy,
    predicted,
    probe_rows,
)
from wordbias.methods.transform import Projection
from wordbias.methods.words import as_groups, check_embedding
from wordbias.progress import progress
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, WordGroups

WEIGHTS = ("hard", "information")
ROUNDS = 35
TOLERANCE = 0.01
"""Margin above chance within which a held-out accuracy counts as chance."""
LARGE_SHARE = 0.25
HELD_OUT = 0.3
"""Share of each class of rows whose accuracy ends the rounds."""
_EPS = float(np.finfo(float).eps)
_SILENT = float(np.sqrt(_EPS))
Matrix = NDArray[np.float64]
Integers = NDArray[np.intp]


def fit(
    embedding: Embedding,
    attribute: Attribute | WordGroups | str | Path | None = None,
    *,
    classes: int | None = None,
    rounds: int = ROUNDS,
    per_class: int | None = None,
    weights: str = "hard",
    classifier: str = "svm",
    as_published: bool = False,
    seed: int = 0,
) -> Fitted:
    """Fit INLP; the development words only end the rounds."""
    # As published, all rounds in which there is a direction are done, on the vectors as they are.
    # By default they are centred on the mean of the training words, which replaces the intercept: a
    # hyperplane through the origin may be at chance because all words are on one side of it, while
    # a shifted one tells them apart. The rounds end at the first classifier whose held-out balanced
    # accuracy is at most a point above chance. With `information` (Dawkins 2021, section 5) the
    # directions of a round have its weight; for later rounds they are removed whole all the same.
    check_embedding(embedding)
    attribute = as_groups(attribute)
    classes = default_classes(attribute) if classes is None else classes
    settings = {
        "classes": classes,
        "rounds": rounds,
        "per_class": per_class,
        "weights": weights,
        "classifier": classifier,
        "as_published": as_published,
        "seed": seed,
    }
    words = labelled_words(embedding, attribute, classes=classes, per_class=per_class, seed=seed)
    x = words.vectors(embedding)
    projection, trained = fit_vectors(
        x, words.labels, words.train, words.dev,
        rounds=rounds, weights=weights, classifier=classifier, as_published=as_published,
    )  # fmt: skip
    if projection is None:
        raise WordbiasError(
            f"{embedding.name}: no classifier was right about more held-out words than chance "
            f"({1 / classes:.3f}): there is nothing to remove (the first: "
            f"{trained.rounds[0].accuracy:.3f}); is it debiased already?"
        )
    rows = (
        *_round_rows(embedding, words, trained, weights, classifier),
        *probe_rows(embedding.name, x, projection(x), words, words.train),
    )
    warnings = _warnings(trained, classes, rounds)
    return Fitted("inlp", (projection,), found=rows, settings=settings, warnings=warnings)


def fit_rows(
    x: NDArray[np.floating[Any]], labels: Sequence[Integers], settings: Mapping[str, Any]
) -> tuple[tuple[Projection, ...], tuple[str, ...]]:
    """Fit INLP to each label of some rows, after those before it; return the steps and warnings."""
    # Of each class `HELD_OUT` is held out, to end the rounds.
    left, steps, warnings = x.astype(np.float64), list[Projection](), list[str]()
    removed = 0
    most = settings.get("rounds", ROUNDS)
    for codes in labels:
        if removed == x.shape[1] - 1:
            warnings.append("a further label is not fitted, as one dimension is left")
            break
        held_out = _held_out(codes, settings.get("seed", 0))
        projection, trained = fit_vectors(
            left, codes, np.flatnonzero(~held_out), np.flatnonzero(held_out),
            rounds=most, weights=settings.get("weights", "hard"),
            classifier=settings.get("classifier", "svm"),
            as_published=bool(settings.get("as_published")), at_least=1 + removed,
        )  # fmt: skip
        if projection is None:
            warnings.append(
                "no classifier was better than chance on held-out rows: nothing is removed"
            )
            continue
        tested = len(np.unique(codes[held_out]))
        notes = unfinished(trained, tested, most)
        removed += int((projection.subspace.weights == 1).sum())
        if removed == x.shape[1] - 1:
            notes = [f"of {x.shape[1]} dimensions one is left; use fewer rounds"]
        warnings += notes
        steps.append(projection)
        left = projection(left)
    return tuple(steps), tuple(warnings)


def _held_out(codes: Integers, seed: int) -> NDArray[np.bool_]:
    """Draw the rows whose accuracy ends the rounds: a share of each class that leaves one."""
    rng, held_out = np.random.default_rng(seed), np.zeros(len(codes), bool)
    for label in range(codes.max() + 1):
        places = rng.permutation(np.flatnonzero(codes == label))
        held_out[places[: min(int(np.ceil(HELD_OUT * len(places))), len(places) - 1)]] = True
    group_count = len(np.unique(codes[held_out]))
    if group_count < 2:
        raise WordbiasError(
            f"INLP: {'one' if group_count else 'no'} group has two rows or more; expected two such "
            "groups, as held-out rows of both end the rounds; give more rows, or use LEACE"
        )
    return held_out


def fit_vectors(
    x: NDArray[np.float64],
    labels: NDArray[np.intp],
    train: NDArray[np.intp],
    dev: NDArray[np.intp],
    *,
    rounds: int = ROUNDS,
    weights: str = "hard",
    classifier: str = "svm",
    as_published: bool = False,
    at_least: int = 0,
) -> tuple[Projection | None, Rounds]:
    """Fit INLP on vectors (n, d) and their classes (n,), 0 to K − 1; None at chance at once."""
    # `at_least` is the number of dimensions that are kept; by default removing all is an error.
    if rounds < 1:
        raise WordbiasError(f"rounds: expected at least 1, got {rounds}")
    if weights not in WEIGHTS:
        raise WordbiasError(f"weights {weights!r}: expected one of {', '.join(WEIGHTS)}")
    classes = len(np.unique(labels[dev]))  # those that chance is of: a rare one may not be there
    trained = learn(
        x,
        labels,
        train,
        dev,
        rounds=rounds,
        classifier=classifier,
        centre=not as_published,
        stop_at=None if as_published else 1 / classes + TOLERANCE,
        at_least=at_least,
    )
    hard = weights == "hard"
    shares = trained.information_weights(classes)
    if not shares.any():
        return None, trained
    subspace = Subspace(trained.basis, np.ones(len(shares)) if hard else shares)
    return Projection(subspace, hard), trained


class Round(NamedTuple):
    """Held-out balanced accuracy of a round's classifier, and number of directions it gave."""

    accuracy: float
    directions: int


@dataclass(frozen=True, eq=False)
class Rounds:
    """Directions and accuracies of all rounds."""

    basis: Matrix  # orthonormal rows, those of the first round first, shape `(k, d)`
    # rounds in order; the last gave no direction if its classifier was at chance
    rounds: tuple[Round, ...]

    @property
    def at_chance(self) -> bool:
        """True if the last classifier found no direction."""
        return self.rounds[-1].directions == 0

    def information_weights(self, classes: int) -> Matrix:
        """Return for every direction the `information_weight` of its round, shape ``(k,)``."""
        weights = [information_weight(inlp_round.accuracy, classes) for inlp_round in self.rounds]
        return np.repeat(weights, [inlp_round.directions for inlp_round in self.rounds])


def learn(
    x: Matrix,
    labels: Integers,
    train: Integers,
    dev: Integers,
    *,
    rounds: int,
    classifier: str = "svm",
    centre: bool = True,
    stop_at: float | None = None,
    at_least: int = 0,
) -> Rounds:
    """Find the directions that the classifiers of all rounds use.

    The published recipe sums the projections of all rounds and takes the row space of the sum, ``P
    = I − P_R(Σ P_R(W_i))``. The row space of a sum of projections is the span of theirs: one
    orthonormal basis that every round extends gives the same `P`, and keeps it a projection.
    """
    # Accuracy at or below `stop_at` ends the rounds; by default only a classifier that is zero up
    # to rounding does.
    x = x - x[train].mean(0) if centre else x
    solve = _solver(classifier, x[train], labels[train])
    silent = _SILENT / max(float(np.linalg.norm(x[train], axis=1).max()), 1.0)
    basis, trained = np.zeros((0, x.shape[1])), list[Round]()
    with blas_threads(1), progress("rounds", rounds, "round") as bar:
        while len(trained) < rounds and (not trained or trained[-1].directions):
            rest = complement(basis)
            w = solve(rest)
            accuracy = balanced_accuracy(labels[dev], predicted(x[dev] @ w.T))
            done = stop_at is not None and accuracy <= stop_at
            new = basis[:0] if done else row_space(w @ rest.T, silent) @ rest
            new = new[: len(rest) - at_least]
            basis = np.concatenate([basis, new])
            trained.append(Round(accuracy, len(new)))
            if len(basis) == basis.shape[1]:
                raise WordbiasError(
                    f"after {len(trained)} rounds none of the {len(basis)} dimensions is left, and "
                    f"every vector would be zero; ask for at most {len(trained) - 1} rounds"
                )
            bar.update()
    return Rounds(basis, tuple(trained))


def _solver(classifier: str, x: Matrix, labels: Integers) -> Callable[[Matrix], Matrix]:
    if classifier == "svm":
        return LinearSvm(x, labels).solve
    if classifier != "logistic":
        raise WordbiasError(f"classifier {classifier!r}: expected one of {', '.join(CLASSIFIERS)}")
    from sklearn.linear_model import LogisticRegression

    def solve(within: Matrix) -> Matrix:
        model = LogisticRegression(fit_intercept=False, max_iter=10_000)
        normals: Matrix = model.fit(x @ within.T, labels).coef_ @ within
        return normals

    return solve


def information_weight(accuracy: float, classes: int) -> float:
    """Return the weight of a round by its classifier: ``(K acc − 1) / (K − 1)``, within [0, 1].

    Dawkins (2021, section 5) proposes ``a_i = 1 − 2 acc_i`` for two classes. That is never positive
    for a classifier that is better than chance, and would add what it should remove. What is meant
    is ``2 acc_i − 1``: 0 at chance and 1 for a classifier that is always right. This is its form
    for any number of classes.
    """
    return float(np.clip((classes * accuracy - 1) / (classes - 1), 0, 1))


def row_space(w: Matrix, silent: float = 0.0) -> Matrix:
    """Return orthonormal rows, (r, d), that span the rows of `w` longer than `silent`."""
    _, s, vt = np.linalg.svd(w, full_matrices=False)
    spanned: Matrix = vt[s > max(silent, s[0] * max(w.shape) * _EPS)]
    return spanned


def complement(basis: Matrix) -> Matrix:
    """Return orthonormal rows, shape ``(d − k, d)``, that span the complement of a basis."""
    k, d = basis.shape
    if k == 0:
        return np.eye(d)
    rest: Matrix = np.linalg.qr(basis.T, mode="complete")[0][:, k:].T
    return rest


def _round_rows(
    embedding: Embedding, words: LabelledWords, rounds: Rounds, weights: str, classifier: str
) -> list[Row]:
    rows, removed, classes = [], 0, len(words.classes)
    for i, (accuracy, directions) in enumerate(rounds.rounds, 1):
        removed += directions
        weight = 1.0 if weights == "hard" else information_weight(accuracy, classes)
        details = {
            "round": i,
            "dimensions": removed,
            "weight": weight if directions else 0.0,
            "method": classifier,
            "n": len(words.dev),
            "neutral": 1 / classes,
            "better": "lower",
        }
        rows.append(Row(embedding.name, "inlp-accuracy", accuracy, details))
    return rows


def _warnings(trained: Rounds, classes: int, rounds: int) -> tuple[str, ...]:
    (removed, d), notes = trained.basis.shape, list[str]()
    if removed > LARGE_SHARE * d:
        notes.append(
            f"{removed} of {d} dimensions were removed, more than a quarter: other things that the "
            "vectors know went with them; fewer rounds, or fewer classes, remove fewer"
        )
    return (*notes, *unfinished(trained, classes, rounds))


def unfinished(trained: Rounds, classes: int, rounds: int) -> list[str]:
    """Return a warning if the classifier of the last round is still above chance."""
    last = trained.rounds[-1].accuracy
    if trained.at_chance or last <= 1 / classes + TOLERANCE:
        return []
    return [
        f"the classifier of the last of {rounds} rounds still had a held-out balanced accuracy of "
        f"{last:.3f}, where chance is {1 / classes:.3f}; ask for more rounds"
    ]
