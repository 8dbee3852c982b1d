"""INLP on real words: what is left for classifiers, how it stops, and what it says."""

from __future__ import annotations

import itertools
import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from wordbias import Attribute, Embedding, WordbiasError
from wordbias.methods import inlp
from wordbias.methods.classes import LabelledWords, labelled_words
from wordbias.methods.fitted import Fitted
from wordbias.methods.inlp import fit
from wordbias.methods.linear_classifiers import probe_rows
from wordbias.methods.transform import Projection
from wordbias.results import Row

pytestmark = pytest.mark.usefixtures("one_thread")

Matrix = NDArray[np.float64]
EPS = float(np.finfo(float).eps)


AGE = """
name = "age"

[groups]
young = ["young", "youth", "youths", "teenager", "teenage", "adolescent", "kid", "juvenile"]
old = ["old", "elderly", "pensioner", "pensioners", "senior", "seniors", "aged", "retiree"]

[pairs]
definitional = [["young", "old"], ["younger", "older"]]
"""


@cache
def sample() -> Embedding:
    return Embedding.sample()


@cache
def fitted(**options: Any) -> Fitted:
    return fit(sample(), **options)


def _projection(found: Fitted) -> Projection:
    (step,) = found.steps
    assert isinstance(step, Projection)
    return step


def _rounds(found: Fitted) -> list[Row]:
    return [row for row in found.found if row.measure == "inlp-accuracy"]


def _words(classes: int, attribute: Attribute | None = None) -> tuple[LabelledWords, Matrix]:
    words = labelled_words(sample(), attribute or Attribute.load(), classes=classes)
    return words, words.vectors(sample())


def _right(model: Any, x: Matrix, words: LabelledWords) -> int:
    """Test words that a classifier gets right that learned from the training words."""
    model.fit(x[words.train], words.labels[words.train])
    return int((model.predict(x[words.test]) == words.labels[words.test]).sum())


def _most_by_chance(words: LabelledWords) -> int:
    """Right answers that chance, and the point above it that INLP allows, exceed once in 10,000."""
    chance = 1 / len(words.classes) + inlp.TOLERANCE
    return int(binom.ppf(1 - 1e-4, len(words.test), chance))


CLASSIFIERS = [
    LogisticRegression(max_iter=10_000),
    LogisticRegression(max_iter=10_000, fit_intercept=False),
    LinearSVC(dual=False, max_iter=10_000),
    LinearSVC(dual=False, max_iter=10_000, fit_intercept=False),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_afterwards_fresh_classifiers_are_at_chance_on_held_out_words(
    classes: int, model: Any
) -> None:
    words, x = _words(classes)
    most = _most_by_chance(words)
    assert most < _right(model, x, words)
    assert _right(model, fitted(classes=classes)(x), words) <= most


@pytest.mark.parametrize("classes", [2, 3])
def test_another_attribute_goes_as_well(classes: int, tmp_path: Any) -> None:
    path = tmp_path / "age.toml"
    path.write_text(AGE)
    words, x = _words(classes, Attribute.load(path))
    assert words.classes == ("young", "old", "neutral")[:classes]
    removal = fit(sample(), path, classes=classes)
    most = _most_by_chance(words)
    for model in (LogisticRegression(max_iter=10_000), LinearSVC(dual=False)):
        assert _right(model, removal(x), words) <= most < _right(model, x, words)


@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_one_hard_projection(classes: int) -> None:
    removal = fitted(classes=classes)
    assert removal.name == "inlp"
    step = _projection(removal)
    k, d = step.subspace.basis.shape
    assert step.hard
    assert step.subspace.weights.tolist() == [1] * k
    assert k == _rounds(removal)[-1].details["dimensions"] < d
    gram = step.subspace.basis @ step.subspace.basis.T
    np.testing.assert_allclose(gram, np.eye(k), rtol=0, atol=10 * d * EPS)
    x = sample().vectors[:500].astype(float)
    once = removal(x)
    longest = np.linalg.norm(x, axis=1).max()
    np.testing.assert_allclose(removal(once), once, rtol=0, atol=100 * d * EPS * longest)
    assert np.linalg.matrix_rank(once) == d - k
    assert removal.reach(["she", "table"]).mapped == 2


def test_an_embedding_is_projected_word_by_word() -> None:
    removal = fitted(classes=2)
    after = removal(sample())
    assert (after.name, after.words) == ("sample.inlp", sample().words)
    g = _projection(removal).subspace.basis
    for word in ("she", "nurse", "table"):
        w = sample()[word].astype(float)
        expected = w - sum((row @ w) * row for row in g)
        bound = (100 + len(g)) * 2**-23 * 2 * np.linalg.norm(w)  # float32 sums of d and k terms
        np.testing.assert_allclose(after[word], expected, rtol=0, atol=bound)


@pytest.mark.parametrize("classes", [2, 3])
def test_information_weights_make_it_soft(classes: int) -> None:
    hard, soft = fitted(classes=classes), fitted(classes=classes, weights="information")
    subspace, other = _projection(hard).subspace, _projection(soft).subspace
    np.testing.assert_array_equal(subspace.basis, other.basis)
    expected: list[float] = []
    for row in _rounds(soft):
        weight = max(0, (classes * row.value - 1) / (classes - 1))
        new = row.details["dimensions"] - len(expected)
        assert row.details["weight"] == pytest.approx(weight if new else 0, abs=4 * EPS)
        expected += [weight] * new
    assert other.weights.tolist() == pytest.approx(expected, abs=4 * EPS)
    assert max(expected) > min(expected) > 0
    x = sample().vectors[:50].astype(float)
    weighted = list(zip(expected, subspace.basis, strict=True))
    by_hand = [w - sum(a * (g @ w) * g for a, g in weighted) for w in x]
    np.testing.assert_allclose(soft(x), by_hand, rtol=0, atol=1e3 * EPS * np.abs(x).max())
    np.testing.assert_array_equal(soft(x), other.remove(x))


def test_a_row_for_each_round() -> None:
    removal = fitted(classes=3)
    rows = _rounds(removal)
    words, _ = _words(3)
    assert [row.details["round"] for row in rows] == list(range(1, len(rows) + 1))
    for row in rows:
        is_last = row is rows[-1]
        assert row.subject == "sample"
        assert row.details["n"] == len(words.dev)
        assert (row.details["neutral"], row.details["better"]) == (1 / 3, "lower")
        assert row.details["method"] == "svm"
        assert row.details["weight"] == (0 if is_last else 1)
        assert (row.value <= 1 / 3 + 0.01) == is_last
    removed = [0, *(row.details["dimensions"] for row in rows)]
    assert removed[-1] == removed[-2]
    assert all(1 <= b - a <= 3 for a, b in itertools.pairwise(removed[:-1]))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_probe_is_of_the_training_words(classes: int) -> None:
    removal = fitted(classes=classes)
    words, x = _words(classes)
    rows = [row for row in removal.found if row.measure == "probe-accuracy"]
    assert rows == probe_rows("sample", x, removal(x), words, words.train)
    test = {
        (row.details["stage"], row.details["method"]): row.value
        for row in rows
        if row.details["set"] == "test"
    }
    most = _most_by_chance(words) / len(words.test)
    for classifier in ("svm", "logistic"):
        assert test["after", classifier] <= most < test["before", classifier]


def test_the_first_round_is_sklearns_classifier_on_the_development_words() -> None:
    words, x = _words(3)
    model = LinearSVC(fit_intercept=False, dual=False, tol=1e-9, max_iter=10_000)
    for as_published, mean in ((False, x[words.train].mean(0)), (True, 0)):
        model.fit(x[words.train] - mean, words.labels[words.train])
        row, *_ = _rounds(fit(sample(), rounds=1, as_published=as_published))
        right = model.score(x[words.dev] - mean, words.labels[words.dev])
        assert row.value == pytest.approx(right, abs=1e-15)
        assert row.value < model.score(x[words.train] - mean, words.labels[words.train])


def test_as_published_it_never_stops_early() -> None:
    early = fitted(classes=2)
    assert len(_rounds(early)) < 25
    removal = fitted(classes=2, rounds=25, as_published=True)
    rows = _rounds(removal)
    assert [row.details["dimensions"] for row in rows] == list(range(1, 26))
    assert min(row.value for row in rows[:-1]) <= 0.5 + inlp.TOLERANCE
    assert early.warnings == removal.warnings == ()


def test_it_warns_where_it_did_not_reach_chance() -> None:
    removal = fitted(classes=2, rounds=3)
    (warning,) = removal.warnings
    last = _rounds(removal)[-1]
    remark = f"the last of 3 rounds still had a held-out balanced accuracy of {last.value:.3f}"
    assert remark in warning
    assert last.details["dimensions"] == 3


def test_it_warns_where_more_than_a_quarter_went() -> None:
    quarter, more = (fitted(classes=2, rounds=n, as_published=True) for n in (25, 26))
    assert not any("dimensions" in warning for warning in quarter.warnings)
    assert any(w.startswith("26 of 100 dimensions were removed") for w in more.warnings)


@pytest.mark.slow
def test_logistic_regression_does_it_as_well() -> None:
    removal = fitted(classes=3, classifier="logistic")
    words, x = _words(3)
    assert _rounds(removal)[0].details["dimensions"] == 2
    assert {row.details["method"] for row in _rounds(removal)} == {"logistic"}
    assert _right(LogisticRegression(max_iter=10_000), removal(x), words) <= _most_by_chance(words)


@pytest.mark.slow
def test_the_seed_decides() -> None:
    options: dict[str, Any] = {"classes": 3, "per_class": 100, "rounds": 4}
    removal, same, other = (fit(sample(), **options, seed=seed) for seed in (5, 5, 6))
    first, second, third = (_projection(run).subspace.basis for run in (removal, same, other))
    np.testing.assert_array_equal(first, second)
    assert removal.found == same.found
    assert first.shape != third.shape or not np.allclose(first, third)


def test_the_settings_can_be_written_down() -> None:
    removal = fitted(classes=2, rounds=3)
    assert json.loads(json.dumps(removal.settings)) == {
        "classes": 2,
        "rounds": 3,
        "per_class": None,
        "weights": "hard",
        "classifier": "svm",
        "as_published": False,
        "seed": 0,
    }


def test_the_vectors_stay_as_they_are() -> None:
    before = sample().vectors.copy()
    fit(sample(), classes=2, per_class=50, rounds=2)
    np.testing.assert_array_equal(sample().vectors, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds: expected at least 1, got 0"),
        ({"weights": "soft"}, "weights 'soft': expected one of hard, information"),
        ({"classifier": "forest"}, "classifier 'forest': expected one of svm, logistic"),
        ({"classes": 5}, "expected 2 classes, .*got 5"),
        ({"per_class": 3}, r"sample: \d+ candidates: 3 words a class are too few"),
        ({"per_class": 20_000}, "20000 words a side needed, but only"),
    ],
)
def test_impossible_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        fit(sample(), **options)


def test_a_collapse_to_zero_is_refused() -> None:
    narrow = Embedding(sample().words, sample().vectors[:, :5], "narrow")
    with pytest.raises(WordbiasError, match=r"after \d rounds none of the 5 dimensions is left"):
        fit(narrow, per_class=300, as_published=True)


def test_as_published_it_ends_where_the_classes_have_equal_means() -> None:
    """Some day all normal vectors are zero but for rounding; the published code removes none."""
    removal = fit(sample(), rounds=200, as_published=True)
    rows = _rounds(removal)
    assert len(rows) < 200
    assert rows[-1].details["dimensions"] == rows[-2].details["dimensions"] < 100
    words, x = _words(3)
    after = removal(x)[words.train]
    labels = words.labels[words.train]
    means = np.stack([after[labels == label].mean(0) for label in range(3)])
    longest = np.linalg.norm(x, axis=1).max()
    assert np.abs(means - means.mean(0)).max() < EPS**0.5 * longest


def test_constant_vectors_are_refused() -> None:
    flat = sample().with_vectors(np.ones_like(sample().vectors))
    with pytest.raises(WordbiasError, match="the axis of gender, which is undefined"):
        fit(flat)


def test_where_the_first_classifier_is_at_chance_there_is_nothing_to_remove(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inlp, "TOLERANCE", 0.5)
    with pytest.raises(WordbiasError, match=r"sample: no classifier .*\(0.500\).* already"):
        fit(sample(), classes=2, per_class=50)


def test_only_an_embedding_can_be_fitted() -> None:
    with pytest.raises(WordbiasError, match="expected an Embedding, got ndarray"):
        fit(sample().vectors)  # type: ignore[arg-type]
