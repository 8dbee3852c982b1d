"""Recoverability against scikit-learn, called directly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_info

from wordbias import Attribute, Embedding
from wordbias.devices import blas_threads
from wordbias.draws import SAMPLE
from wordbias.measures.panel import Panel
from wordbias.measures.recoverability import (
    CLASSIFIERS,
    make_classifier,
    recoverability,
    recoverability_rows,
)

# of few words the MLP's 500 rounds are few steps; scikit-learn itself says so
pytestmark = [
    pytest.mark.filterwarnings("ignore:Stochastic Optimizer. Maximum iterations"),
    pytest.mark.usefixtures("one_thread"),
]

PAIR = ("she", "he")
GENDER = Attribute("gender", ("f", "m"), ((), ()), (PAIR,), direction=PAIR)


@pytest.fixture
def words() -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Two clouds that overlap."""
    rng = np.random.default_rng(0)
    labels = np.repeat([True, False], 150)
    x = rng.normal(size=(300, 5)) + 0.7 * labels[:, None]
    return x.astype(np.float32), labels


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The indices every call of scikit-learn's split returned."""
    from sklearn import model_selection

    seen: list[Any] = []

    def watched(*arguments: Any, **options: Any) -> Any:
        seen.append(train_test_split(*arguments, **options))
        return seen[-1]

    monkeypatch.setattr(model_selection, "train_test_split", watched)
    return seen


def _direct(seed: int) -> dict[str, Any]:
    return {
        "linear-svm": SVC(kernel="linear", C=1.0),
        "rbf-svm": SVC(kernel="rbf", gamma="auto", C=1.0),
        "logistic": LogisticRegression(max_iter=1000),
        "mlp": MLPClassifier(hidden_layer_sizes=(100,), max_iter=500, random_state=seed),
    }


@pytest.mark.parametrize("seed", [0, pytest.param(7, marks=pytest.mark.slow)])
def test_they_are_these_classifiers_on_this_split(words: Any, seed: int) -> None:
    x, labels = words
    train, test = train_test_split(
        np.arange(300), train_size=60, stratify=labels, random_state=seed
    )
    recovered = recoverability(x, labels, seed=seed)
    assert tuple(recovered) == CLASSIFIERS
    for name, model in _direct(seed).items():
        score = model.fit(x[train], labels[train]).score(x[test], labels[test])
        assert recovered[name].accuracy == pytest.approx(score, abs=1e-15)
        assert len(recovered[name].right) == 240


def test_a_fifth_is_trained_on_and_both_parts_are_balanced(words: Any, split: list[Any]) -> None:
    x, labels = words
    recoverability(x, labels, seed=3)
    ((train, test),) = split
    assert (len(train), len(test)) == (60, 240)
    assert labels[train].sum() == 30
    assert labels[test].sum() == 120
    assert sorted([*train, *test]) == list(range(300))


def test_the_share_can_be_another(words: Any) -> None:
    recovered = recoverability(*words, train_share=0.5)
    assert {len(result.right) for result in recovered.values()} == {150}


@pytest.mark.slow
def test_the_seed_decides_the_split(words: Any, split: list[Any]) -> None:
    first, second, other = (
        [score.right.tolist() for score in recoverability(*words, seed=seed).values()]
        for seed in (1, 1, 2)
    )
    assert first == second != other
    assert split[0][0].tolist() == split[1][0].tolist() != split[2][0].tolist()


def test_unknown_classifiers_are_none() -> None:
    with pytest.raises(KeyError):
        make_classifier("forest", 0)


@pytest.mark.slow
def test_separated_words_are_recovered_and_noise_is_not() -> None:
    """Noise: right as often as a coin, within what the binomial allows once in 100,000."""
    rng = np.random.default_rng(5)
    x, labels = rng.normal(size=(1000, 5)).astype(np.float32), np.repeat([True, False], 500)
    assert {
        result.accuracy for result in recoverability(x + 9 * labels[:, None], labels).values()
    } == {1}
    for name in ("linear-svm", "rbf-svm", "logistic"):
        share = recoverability(x, labels)[name].accuracy
        assert abs(share - 0.5) <= 4.42 * np.sqrt(0.25 / 800)


@pytest.mark.parametrize("name", ["linear-svm", "rbf-svm", "logistic"])
def test_rotation_changes_no_classifier_of_inner_products(words: Any, name: str) -> None:
    """Up to rounding near the boundary. The MLP starts from random weights of coordinates."""
    x, labels = words
    q = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    turned = (x @ q).astype(np.float32)
    plain, other = (make_classifier(name, 0).fit(v[::5], labels[::5]) for v in (x, turned))
    sides = plain.decision_function(x), other.decision_function(turned)
    # libsvm stops at a violation of 1e-3, lbfgs at a gradient of 1e-4
    assert np.abs(sides[0] - sides[1]).max() <= 1e-2
    clear = np.abs(sides[0]) > 1e-2
    assert clear.mean() > 0.9
    assert ((sides[0] > 0) == (sides[1] > 0))[clear].all()


@pytest.fixture
def embeddings() -> tuple[Embedding, Embedding]:
    rng = np.random.default_rng(2)
    names = ["she", "he", *(f"w{i}" for i in range(200))]
    x = rng.normal(size=(202, 8))
    return Embedding(names, x, "before"), Embedding(names, x @ rng.normal(size=(8, 8)), "after")


def test_labels_come_from_the_original_and_vectors_from_the_debiased(embeddings: Any) -> None:
    original, debiased = embeddings
    vocabulary = original.words[2:]
    g = original["she"].astype(float) - original["he"]
    x = original.take(vocabulary).astype(float)
    order = np.argsort(-(x @ g) / np.linalg.norm(x, axis=1))
    chosen = np.concatenate([order[:50], order[::-1][:50]])
    expected = recoverability(
        debiased.take(vocabulary)[chosen], np.repeat([True, False], 50), seed=5
    )
    rows = recoverability_rows(Panel(debiased, original, vocabulary, GENDER, seed=5), 100)
    assert [row.measure for row in rows] == [f"recoverability-{name}" for name in CLASSIFIERS]
    for row, result in zip(rows, expected.values(), strict=True):
        assert row.value == result.accuracy
        assert (row.details["n"], row.details["original"]) == (80, "before")
        assert (row.details["neutral"], row.details["better"]) == (0.5, "lower")
        assert row.details["low"] <= row.value <= row.details["high"]
        drawn = np.random.default_rng(5).integers(80, size=(1000, 80))
        np.testing.assert_allclose(
            row.draws[SAMPLE].values, result.right[drawn].mean(1), atol=1e-12
        )


def test_too_few_words_on_a_side_have_a_reason(embeddings: Any) -> None:
    original, _ = embeddings
    rows = recoverability_rows(Panel(original, original, original.words[2:], GENDER))
    assert [row.value for row in rows] == [None] * 4
    assert all("2500 words a side needed" in row.details["reason"] for row in rows)


def test_classifiers_run_in_one_blas_thread(words: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two, on a busy machine of two cores, took ten times as long."""
    seen: list[int] = []
    fit = MLPClassifier.fit

    def watched(self: MLPClassifier, x: Any, y: Any) -> Any:
        seen.extend(f["num_threads"] for f in threadpool_info() if f["user_api"] == "blas")
        return fit(self, x, y)

    monkeypatch.setattr(MLPClassifier, "fit", watched)
    with blas_threads(2):
        recoverability(*words)
    assert set(seen) == {1}
