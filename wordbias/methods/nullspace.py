"""Iterative nullspace projection on arrays (Ravfogel et al. 2020, *Null It Out*, algorithm 1).

Each round trains a linear classifier on what the rounds before left, and removes the directions it
reads the classes by: the row space of its normal vectors `W`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.methods.linear_probe import CLASSIFIERS, balanced_accuracy
from wordbias.methods.linear_svm import LinearSvm, predicted
from wordbias.progress import progress
from wordbias.threads import blas_threads

_EPS = float(np.finfo(float).eps)
_SILENT = float(np.sqrt(_EPS))

Matrix = NDArray[np.float64]
Integers = NDArray[np.intp]


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
