"""Linear classifiers: support vector machines in ever smaller subspaces, and a probe with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import blas_threads
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.methods.classes import LabelledWords
from wordbias.results import Row

CLASSIFIERS = ("svm", "logistic")
FOLDS = 5
STEPS = 1_000
"""Most Newton steps. Vectors of ordinary length need a few, those of static models a few hundred:
their lengths are weights, and go beyond a hundred."""
_DIGITS = 9  # a smaller score is rounding
_PRECISION = 1e4 * float(np.finfo(float).eps)
Matrix = NDArray[np.float64]
Integers = NDArray[np.intp]


# probe: can a fresh classifier still tell the classes apart?


def probe_rows(
    subject: str, before: Matrix, after: Matrix, words: LabelledWords, fitted: Integers
) -> list[Row]:
    """Probe labelled words with every classifier before and after a method was applied."""
    rows = []
    with blas_threads(1):
        for classifier in CLASSIFIERS:
            for stage, x in (("before", before), ("after", after)):
                probed = probe(classifier, x, words.labels, fitted, words.test)
                for name, (accuracy, n) in probed.items():
                    details = {"stage": stage, "method": classifier, "set": name, "n": n}
                    details |= ideal("probe-accuracy", 1 / len(words.classes))
                    rows.append(Row(subject, "probe-accuracy", accuracy, details))
    return rows


def probe(
    classifier: str, x: Matrix, labels: Integers, fitted: Integers, test: Integers
) -> dict[str, tuple[float, int]]:
    """Return balanced accuracy and number of words on three sets of words."""
    # `fitted`: trained and tested on the fitted words. `test`: tested on the held-out words.
    # `unseen`: trained on held-out words too, in five-fold cross-validation. That is the hardest of
    # the three: a method may remove what a classifier learns from in the words it is fitted on, and
    # leave it in others.
    predictions = _classified(
        classifier, x[fitted], labels[fitted], x[np.concatenate([fitted, test])]
    )
    on_fitted, on_test = predictions[: len(fitted)], predictions[len(fitted) :]
    return {
        "fitted": (balanced_accuracy(labels[fitted], on_fitted), len(fitted)),
        "test": (balanced_accuracy(labels[test], on_test), len(test)),
        "unseen": (_cross_validated(classifier, x[test], labels[test]), len(test)),
    }


def _cross_validated(classifier: str, x: Matrix, labels: Integers) -> float:
    """Return the balanced accuracy of cross-validation, every fifth word of a class in one fold."""
    fold, predictions = np.empty_like(labels), np.empty_like(labels)
    for label in np.unique(labels):
        fold[labels == label] = np.arange((labels == label).sum()) % FOLDS
    for part in np.unique(fold):
        held = fold == part
        predictions[held] = _classified(classifier, x[~held], labels[~held], x[held])
    return balanced_accuracy(labels, predictions)


def scores(classifier: str, x: Matrix, labels: Integers, tested: Matrix) -> Matrix:
    """Train a classifier with an intercept and return its scores, shape ``(m, 1 or K)``."""
    # `svm` is the optimum of sklearn's LinearSVC(dual=False), `logistic` sklearn's
    # LogisticRegression().
    if classifier == "svm":
        normals = LinearSvm(_with_one(x), labels).solve()
        scored: Matrix = _with_one(tested) @ normals.T
        return scored
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=10_000).fit(x, labels)
    return np.asarray(model.decision_function(tested), float).reshape(len(tested), -1)


def predicted(scores: Matrix) -> NDArray[np.intp]:
    """Return classes by scores, shape ``(n, 1 or K)``: the sign of one score, the best of many."""
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.intp)
    best: NDArray[np.intp] = scores.argmax(1)
    return best


def _classified(classifier: str, x: Matrix, labels: Integers, tested: Matrix) -> Integers:
    return predicted(np.round(scores(classifier, x, labels, tested), _DIGITS))


def balanced_accuracy(labels: Integers, predictions: Integers) -> float:
    """Mean over the classes of the share of their words that are classified correctly."""
    shares = [float((predictions[labels == label] == label).mean()) for label in np.unique(labels)]
    return float(np.mean(shares))


def _with_one(x: Matrix) -> Matrix:
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


# support vector machine


class LinearSvm:
    r"""Linear support vector machines of the same words in one subspace after the other.

    .. math:: \min_w \; \tfrac12 \|w\|^2 + C \sum_i \max(0,\, 1 - y_i \langle w, x_i\rangle)^2

    is what sklearn's ``LinearSVC(fit_intercept=False, dual=False)`` minimises. The function is
    convex, and quadratic wherever the words within the margin (the active ones) stay the same:
    Newton's method with an exact line search ends after a few steps (Keerthi and DeCoste 2005, *A
    Modified Finite Newton Method for Fast Solution of Large Scale Linear SVMs*). Its Hessian ``I +
    2C Σ_active x xᵀ`` is not summed anew each time: words that enter or leave the active set are
    added or taken away, and for a subspace it is projected.
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
        """Return the normal vectors of the best hyperplanes, shape ``(1 or K, d)``."""
        # Starts from the words that were active when the last subspace was solved. `within` has
        # orthonormal rows, (m, d), that span the subspace.
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
    """Return +1 for the words of a class and −1 for the others, shape ``(K, n)``."""
    # For two classes the shape is (1, n), with +1 for the second, as in sklearn.
    classes = np.unique(labels)
    if len(classes) < 2:
        raise WordbiasError(f"expected words of at least two classes, got {len(classes)}")
    signs: Matrix = np.where(labels == classes[:, None], 1.0, -1.0)
    return signs[1:] if len(classes) == 2 else signs


def best_step(slack: Matrix, along: Matrix, slope: float, curve: float, cost: float) -> float:
    """Return the exact minimum `t` along a descending line.

    The derivative by `t` of the objective at ``w + t p`` is ``⟨w, p⟩ + t⟨p, p⟩ − 2C Σ a_i max(0,
    s_i − t a_i)``, with ``s_i = 1 − y_i⟨w, x_i⟩`` and ``a_i = y_i⟨p, x_i⟩``. It grows, and it is
    linear between the places ``s_i / a_i`` where a word crosses the margin.
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
