r"""INLP: iterative nullspace projection (Ravfogel et al. 2020), and its information-weighted form.

The words the classifiers learn from are labelled by the embedding itself, see
`wordbias.methods.classes`; the rounds are those of `wordbias.methods.inlp.learn`.

Iterative nullspace projection on arrays (Ravfogel et al. 2020, *Null It Out*, algorithm 1).

Each round trains a linear classifier on what the rounds before left, and removes the directions it
reads the classes by: the row space of its normal vectors `W`.

Whether a fresh linear classifier can still tell the classes of words apart.

Linear support vector machines, one class against the rest, in ever smaller subspaces.

.. math:: \min_w \; \tfrac12 \|w\|^2 + C \sum_i \max(0,\, 1 - y_i \langle w, x_i\rangle)^2

is what sklearn's ``LinearSVC(fit_intercept=False, dual=False)`` minimises. The function is convex,
and quadratic wherever the words within the margin (the active ones) stay the same, so that Newton's
method with an exact line search ends after a few steps (Keerthi and DeCoste 2005, *A Modified
Finite Newton Method for Fast Solution of Large Scale Linear SVMs*). Its Hessian
``I + 2C Σ_active x xᵀ`` is not summed anew each time: words that enter or leave the active set are
added or taken away, and for a subspace it is projected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import blas_threads
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.classes import LabelledWords, default_classes, labelled_words
from wordbias.methods.fitted import Fitted
from wordbias.methods.transform import Projection
from wordbias.methods.words import as_embedding, as_groups
from wordbias.progress import progress
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, WordGroups

STEPS = 100
_PRECISION = 1e4 * float(np.finfo(float).eps)

Matrix = NDArray[np.float64]


class LinearSvm:
    """The same words and classes, to be told apart in one subspace after the other.

    Parameters
    ----------
    x
        Vectors, shape ``(n, d)``.
    labels
        Their classes, 0 to K − 1, shape ``(n,)``.
    cost
        `C`, the cost of a word within the margin.

    Raises
    ------
    WordbiasError
        If there is but one class, or a vector is not finite.
    """

    signs: Matrix

    def __init__(self, x: Matrix, labels: NDArray[np.intp], cost: float = 1.0) -> None:
        gram = 2 * cost * (x.T @ x)
        if not np.isfinite(gram).all():
            raise WordbiasError(f"{len(x)} vectors to be told apart are not all finite")
        self.x = x
        self.cost = cost
        self.signs = one_against_the_rest(labels)
        self._active = np.ones(self.signs.shape, bool)
        self._hessians = np.stack([gram] * len(self.signs))
        self._accuracy = _PRECISION * 2 * cost * float(np.linalg.norm(x, axis=1).sum())

    def solve(self, within: Matrix | None = None) -> Matrix:
        """Return the normal vectors of the best hyperplanes, shape ``(1 or K, d)``.

        Starts from the words that were active when the last subspace was solved.

        Parameters
        ----------
        within
            Orthonormal rows, shape ``(m, d)``: only what lies in their span is seen. By default
            everything.

        Raises
        ------
        WordbiasError
            If the optimum is not reached.
        """
        basis = np.eye(self.x.shape[1]) if within is None else within
        w = np.stack([self._optimum_of_the_active(k, basis) for k in range(len(self.signs))])
        f = self.signs * (w @ self.x.T)
        for _ in range(STEPS):
            self._activate(f < 1)
            gradient = w - 2 * self.cost * (self.signs * np.maximum(1 - f, 0)) @ self.x
            gradient = gradient @ basis.T
            todo = np.flatnonzero(np.linalg.norm(gradient, axis=1) > self._accuracy)
            if not len(todo):
                return w
            p = np.stack([self._newton(k, -gradient[k], basis) for k in todo.tolist()])
            along = self.signs[todo] * (p @ self.x.T)
            for k, direction, a in zip(todo.tolist(), p, along, strict=True):
                t = best_step(1 - f[k], a, w[k] @ direction, direction @ direction, self.cost)
                w[k] += t * direction
                f[k] += t * a
        raise self._stuck()

    def _optimum_of_the_active(self, k: int, basis: Matrix) -> Matrix:
        pull = 2 * self.cost * (self.signs[k] * self._active[k]) @ self.x
        return self._newton(k, basis @ pull, basis)

    def _newton(self, k: int, downhill: Matrix, basis: Matrix) -> Matrix:
        """Solve with the Hessian of problem `k` in the span of a basis."""
        hessian = basis @ self._hessians[k] @ basis.T
        hessian[np.diag_indices_from(hessian)] += 1
        try:
            step: Matrix = np.linalg.solve(hessian, downhill) @ basis
        except np.linalg.LinAlgError:
            raise self._stuck() from None
        return step

    def _activate(self, active: NDArray[np.bool_]) -> None:
        """Add words that became active to the Hessians, take away those that no longer are."""
        for k, now in enumerate(active):
            for sign, changed in ((1, now & ~self._active[k]), (-1, self._active[k] & ~now)):
                if changed.any():
                    rows = self.x[changed]
                    self._hessians[k] += sign * 2 * self.cost * (rows.T @ rows)
        self._active = active

    def _stuck(self) -> WordbiasError:
        return WordbiasError(
            f"the support vector machine found no optimum on vectors of shape {self.x.shape}, the "
            f"longest of length {np.linalg.norm(self.x, axis=1).max():.3g}; bring them to ordinary "
            "length"
        )


def one_against_the_rest(labels: NDArray[np.intp]) -> Matrix:
    """Return +1 for the words of a class and −1 for the others, shape ``(K, n)``.

    Of two classes one is the other's rest: shape ``(1, n)``, +1 for the second, as in sklearn.
    """
    classes = np.unique(labels)
    if len(classes) < 2:
        raise WordbiasError(f"expected words of at least two classes, got {len(classes)}")
    signs: Matrix = np.where(labels == classes[:, None], 1.0, -1.0)
    return signs[1:] if len(classes) == 2 else signs


def predicted(scores: Matrix) -> NDArray[np.intp]:
    """Return the class by scores of shape ``(n, 1 or K)``: by the sign of one, the best of many."""
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.intp)
    best: NDArray[np.intp] = scores.argmax(1)
    return best


def best_step(slack: Matrix, along: Matrix, slope: float, curve: float, cost: float) -> float:
    """Minimise along a line that descends, exactly.

    The derivative by `t` of the objective at ``w + t p`` is
    ``⟨w, p⟩ + t⟨p, p⟩ − 2C Σ a_i max(0, s_i − t a_i)``. It grows, and it is linear between the
    places ``s_i / a_i`` where a word crosses the margin.

    Parameters
    ----------
    slack
        ``s_i = 1 − y_i⟨w, x_i⟩``, shape ``(n,)``.
    along
        ``a_i = y_i⟨p, x_i⟩``, shape ``(n,)``.
    slope, curve
        ``⟨w, p⟩`` and ``⟨p, p⟩``.
    cost
        `C`.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        place = slack / along
    crossing = np.flatnonzero((place > 0) & np.isfinite(place))
    crossing = crossing[np.argsort(place[crossing], kind="stable")]
    inside = (slack > 0) | ((slack == 0) & (along < 0))
    s, a, place = slack[crossing], along[crossing], place[crossing]
    enters = np.where(inside[crossing], -1.0, 1.0)
    start = np.concatenate([[-(along[inside] @ slack[inside])], -enters * a * s])
    growth = np.concatenate([[along[inside] @ along[inside]], enters * a * a])
    start = slope + 2 * cost * np.cumsum(start)
    growth = curve + 2 * cost * np.cumsum(growth)
    passed = start[:-1] + growth[:-1] * place >= 0
    piece = int(np.argmax(passed)) if passed.any() else len(place)
    return float(-start[piece] / growth[piece])


CLASSIFIERS = ("svm", "logistic")
FOLDS = 5
_DIGITS = 9  # a score that is smaller is rounding, and says nothing

Integers = NDArray[np.intp]


def balanced_accuracy(labels: Integers, found: Integers) -> float:
    """Mean over the classes of the share of their words that are recognised."""
    shares = [float((found[labels == label] == label).mean()) for label in np.unique(labels)]
    return float(np.mean(shares))


def scores(classifier: str, x: Matrix, labels: Integers, tested: Matrix) -> Matrix:
    """Train a classifier with an intercept and return its scores, shape ``(m, 1 or K)``.

    Parameters
    ----------
    classifier
        ``svm``: the optimum of sklearn's ``LinearSVC(dual=False)``; ``logistic``: sklearn's
        ``LogisticRegression()``.
    x, labels
        To learn from, shapes ``(n, d)`` and ``(n,)``.
    tested
        To be scored, shape ``(m, d)``.
    """
    if classifier == "svm":
        normals = LinearSvm(_with_one(x), labels).solve()
        scored: Matrix = _with_one(tested) @ normals.T
        return scored
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=10_000).fit(x, labels)
    return np.asarray(model.decision_function(tested), float).reshape(len(tested), -1)


def probe(
    classifier: str, x: Matrix, labels: Integers, fitted: Integers, test: Integers
) -> dict[str, tuple[float, int]]:
    """Measure balanced accuracy on three sets of words, and how many they are.

    Parameters
    ----------
    classifier
        One of `CLASSIFIERS`.
    x, labels
        Words and their classes, shapes ``(n, d)`` and ``(n,)``.
    fitted
        Places of the words that a method was fitted on.
    test
        Places of words that it has not seen.

    Returns
    -------
    dict
        ``fitted``: learned from the fitted words and tested on them. ``test``: learned from them
        and tested on the held-out words. ``unseen``: learned from held-out words as well, in
        five-fold cross-validation, the hardest of the three: a method can empty the words it sees
        of what a classifier would learn from, and leave it in others.
    """
    learned = scores(classifier, x[fitted], labels[fitted], x[np.concatenate([fitted, test])])
    found = _decided(learned)
    on_fitted, on_test = found[: len(fitted)], found[len(fitted) :]
    return {
        "fitted": (balanced_accuracy(labels[fitted], on_fitted), len(fitted)),
        "test": (balanced_accuracy(labels[test], on_test), len(test)),
        "unseen": (_cross_validated(classifier, x[test], labels[test]), len(test)),
    }


def probe_rows(
    subject: str, before: Matrix, after: Matrix, words: LabelledWords, fitted: Integers
) -> list[Row]:
    """Probe labelled words with every classifier before and after a method was applied."""
    rows = []
    with blas_threads(1):
        for classifier in CLASSIFIERS:
            for stage, x in (("before", before), ("after", after)):
                found = probe(classifier, x, words.labels, fitted, words.test)
                for which, (accuracy, n) in found.items():
                    details = {"stage": stage, "classifier": classifier, "set": which, "n": n}
                    said = {**details, "neutral": 1 / len(words.classes), "better": "lower"}
                    rows.append(Row(subject, "probe-accuracy", accuracy, said))
    return rows


def _cross_validated(classifier: str, x: Matrix, labels: Integers) -> float:
    """Recognise every fifth word of each class by what the others teach."""
    fold, found = np.empty_like(labels), np.empty_like(labels)
    for label in np.unique(labels):
        fold[labels == label] = np.arange((labels == label).sum()) % FOLDS
    for part in np.unique(fold):
        held = fold == part
        found[held] = _decided(scores(classifier, x[~held], labels[~held], x[held]))
    return balanced_accuracy(labels, found)


def _decided(scored: Matrix) -> Integers:
    return predicted(np.round(scored, _DIGITS))


def _with_one(x: Matrix) -> Matrix:
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


_EPS = float(np.finfo(float).eps)
_SILENT = float(np.sqrt(_EPS))


class Round(NamedTuple):
    """Held-out balanced accuracy of a round's classifier, and how many directions it gave."""

    accuracy: float
    directions: int


@dataclass(frozen=True, eq=False)
class Rounds:
    """What the rounds found.

    Attributes
    ----------
    basis
        Orthonormal rows, those of the first round first, shape ``(k, d)``.
    rounds
        In order; the last gave no direction if its classifier was at chance.
    """

    basis: Matrix
    rounds: tuple[Round, ...]

    @property
    def at_chance(self) -> bool:
        """Whether the last classifier found nothing to go by."""
        return self.rounds[-1].directions == 0

    def information_weights(self, classes: int) -> Matrix:
        """Give every direction the `information_weight` of its round, shape ``(k,)``."""
        weights = [information_weight(one.accuracy, classes) for one in self.rounds]
        return np.repeat(weights, [one.directions for one in self.rounds])


def learn(
    x: Matrix,
    labels: Integers,
    train: Integers,
    dev: Integers,
    *,
    iterations: int,
    classifier: str = "svm",
    center: bool = True,
    stop_at: float | None = None,
    at_least: int = 0,
) -> Rounds:
    """Find the directions that round after round of classifiers read the classes by.

    The published recipe sums the projections of all rounds and takes the row space of the sum,
    ``P = I − P_R(Σ P_R(W_i))``. The row space of a sum of projections is the span of theirs, so one
    orthonormal basis that every round extends gives the same `P`, and keeps it a projection.

    Parameters
    ----------
    x, labels
        Words and their classes, shapes ``(n, d)`` and ``(n,)``.
    train, dev
        Places of the words to train on, and to measure the balanced accuracy on.
    iterations
        Rounds at most.
    classifier
        ``svm`` or ``logistic``, without an intercept.
    center
        Train on the vectors less the mean of the training words.
    stop_at
        The first classifier that is not more accurate ends the rounds, and its directions are not
        removed. By default only a classifier that is zero but for rounding does.
    at_least
        Dimensions that no round takes away.

    Raises
    ------
    WordbiasError
        If no dimension is left.
    """
    x = x - x[train].mean(0) if center else x
    solve = _solver(classifier, x[train], labels[train])
    silent = _SILENT / max(float(np.linalg.norm(x[train], axis=1).max()), 1.0)
    basis, rounds = np.zeros((0, x.shape[1])), list[Round]()
    with blas_threads(1), progress("rounds", iterations, "round") as bar:
        while len(rounds) < iterations and (not rounds or rounds[-1].directions):
            rest = complement(basis)
            w = solve(rest)
            accuracy = balanced_accuracy(labels[dev], predicted(x[dev] @ w.T))
            done = stop_at is not None and accuracy <= stop_at
            new = basis[:0] if done else row_space(w @ rest.T, silent) @ rest
            new = new[: len(rest) - at_least]
            basis = np.concatenate([basis, new])
            rounds.append(Round(accuracy, len(new)))
            if len(basis) == basis.shape[1]:
                raise WordbiasError(
                    f"after {len(rounds)} rounds none of the {len(basis)} dimensions is left, and "
                    f"every vector would be zero; ask for at most {len(rounds) - 1} iterations"
                )
            bar.update()
    return Rounds(basis, tuple(rounds))


def information_weight(accuracy: float, classes: int) -> float:
    """Weigh a round's directions by what its classifier knows: ``(K acc − 1) / (K − 1)`` in [0, 1].

    Dawkins (2021, section 5) proposes ``a_i = 1 − 2 acc_i`` for two classes. That is never positive
    for a classifier that is better than chance, and would add what it should remove; meant is
    ``2 acc_i − 1``: 0 at chance and 1 for a classifier that is always right. This is the same for
    any number of classes.

    Parameters
    ----------
    accuracy
        Balanced, on held-out words.
    classes
        How many, `K`.
    """
    return float(np.clip((classes * accuracy - 1) / (classes - 1), 0, 1))


def row_space(w: Matrix, silent: float = 0.0) -> Matrix:
    """Return orthonormal rows, shape ``(r, d)``, that span the rows of `w`.

    Parameters
    ----------
    w
        Shape ``(K, d)``, of any rank.
    silent
        A direction no longer than that is none.
    """
    _, s, vt = np.linalg.svd(w, full_matrices=False)
    spanned: Matrix = vt[s > max(silent, s[0] * max(w.shape) * _EPS)]
    return spanned


def complement(basis: Matrix) -> Matrix:
    """Return orthonormal rows, shape ``(d − k, d)``, that span what is orthogonal to a basis."""
    k, d = basis.shape
    if k == 0:
        return np.eye(d)
    rest: Matrix = np.linalg.qr(basis.T, mode="complete")[0][:, k:].T
    return rest


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
