"""Whether a fresh linear classifier can still tell the classes of words apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordbias.methods.classes import LabelledWords
from wordbias.methods.linear_svm import LinearSvm, predicted
from wordbias.results import Row
from wordbias.threads import blas_threads

CLASSIFIERS = ("svm", "logistic")
FOLDS = 5
_DIGITS = 9  # a score that is smaller is rounding, and says nothing

Matrix = NDArray[np.float64]
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
