"""Iterative nullspace projection against the published recipe, and its algebra."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from quick_cases import examples
from scipy.linalg import orth
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.svm import LinearSVC

from wordbias import Attribute, Embedding, WordbiasError
from wordbias.methods.classes import LabelledWords, labelled_words
from wordbias.methods.inlp import Round, Rounds, complement, information_weight, learn, row_space
from wordbias.methods.linear_classifiers import LinearSvm, predicted

pytestmark = pytest.mark.usefixtures("one_thread")

Matrix = NDArray[np.float64]
EPS = float(np.finfo(float).eps)


@pytest.fixture(scope="module", params=[2, 3], ids=["two", "three"])
def real(request: pytest.FixtureRequest) -> tuple[Matrix, LabelledWords]:
    sample = Embedding.sample()
    words = labelled_words(sample, Attribute.load(), classes=request.param, per_class=300)
    return words.vectors(sample), words


def _learn(real: tuple[Matrix, LabelledWords], **options: Any) -> Rounds:
    x, words = real
    return learn(x, words.labels, words.train, words.dev, **{"rounds": 6, **options})


def _onto_rows(w: Matrix) -> Matrix:
    basis = orth(w.T)
    return basis @ basis.T


def _recipe(x: Matrix, words: LabelledWords, model: Any, rounds: int) -> tuple[Matrix, list[float]]:
    """As published: P = I − P_R(Σ P_R(W_i)), and every round trains on ``X P``."""
    total, projection, accuracy = np.zeros((x.shape[1],) * 2), np.eye(x.shape[1]), []
    for _ in range(rounds):
        seen = x @ projection
        model.fit(seen[words.train], words.labels[words.train])
        guesses = model.predict(seen[words.dev])
        accuracy.append(balanced_accuracy_score(words.labels[words.dev], guesses))
        total += _onto_rows(model.coef_)
        projection = np.eye(len(total)) - _onto_rows(total)
    return projection, accuracy


class Exact:
    """Our solver on projected words, with sklearn's two methods; started anew in every round."""

    coef_: Matrix

    def fit(self, x: Matrix, labels: NDArray[np.intp]) -> None:
        self.coef_ = LinearSvm(x, labels).solve()

    def predict(self, x: Matrix) -> NDArray[np.intp]:
        return predicted(x @ self.coef_.T)


def _centred(real: tuple[Matrix, LabelledWords], centre: bool) -> Matrix:
    x, words = real
    return x - x[words.train].mean(0) if centre else x


@pytest.mark.parametrize("centre", [False, True])
def test_one_basis_is_the_row_space_of_the_sum(
    real: tuple[Matrix, LabelledWords], centre: bool
) -> None:
    """Half of the digits are left after six rounds, each of which learns from the one before."""
    expected, accuracy = _recipe(_centred(real, centre), real[1], Exact(), 6)
    learned = _learn(real, centre=centre)
    projection = np.eye(len(expected)) - learned.basis.T @ learned.basis
    np.testing.assert_allclose(projection, expected, rtol=0, atol=EPS**0.5)
    assert [step.accuracy for step in learned.rounds] == pytest.approx(accuracy, abs=1e-15)


@pytest.mark.parametrize("centre", [False, True])
def test_the_published_code_approximates_it(
    real: tuple[Matrix, LabelledWords], centre: bool
) -> None:
    """With sklearn's classifier: the better that is solved, the nearer the recipe comes."""
    x = _centred(real, centre)
    common = {"fit_intercept": False, "dual": False, "random_state": 0, "max_iter": 10_000}
    near, accuracy = _recipe(x, real[1], LinearSVC(**common, tol=1e-10), 6)
    default, _ = _recipe(x, real[1], LinearSVC(**common), 6)
    learned = _learn(real, centre=centre)
    projection = np.eye(len(near)) - learned.basis.T @ learned.basis
    assert np.abs(projection - near).max() < np.abs(default - near).max()
    assert [step.accuracy for step in learned.rounds] == pytest.approx(accuracy, abs=0.01)


def test_with_logistic_regression_the_first_round_is_the_recipe_as_well(
    real: tuple[Matrix, LabelledWords],
) -> None:
    x, words = real
    model = LogisticRegression(fit_intercept=False, max_iter=10_000)
    expected, accuracy = _recipe(x, words, model, 1)
    learned = _learn(real, rounds=1, centre=False, classifier="logistic")
    projection = np.eye(x.shape[1]) - learned.basis.T @ learned.basis
    np.testing.assert_allclose(projection, expected, rtol=0, atol=EPS**0.5)
    assert [step.accuracy for step in learned.rounds] == pytest.approx(accuracy, abs=1e-15)
    assert len(learned.basis) == len(words.classes) - 1  # three softmax scores have two directions


@pytest.mark.parametrize("classifier", ["svm", "logistic"])
def test_the_basis_is_orthonormal_and_the_projection_idempotent(
    real: tuple[Matrix, LabelledWords], classifier: str
) -> None:
    learned = _learn(real, rounds=12, classifier=classifier)
    k, d = learned.basis.shape
    assert k == sum(step.directions for step in learned.rounds) >= 12
    rounding = 10 * d * EPS
    np.testing.assert_allclose(learned.basis @ learned.basis.T, np.eye(k), rtol=0, atol=rounding)
    projection = np.eye(d) - learned.basis.T @ learned.basis
    np.testing.assert_allclose(projection @ projection, projection, rtol=0, atol=10 * rounding)
    assert np.linalg.matrix_rank(projection) == d - k


def test_a_round_gives_one_direction_or_as_many_as_there_are_classes(
    real: tuple[Matrix, LabelledWords],
) -> None:
    classes = len(real[1].classes)
    first = _learn(real, rounds=1, centre=False).rounds[0]
    assert first.directions == {2: 1, 3: 3}[classes]


def test_more_rounds_extend_the_basis(real: tuple[Matrix, LabelledWords]) -> None:
    few, many = (_learn(real, rounds=n) for n in (3, 5))
    np.testing.assert_array_equal(few.basis, many.basis[: len(few.basis)])
    assert few.rounds == many.rounds[:3]
    assert not few.at_chance


def test_the_first_classifier_at_chance_ends_the_rounds(
    real: tuple[Matrix, LabelledWords],
) -> None:
    whole = _learn(real, rounds=8)
    limit = whole.rounds[5].accuracy
    last = next(i for i, step in enumerate(whole.rounds) if step.accuracy <= limit)
    learned = _learn(real, rounds=8, stop_at=limit)
    assert learned.at_chance
    assert learned.rounds == (*whole.rounds[:last], Round(whole.rounds[last].accuracy, 0))
    np.testing.assert_array_equal(learned.basis, whole.basis[: len(learned.basis)])
    below = _learn(real, rounds=8, stop_at=limit - 1e-9)
    assert len(below.rounds) > len(learned.rounds)


def test_centring_replaces_an_intercept() -> None:
    """The classes are at 9 and 11 on a line: both are on one side of the origin."""
    labels = np.repeat([0, 1], 50)
    spread = np.random.default_rng(0).normal(size=(100, 2))
    x = np.stack([10 + np.where(labels, 1, -1), *spread.T], axis=1)
    everyone = np.arange(100)
    wrong, right = (learn(x, labels, everyone, everyone, rounds=1, centre=c) for c in (False, True))
    assert right.rounds[0].accuracy == 1
    assert abs(right.basis[0, 0]) > 0.99
    assert wrong.rounds[0].accuracy < 0.75


def test_classes_of_the_same_words_give_no_direction() -> None:
    """All hyperplanes are zero but for rounding, and rounding is no direction."""
    x = np.tile(np.random.default_rng(0).normal(size=(30, 5)), (2, 1))
    labels, everyone = np.repeat([0, 1], 30), np.arange(60)
    learned = learn(x, labels, everyone, everyone, rounds=4)
    assert [step.directions for step in learned.rounds] == [0]
    assert learned.basis.shape == (0, 5)
    assert learned.at_chance


def test_a_collapse_to_zero_is_refused(real: tuple[Matrix, LabelledWords]) -> None:
    x, words = real
    few = x[:, :6]
    rounds = {2: 6, 3: 2}[len(words.classes)]
    message = f"after {rounds} rounds none of the 6 dimensions.*at most {rounds - 1} rounds"
    with pytest.raises(WordbiasError, match=message):
        learn(few, words.labels, words.train, words.dev, rounds=35, centre=False)
    left = learn(few, words.labels, words.train, words.dev, rounds=rounds - 1, centre=False)
    assert len(left.basis) < 6


def test_the_vectors_of_the_caller_do_not_change(real: tuple[Matrix, LabelledWords]) -> None:
    before = real[0].copy()
    _learn(real, rounds=2)
    np.testing.assert_array_equal(real[0], before)


def test_an_unknown_classifier_is_refused(real: tuple[Matrix, LabelledWords]) -> None:
    with pytest.raises(WordbiasError, match="'forest': expected one of svm, logistic"):
        _learn(real, classifier="forest")


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(2, 7), st.floats(0, 1))
def test_the_information_weight_runs_from_chance_to_certainty(
    classes: int, accuracy: float
) -> None:
    weight = information_weight(accuracy, classes)
    assert 0 <= weight <= 1
    chance = 1 / classes
    if accuracy <= chance:
        assert weight == pytest.approx(0, abs=2 * EPS)
    else:
        assert weight == pytest.approx((accuracy - chance) / (1 - chance), abs=8 * EPS)


def test_for_two_classes_the_published_weight_with_its_sign_changed() -> None:
    assert information_weight(1.0, 2) == 1
    assert information_weight(0.75, 2) == 0.5
    for accuracy in (0.5, 0.6, 0.9):
        assert information_weight(accuracy, 2) == pytest.approx(-(1 - 2 * accuracy), abs=EPS)


def test_every_direction_has_the_weight_of_its_round() -> None:
    rounds = Rounds(np.eye(5, 6), (Round(1.0, 3), Round(2 / 3, 2), Round(0.3, 0)))
    assert rounds.information_weights(3) == pytest.approx([1, 1, 1, 0.5, 0.5])


def test_a_row_space_has_the_rank_of_its_rows() -> None:
    rows = np.random.default_rng(0).normal(size=(3, 7))
    rows[2] = rows[0] - 2 * rows[1]
    spanned = row_space(rows)
    assert spanned.shape == (2, 7)
    np.testing.assert_allclose(spanned.T @ spanned, _onto_rows(rows), rtol=0, atol=1e2 * EPS)
    assert row_space(np.zeros((3, 7))).shape == (0, 7)
    assert row_space(rows, silent=1e3).shape == (0, 7)


@pytest.mark.parametrize("k", [0, 1, 4, 5])
def test_a_complement_is_the_orthogonal_rest(k: int) -> None:
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0][:k]
    rest = complement(basis)
    assert rest.shape == (5 - k, 5)
    whole = np.concatenate([basis, rest])
    np.testing.assert_allclose(whole @ whole.T, np.eye(5), rtol=0, atol=1e2 * EPS)
