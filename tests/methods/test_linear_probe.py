"""Fresh classifiers against sklearn's own, and what the probe's three sets are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.svm import LinearSVC

from wordbias.methods.classes import LabelledWords, split
from wordbias.methods.inlp import CLASSIFIERS, balanced_accuracy, probe, probe_rows, scores

pytestmark = pytest.mark.usefixtures("one_thread")

Matrix = NDArray[np.float64]
Integers = NDArray[np.intp]


MODELS = {
    "svm": LinearSVC(dual=False, tol=1e-9, max_iter=10_000),
    "logistic": LogisticRegression(max_iter=10_000),
}


def _clouds(classes: int, n: int = 240) -> tuple[Matrix, Integers]:
    rng = np.random.default_rng(classes)
    labels = np.sort(np.arange(n) % classes)
    return rng.normal(size=(n, 5)) + 3 + rng.normal(size=(classes, 5))[labels], labels


def test_balanced_accuracy_is_the_mean_over_classes() -> None:
    rng = np.random.default_rng(0)
    labels, found = np.sort(rng.choice(3, 50, p=[0.6, 0.3, 0.1])), rng.integers(3, size=50)
    expected = balanced_accuracy_score(labels, found)
    assert balanced_accuracy(labels, found) == pytest.approx(expected, abs=1e-15)
    assert balanced_accuracy(labels, np.zeros(50, np.intp)) == pytest.approx(1 / 3)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_they_are_sklearns_classifiers_with_an_intercept(classifier: str, classes: int) -> None:
    (x, labels), tested = _clouds(classes), _clouds(classes, 60)[0]
    model = clone(MODELS[classifier]).fit(x, labels)
    expected = model.decision_function(tested).reshape(60, -1)
    found = scores(classifier, x, labels, tested)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_the_three_sets(classifier: str, classes: int) -> None:
    """By sklearn: on the fitted words, from them on the others, and five-fold on the others."""
    x, labels = _clouds(classes)
    train, dev, test = split(labels, np.random.default_rng(0))
    model = clone(MODELS[classifier]).fit(x[train], labels[train])
    fold = np.concatenate([np.arange(sum(labels[test] == c)) % 5 for c in range(classes)])
    crossed = cross_val_predict(MODELS[classifier], x[test], labels[test], cv=PredefinedSplit(fold))
    expected = {
        "fitted": (balanced_accuracy_score(labels[train], model.predict(x[train])), len(train)),
        "test": (balanced_accuracy_score(labels[test], model.predict(x[test])), len(test)),
        "unseen": (balanced_accuracy_score(labels[test], crossed), len(test)),
    }
    found = probe(classifier, x, labels, train, test)
    assert list(found) == list(expected)
    for which, (accuracy, n) in expected.items():
        assert found[which] == (pytest.approx(accuracy, abs=1e-15), n)
    assert len(dev)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_where_the_classes_are_the_same_words_the_answer_is_constant(
    classifier: str, classes: int
) -> None:
    """Rounding would make a classifier guess; it must be exactly at chance."""
    x = np.tile(np.random.default_rng(1).normal(size=(40, 6)), (classes, 1))
    labels = np.repeat(np.arange(classes), 40)
    everyone = np.arange(len(x))
    found = probe(classifier, x, labels, everyone, everyone)
    assert found["fitted"][0] == found["test"][0] == pytest.approx(1 / classes, abs=1e-15)


def _words(labels: Integers, classes: int) -> LabelledWords:
    names = tuple(f"w{i}" for i in range(len(labels)))
    parts = split(labels, np.random.default_rng(0))
    return LabelledWords(names, np.arange(len(labels)), labels, tuple("abc"[:classes]), *parts)


def test_a_row_for_each_classifier_stage_and_set() -> None:
    x, labels = _clouds(3)
    words = _words(labels, 3)
    before = x.copy()
    rows = probe_rows("toy", x, np.zeros_like(x), words, words.train)
    np.testing.assert_array_equal(x, before)
    keys = [(r.details["classifier"], r.details["stage"], r.details["set"]) for r in rows]
    stages, sets = ("before", "after"), ("fitted", "test", "unseen")
    assert keys == [(c, s, w) for c in CLASSIFIERS for s in stages for w in sets]
    for row in rows:
        assert (row.subject, row.measure) == ("toy", "probe-accuracy")
        assert (row.details["neutral"], row.details["better"]) == (1 / 3, "lower")
        assert row.details["n"] == len(
            words.train if row.details["set"] == "fitted" else words.test
        )
        expected = probe(row.details["classifier"], x, labels, words.train, words.test)
        if row.details["stage"] == "before":
            assert row.value == expected[row.details["set"]][0]
        else:
            assert row.value == pytest.approx(1 / 3, abs=1e-15)
