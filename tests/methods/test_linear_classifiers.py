"""Linear classifiers against sklearn's own: optimality, warm starts, the three sets of a probe."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from quick_cases import examples
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.svm import LinearSVC

from wordbias import Attribute, Embedding, WordbiasError
from wordbias.methods import linear_classifiers
from wordbias.methods.classes import LabelledWords, labelled_words, split
from wordbias.methods.linear_classifiers import (
    CLASSIFIERS,
    LinearSvm,
    balanced_accuracy,
    best_step,
    one_against_the_rest,
    predicted,
    probe,
    probe_rows,
    scores,
)

pytestmark = pytest.mark.usefixtures("one_thread")

Matrix = NDArray[np.float64]
Integers = NDArray[np.intp]
Problem = tuple[Matrix, Integers]


def _clouds(n: int, d: int, classes: int, apart: float, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    return rng.normal(size=(n, d)) + rng.normal(scale=apart, size=(classes, d))[labels], labels


def _real(classes: int) -> Problem:
    sample = Embedding.sample()
    words = labelled_words(sample, Attribute.load(), classes=classes, per_class=300)
    return words.vectors(sample), words.labels


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "two, overlapping": lambda: _clouds(200, 6, 2, 0.3),
    "two, apart": lambda: _clouds(200, 6, 2, 4),
    "three, overlapping": lambda: _clouds(201, 7, 3, 0.3),
    "five": lambda: _clouds(200, 4, 5, 1),
    "fewer words than dimensions": lambda: _clouds(20, 50, 3, 0.1),
    "far from the origin": lambda: (_clouds(200, 6, 2, 0.5)[0] + 20, np.arange(200) % 2),
    "two, real words": lambda: _real(2),
    "three, real words": lambda: _real(3),
}


def _objective(w: Matrix, x: Matrix, y: Matrix, cost: float) -> tuple[float, Matrix]:
    """Value and gradient for one hyperplane, word by word from the definition."""
    value, gradient = 0.5 * float(w @ w), w.copy()
    for row, sign in zip(x, y, strict=True):
        slack = 1 - sign * float(w @ row)
        if slack > 0:
            value += cost * slack**2
            gradient -= 2 * cost * sign * slack * row
    return value, gradient


def _rounding(x: Matrix, cost: float) -> float:
    """Bound rounding in a gradient: `n` terms no longer than 2C‖x‖(1 + |margin|)."""
    return (
        1e2
        * len(x)
        * float(np.finfo(float).eps)
        * 2
        * cost
        * float(np.linalg.norm(x, axis=1).sum())
    )


@pytest.mark.parametrize("cost", [1.0, 0.03])
@pytest.mark.parametrize("name", PROBLEMS)
def test_it_is_the_optimum_that_sklearn_comes_near(name: str, cost: float) -> None:
    """The objective is 1-strongly convex: two points are no farther apart than ‖∇₁‖ + ‖∇₂‖."""
    x, labels = PROBLEMS[name]()
    model = LinearSVC(C=cost, fit_intercept=False, dual=False, tol=1e-9, max_iter=10_000)
    theirs = model.fit(x, labels).coef_
    ours = LinearSvm(x, labels, cost).solve()
    assert ours.shape == theirs.shape
    for w, v, y in zip(ours, theirs, one_against_the_rest(labels), strict=True):
        (value, gradient), (their_value, their_gradient) = (
            _objective(u, x, y, cost) for u in (w, v)
        )
        slope, their_slope = np.linalg.norm(gradient), np.linalg.norm(their_gradient)
        assert slope <= _rounding(x, cost)
        assert np.linalg.norm(w - v) <= slope + their_slope
        np.testing.assert_allclose(w, v, rtol=0, atol=1e-4 * np.linalg.norm(w))
        assert value <= their_value * (1 + len(x) * 2**-52)
    np.testing.assert_array_equal(predicted(x @ ours.T), model.predict(x))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_optimum_is_found_for_long_vectors_too(classes: int) -> None:
    """Those of static models are so long; no optimum is farther away than the gradient is long."""
    x, labels = _real(classes)
    x = x * (60 * np.exp(np.random.default_rng(0).normal(size=len(x))))[:, None]
    for w, y in zip(LinearSvm(x, labels).solve(), one_against_the_rest(labels), strict=True):
        assert np.linalg.norm(_objective(w, x, y, 1.0)[1]) <= _rounding(x, 1.0)


@pytest.mark.parametrize("classes", [2, 3])
def test_in_a_subspace_it_is_the_optimum_for_projected_words(classes: int) -> None:
    x, labels = _clouds(300, 8, classes, 0.8)
    svm = LinearSvm(x, labels)
    rest = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    for m in (8, 7, 5, 2, 1, 6):  # down, and up again: where it starts from does not matter
        within = rest[:m]
        warm = svm.solve(within)
        cold = LinearSvm(x @ within.T, labels).solve() @ within
        bound = 2 * _rounding(x, 1.0)
        np.testing.assert_allclose(warm, cold, rtol=0, atol=bound)
        np.testing.assert_allclose(warm @ within.T @ within, warm, rtol=0, atol=1e-13)


def test_solving_again_changes_nothing() -> None:
    x, labels = PROBLEMS["three, overlapping"]()
    svm = LinearSvm(x, labels)
    np.testing.assert_allclose(svm.solve(), svm.solve(), rtol=0, atol=2 * _rounding(x, 1.0))


def test_the_vectors_of_the_caller_do_not_change() -> None:
    x, labels = _clouds(60, 4, 3, 1)
    before = x.copy()
    x.flags.writeable = labels.flags.writeable = False
    LinearSvm(x, labels).solve(np.eye(4)[:2])
    np.testing.assert_array_equal(x, before)


def test_words_without_any_vector_have_no_hyperplane() -> None:
    assert not LinearSvm(np.zeros((10, 3)), np.arange(10) % 2).solve().any()


def test_turning_the_space_turns_the_hyperplanes() -> None:
    x, labels = PROBLEMS["three, overlapping"]()
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(7, 7)))[0]
    turned, w = LinearSvm(x @ turn, labels).solve(), LinearSvm(x, labels).solve()
    np.testing.assert_allclose(turned, w @ turn, rtol=0, atol=4 * _rounding(x, 1.0))


numbers = st.floats(-8, 8, allow_subnormal=False, width=32)


@settings(max_examples=examples(100), deadline=None)
@given(
    arrays(np.float64, st.just((12, 2)), elements=numbers),
    st.floats(0.125, 5),
    st.floats(0.01, 10),
)
def test_a_step_is_exact(lines: Matrix, curve: float, cost: float) -> None:
    """Where the derivative, a sum over words, is zero; before it is negative, after it positive."""
    slack, along = lines.T

    def derivative(t: float, slope: float) -> float:
        left = np.maximum(slack - t * along, 0)
        return float(slope + t * curve - 2 * cost * (along @ left))

    slope = -1.0 - derivative(0, 0)  # so that it descends
    t = best_step(slack, along, slope, curve, cost)
    size = 1 + abs(slope) + 2 * cost * float(np.abs(along) @ (np.abs(slack) + abs(t * along)))
    noise = 100 * np.finfo(float).eps * (size + abs(t) * curve)
    assert t > 0
    assert abs(derivative(t, slope)) <= noise
    assert derivative(t / 2, slope) <= noise
    assert derivative(2 * t, slope) >= -4 * noise


def test_signs_are_one_against_the_rest() -> None:
    three = one_against_the_rest(np.array([0, 1, 2, 1]))
    assert three.tolist() == [[1, -1, -1, -1], [-1, 1, -1, 1], [-1, -1, 1, -1]]
    assert one_against_the_rest(np.array([0, 1, 1])).tolist() == [[-1, 1, 1]]


def test_the_class_is_the_side_or_the_best() -> None:
    assert predicted(np.array([[0.5], [-0.5], [0.0]])).tolist() == [1, 0, 0]
    assert predicted(np.array([[0.5, 1, 2], [3, 2, 1], [0, 1, 1]])).tolist() == [2, 0, 1]


def test_one_class_is_refused() -> None:
    with pytest.raises(WordbiasError, match="expected words of at least two classes, got 1"):
        LinearSvm(np.ones((3, 2)), np.zeros(3, np.intp))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_vectors_that_are_not_finite_are_refused(bad: float) -> None:
    x, labels = _clouds(20, 3, 2, 1)
    x[4, 1] = bad
    with np.errstate(invalid="ignore"), pytest.raises(WordbiasError, match="not all finite"):
        LinearSvm(x, labels)


def test_lengths_that_drown_the_regulariser_are_refused() -> None:
    """`I + 2C Σ x xᵀ` is singular to rounding where Σ x xᵀ is, and 1e30 long."""
    x = np.outer(np.array([1.0, -1, 1, -1]), np.ones(5)) * 1e15
    x[0, 0] *= 1.5
    with pytest.raises(WordbiasError, match=r"no optimum on vectors of shape \(4, 5\).*length"):
        LinearSvm(x, np.array([0, 1, 1, 0])).solve()


def test_no_optimum_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    x, labels = PROBLEMS["two, apart"]()
    monkeypatch.setattr(linear_classifiers, "STEPS", 1)
    with pytest.raises(WordbiasError, match="the longest of length"):
        LinearSvm(x, labels).solve()


# probe


MODELS = {
    "svm": LinearSVC(dual=False, tol=1e-9, max_iter=10_000),
    "logistic": LogisticRegression(max_iter=10_000),
}


def _shifted_clouds(classes: int, n: int = 240) -> tuple[Matrix, Integers]:
    rng = np.random.default_rng(classes)
    labels = np.sort(np.arange(n) % classes)
    return rng.normal(size=(n, 5)) + 3 + rng.normal(size=(classes, 5))[labels], labels


def test_balanced_accuracy_is_the_mean_over_classes() -> None:
    rng = np.random.default_rng(0)
    labels, guesses = np.sort(rng.choice(3, 50, p=[0.6, 0.3, 0.1])), rng.integers(3, size=50)
    expected = balanced_accuracy_score(labels, guesses)
    assert balanced_accuracy(labels, guesses) == pytest.approx(expected, abs=1e-15)
    assert balanced_accuracy(labels, np.zeros(50, np.intp)) == pytest.approx(1 / 3)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_they_are_sklearns_classifiers_with_an_intercept(classifier: str, classes: int) -> None:
    (x, labels), tested = _shifted_clouds(classes), _shifted_clouds(classes, 60)[0]
    model = clone(MODELS[classifier]).fit(x, labels)
    expected = model.decision_function(tested).reshape(60, -1)
    decisions = scores(classifier, x, labels, tested)
    np.testing.assert_allclose(decisions, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_the_three_sets(classifier: str, classes: int) -> None:
    """By sklearn: on the fitted words, from them on the others, and five-fold on the others."""
    x, labels = _shifted_clouds(classes)
    train, dev, test = split(labels, np.random.default_rng(0))
    model = clone(MODELS[classifier]).fit(x[train], labels[train])
    fold = np.concatenate([np.arange(sum(labels[test] == c)) % 5 for c in range(classes)])
    crossed = cross_val_predict(MODELS[classifier], x[test], labels[test], cv=PredefinedSplit(fold))
    expected = {
        "fitted": (balanced_accuracy_score(labels[train], model.predict(x[train])), len(train)),
        "test": (balanced_accuracy_score(labels[test], model.predict(x[test])), len(test)),
        "unseen": (balanced_accuracy_score(labels[test], crossed), len(test)),
    }
    probed = probe(classifier, x, labels, train, test)
    assert list(probed) == list(expected)
    for which, (accuracy, n) in expected.items():
        assert probed[which] == (pytest.approx(accuracy, abs=1e-15), n)
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
    probed = probe(classifier, x, labels, everyone, everyone)
    assert probed["fitted"][0] == probed["test"][0] == pytest.approx(1 / classes, abs=1e-15)


def _words(labels: Integers, classes: int) -> LabelledWords:
    names = tuple(f"w{i}" for i in range(len(labels)))
    parts = split(labels, np.random.default_rng(0))
    return LabelledWords(names, np.arange(len(labels)), labels, tuple("abc"[:classes]), *parts)


def test_a_row_for_each_classifier_stage_and_set() -> None:
    x, labels = _shifted_clouds(3)
    words = _words(labels, 3)
    before = x.copy()
    rows = probe_rows("toy", x, np.zeros_like(x), words, words.train)
    np.testing.assert_array_equal(x, before)
    keys = [(r.details["method"], r.details["stage"], r.details["set"]) for r in rows]
    stages, sets = ("before", "after"), ("fitted", "test", "unseen")
    assert keys == [(c, s, w) for c in CLASSIFIERS for s in stages for w in sets]
    for row in rows:
        assert (row.subject, row.measure) == ("toy", "probe-accuracy")
        assert (row.details["neutral"], row.details["better"]) == (1 / 3, "lower")
        assert row.details["n"] == len(
            words.train if row.details["set"] == "fitted" else words.test
        )
        expected = probe(row.details["method"], x, labels, words.train, words.test)
        if row.details["stage"] == "before":
            assert row.value == expected[row.details["set"]][0]
        else:
            assert row.value == pytest.approx(1 / 3, abs=1e-15)
