"""LEACE: its theorems on real words, against concept-erasure and against its formula."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import warnings
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import wordbias as wb
from wordbias import LEACE, Attribute, Embedding, WordbiasError
from wordbias.calls import WordbiasWarning
from wordbias.labelled import Labelled
from wordbias.methods import inlp
from wordbias.methods.classes import labelled_words
from wordbias.methods.fitted import Fitted
from wordbias.methods.leace import METHODS, Erasure, fit, fit_erasure
from wordbias.methods.linear_classifiers import probe_rows
from wordbias.methods.transform import Step

pytestmark = pytest.mark.usefixtures("one_thread")

Matrix = NDArray[np.float64]
Integers = NDArray[np.intp]
EPS = float(np.finfo(float).eps)


with_library = pytest.mark.skipif(
    importlib.util.find_spec("concept_erasure") is None,
    reason="concept-erasure is not installed; it comes with the extra dev",
)


@cache
def sample() -> Embedding:
    return Embedding.sample()


@cache
def fitted(**options: Any) -> Fitted:
    return fit(sample(), **options)


@cache
def _learned(classes: int, unbalanced: bool = False) -> tuple[Matrix, Integers]:
    """The words that `fit` erases from; with half of the others than the first if unbalanced."""
    words = labelled_words(sample(), Attribute.load(), classes=classes)
    x, labels = words.vectors(sample())[words.learned], words.labels[words.learned]
    if unbalanced:
        keep = (labels == 0) | (np.arange(len(labels)) % 2 == 0)
        x, labels = x[keep], labels[keep]
    return x, labels


def _erasure(found: Fitted) -> Erasure:
    (step,) = found.steps
    assert isinstance(step, Erasure)
    return step


def _covariance(x: Matrix) -> Matrix:
    centred = x - x.mean(0)
    return centred.T @ centred / len(x)


def _rounding(x: Matrix) -> float:
    """What rounding does to a row: whitening and back multiply it by the condition of Σ^½."""
    values = np.linalg.eigvalsh(_covariance(x))
    longest = float(np.linalg.norm(x, axis=1).max())
    return 10 * x.shape[1] * EPS * float(np.sqrt(values[-1] / values[0])) * longest


def _change(before: Matrix, after: Matrix) -> float:
    """Mean squared distance by which rows moved."""
    return float(((before - after) ** 2).sum(1).mean())


@pytest.mark.parametrize("unbalanced", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_the_classes_have_the_same_mean_afterwards(
    method: str, classes: int, unbalanced: bool
) -> None:
    """What makes it impossible for a linear classifier to tell them apart."""
    x, labels = _learned(classes, unbalanced)
    erased = fit_erasure(x, labels, method)(x)
    means = np.stack([erased[labels == label].mean(0) for label in range(classes)])
    expected = np.tile(x.mean(0), (classes, 1))  # and the mean of all stays
    np.testing.assert_allclose(means, expected, rtol=0, atol=_rounding(x))
    before = np.stack([x[labels == label].mean(0) for label in range(classes)])
    assert np.abs(before - expected).max() > 1e6 * _rounding(x)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=10_000, tol=1e-10),
        LinearSVC(dual=False, max_iter=10_000, tol=1e-10),
    ],
    ids=["logistic", "svm"],
)
def test_a_linear_classifier_learns_nothing_of_the_fitted_words(model: Any, classes: int) -> None:
    """Its weights vanish, and it answers with the largest class, whatever the word.

    LinearSVC regularises its intercept, which the mean of the words can replace: without it.
    """
    x, labels = _learned(classes, unbalanced=True)
    largest = np.bincount(labels).max() / len(labels)
    learned = model.fit(x - x.mean(0), labels)
    size, right = np.linalg.norm(learned.coef_), learned.score(x - x.mean(0), labels)
    assert right > 0.95
    erased = fit_erasure(x, labels)(x) - x.mean(0)
    nothing = model.fit(erased, labels)
    assert np.linalg.norm(nothing.coef_) < 1e-6 * size
    assert nothing.score(erased, labels) == pytest.approx(largest, abs=1e-15)


@with_library
@pytest.mark.parametrize("shrinkage", [True, False])
@pytest.mark.parametrize("unbalanced", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_it_is_the_eraser_of_concept_erasure(
    method: str, classes: int, unbalanced: bool, shrinkage: bool
) -> None:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from concept_erasure import LeaceEraser
    x, labels = _learned(classes, unbalanced)
    z = torch.nn.functional.one_hot(torch.tensor(labels)).double()
    eraser = LeaceEraser.fit(torch.tensor(x), z, method=method, shrinkage=shrinkage)
    erasure = fit_erasure(x, labels, method, shrinkage)
    rows = sample().vectors[:200].astype(float)
    expected = eraser(torch.tensor(rows)).numpy()
    np.testing.assert_allclose(erasure(rows), expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(erasure(rows), expected, rtol=0, atol=_rounding(x))
    whole = np.eye(x.shape[1]) - erasure.left @ erasure.right
    np.testing.assert_allclose(whole, eraser.P.numpy(), rtol=0, atol=_rounding(x))


@with_library
@pytest.mark.parametrize("share", [0.1, 0.01])
def test_a_rare_class_is_erased_which_the_library_leaves(share: float) -> None:
    """Its `svd_tol` bounds a covariance, which is small where a class is rare."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from concept_erasure import LeaceEraser
    labels = (np.arange(20_000) < share * 20_000).astype(np.intp)
    x = np.random.default_rng(0).normal(size=(20_000, 5))
    x[:, 0] += labels / 2
    z = torch.nn.functional.one_hot(torch.tensor(labels)).double()

    def apart(rows: Matrix) -> float:
        return float(np.linalg.norm(rows[labels == 1].mean(0) - rows[labels == 0].mean(0)))

    assert apart(fit_erasure(x, labels)(x)) < 1e-12
    rows = torch.tensor(x)
    left = apart(LeaceEraser.fit(rows, z)(rows).numpy())
    assert left == pytest.approx(0 if share == 0.1 else apart(x), abs=1e-12)
    exact = LeaceEraser.fit(rows, z, svd_tol=1e-8)(rows).numpy()
    np.testing.assert_allclose(fit_erasure(x, labels)(x), exact, rtol=0, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_it_never_raises_the_variance(classes: int) -> None:
    """So that the library's `constrain_cov_trace` has nothing to do: tr Σ − tr(UᵀΣU) is left."""
    rng = np.random.default_rng(classes)
    for conditioned in (1.0, 1e-3, 1e-6):
        x = (
            rng.normal(size=(300, 12))
            * np.geomspace(1, conditioned, 12)
            @ rng.normal(size=(12, 12))
        )
        labels = np.arange(300) % classes
        x += rng.normal(size=(classes, 12))[labels]
        erasure = fit_erasure(x, labels, shrinkage=False)
        values, v = np.linalg.eigh(_covariance(x))
        w = v * values**-0.5 @ v.T
        u = np.linalg.svd(
            w @ np.stack([x[labels == k].mean(0) - x.mean(0) for k in range(classes)]).T
        )
        u = u[0][:, : classes - 1]
        left = np.trace(_covariance(x)) - np.trace(u.T @ _covariance(x) @ u)
        assert np.trace(_covariance(erasure(x))) == pytest.approx(left, rel=1e-6)


def _by_the_formula(x: Matrix, labels: Integers) -> Matrix:
    """``I − W⁺ U Uᵀ W`` with a covariance shrunk towards tr(S)/p · I (Bodnar et al. 2014)."""
    (n, p), s = x.shape, _covariance(x)
    trace = float(np.trace(s))
    alpha = 1 - trace**2 / n / (float((s**2).sum()) - trace**2 / p)
    values, v = np.linalg.eigh(alpha * s + (1 - alpha) * trace / p * np.eye(p))
    w, inverse = v * values**-0.5 @ v.T, v * values**0.5 @ v.T
    centroids = np.stack([x[labels == label].mean(0) for label in range(labels.max() + 1)])
    u, size, _ = np.linalg.svd(w @ (centroids - x.mean(0)).T, full_matrices=False)
    u = u[:, size > 1e-9 * size[0]]
    return np.eye(p) - inverse @ u @ u.T @ w


@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_the_papers_formula(classes: int) -> None:
    x, labels = _learned(classes)
    erasure = fit_erasure(x, labels)
    assert erasure.left.shape == erasure.right.T.shape == (100, classes - 1)
    np.testing.assert_allclose(erasure.bias, x.mean(0), rtol=0, atol=_rounding(x))
    expected = _by_the_formula(x, labels)
    whole = np.eye(100) - erasure.left @ erasure.right
    np.testing.assert_allclose(whole, expected, rtol=0, atol=_rounding(x))
    np.testing.assert_allclose(whole @ whole, whole, rtol=0, atol=_rounding(x))


@pytest.mark.parametrize("classes", [2, 3])
def test_it_moves_words_less_than_other_erasures(classes: int) -> None:
    """No less than the least possible, less than orthogonally, less than INLP until chance."""
    x, labels = _learned(classes)
    values, v = np.linalg.eigh(_covariance(x))
    inverse = v * values**0.5 @ v.T
    means = np.stack([x[labels == label].mean(0) for label in range(classes)]) - x.mean(0)
    u = np.linalg.svd(v * values**-0.5 @ v.T @ means.T)[0][:, : classes - 1]
    least = float(np.trace(inverse @ u @ u.T @ inverse))  # without shrinkage
    changes = {method: _change(x, fit_erasure(x, labels, method)(x)) for method in METHODS}
    iterated = inlp.fit(sample(), classes=classes)
    assert least * (1 - 1e-9) <= changes["leace"] < changes["orth"]
    assert changes["leace"] < _change(x, iterated(x))
    plain = _change(x, fit_erasure(x, labels, shrinkage=False)(x))
    assert plain == pytest.approx(least, rel=1e-9)


def _ill_conditioned(smallest: float = 1e-4) -> tuple[Matrix, Integers]:
    """Rows whose standard deviations fall from 1 to the smallest."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=2000)
    x = rng.normal(size=(2000, 40)) + 0.5 * np.outer(labels, rng.normal(size=40))
    return x * np.geomspace(1, smallest, 40), labels


def test_only_without_shrinkage_it_is_the_least_change() -> None:
    """Of 50 other maps that make the means equal none moves the rows less; the shrunk one more."""
    x, labels = _ill_conditioned()
    plain = fit_erasure(x, labels, shrinkage=False)
    means = np.stack([plain(x)[labels == label].mean(0) for label in range(2)])
    np.testing.assert_allclose(means, [x.mean(0)] * 2, rtol=0, atol=_rounding(x))
    least, rng = _change(x, plain(x)), np.random.default_rng(1)
    apart = x[labels == 1].mean(0) - x[labels == 0].mean(0)
    for _ in range(50):  # x − apart ⟨r, x − mean⟩ with ⟨r, apart⟩ = 1
        free = rng.normal(size=40)
        free -= apart * (free @ apart) / (apart @ apart)
        size = rng.uniform(0, 0.1) * np.linalg.norm(plain.right) / np.linalg.norm(free)
        other = x - np.outer((x - x.mean(0)) @ (plain.right[0] + size * free), plain.left[:, 0])
        assert least < _change(x, other)
    assert _change(x, fit_erasure(x, labels)(x)) > 1.2 * least


def test_one_huge_row_decides_the_shrinkage() -> None:
    """All others then move as under the orthogonal projection; without shrinkage they do not."""
    x, labels = _ill_conditioned(0.01)
    huge = np.zeros((2002, 41))  # a coordinate of its own, in two rows of one class
    huge[:2000, :40], huge[2000:, :40] = x, x[labels == 0].mean(0)
    huge[2000:, 40] = 1e5, -1e5
    labels = np.append(labels, [0, 0])
    orthogonal = fit_erasure(huge[:, :40], labels, "orth")(x)
    shrunk, plain = (
        fit_erasure(huge, labels, shrinkage=shrinkage)(huge)[:2000, :40]
        for shrinkage in (True, False)
    )
    assert _change(shrunk, orthogonal) < 1e-3 * _change(plain, orthogonal)


@pytest.mark.slow
def test_the_setting_of_the_estimator_and_of_words_is_that_of_the_function() -> None:
    x, labels = _ill_conditioned()
    expected = fit_erasure(x, labels, shrinkage=False)(x)
    estimator = LEACE(shrinkage=False).fit(x, labels)
    np.testing.assert_allclose(estimator.transform(x), expected, rtol=0, atol=_rounding(x))
    (step,) = LEACE(shrinkage=False).fit(sample()).fitted_.steps
    learned = fit_erasure(*_learned(2), shrinkage=False)
    np.testing.assert_array_equal(step.right, learned.right)
    named = wb.debias(None, "leace:shrinkage=no")
    np.testing.assert_array_equal(
        named.vectors, LEACE(shrinkage=False).fit_transform(sample()).vectors
    )
    assert "method leace, shrinkage no" in str(named.report)


def test_the_length_of_the_vectors_does_not_matter() -> None:
    x, labels = _learned(3)
    erasure = fit_erasure(x, labels)
    for scale in (1e-6, 1e6):
        other = fit_erasure(scale * x, labels)
        np.testing.assert_allclose(other(scale * x) / scale, erasure(x), rtol=0, atol=_rounding(x))


@pytest.mark.parametrize("classes", [2, 3])
def test_fit_erases_fitted_words_and_probes_held_out_words(classes: int) -> None:
    eraser = fitted(classes=classes)
    words = labelled_words(sample(), Attribute.load(), classes=classes)
    x = words.vectors(sample())
    assert eraser.name == "leace"
    expected = fit_erasure(*_learned(classes))
    for name in ("left", "right", "bias"):
        np.testing.assert_array_equal(getattr(_erasure(eraser), name), getattr(expected, name))
    assert list(eraser.found) == probe_rows("sample", x, eraser(x), words, words.learned)
    value = {
        (row.details["stage"], row.details["method"], row.details["set"]): row.value
        for row in eraser.found
    }
    for classifier in ("svm", "logistic"):
        assert value["after", classifier, "fitted"] == pytest.approx(1 / classes, abs=1e-15)
        assert value["after", classifier, "test"] == pytest.approx(1 / classes, abs=1e-15)
        assert value["after", classifier, "unseen"] < value["before", classifier, "unseen"]


def test_an_embedding_is_erased_word_by_word() -> None:
    step = _erasure(fitted())
    after = fitted()(sample())
    assert after.name == "sample.leace"
    for word in ("she", "nurse", "table"):
        w = sample()[word].astype(float)
        expected = w - step.left @ (step.right @ (w - step.bias))
        reach = np.abs(step.left) @ (np.abs(step.right) @ np.abs(w - step.bias)) + np.abs(w)
        assert (np.abs(after[word] - expected) <= 4 * 100 * 2**-23 * reach).all()


def test_the_seed_decides_which_words_are_held_out() -> None:
    eraser, same, other = (fit(sample(), per_class=100, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(_erasure(eraser).left, _erasure(same).left)
    assert eraser.found == same.found
    assert not np.allclose(_erasure(eraser).left, _erasure(other).left)
    settings = {"classes": 2, "per_class": 100, "seed": 1, "method": "leace"}
    assert json.loads(json.dumps(eraser.settings)) == settings


def _pushed_apart(spread: list[float]) -> tuple[Matrix, Integers]:
    """Two classes with the same covariance, whose means differ by a hundredth of a deviation."""
    half = np.random.default_rng(0).normal(size=(500, 3))
    half = (half - half.mean(0)) @ np.linalg.inv(np.linalg.cholesky(_covariance(half))).T
    x = np.stack([half, half])
    x[1, :, 0] += 0.01
    return x.reshape(1000, 3) * spread, np.repeat([0, 1], 500)


def test_a_weak_difference_is_erased_as_well() -> None:
    """A correlation of .005 with the class, below what the library leaves by default."""
    x, labels = _pushed_apart([1, 2, 3])
    erased = fit_erasure(x, labels)(x)
    gap = erased[:500].mean(0) - erased[500:].mean(0)
    np.testing.assert_allclose(gap, 0, rtol=0, atol=_rounding(x))


def test_a_covariance_that_is_the_same_in_all_directions_is_no_special_case() -> None:
    """There is nothing to shrink; concept-erasure divides by how far it is from that."""
    x, labels = _pushed_apart([1, 1, 1])
    leace, orthogonal = (fit_erasure(x, labels, method) for method in METHODS)
    np.testing.assert_allclose(leace(x), orthogonal(x), rtol=0, atol=1e-4)
    assert np.abs(leace(x)[:500].mean(0) - leace(x)[500:].mean(0)).max() < _rounding(x)


def _few(n: int, d: int) -> tuple[Matrix, Integers]:
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 3
    return rng.normal(size=(n, d)) + 3 * np.eye(3, d)[labels], labels


@pytest.mark.parametrize(
    ("n", "d", "constant"), [(7, 20, 0), (4, 2, 0), (9, 1, 0), (30, 6, 3), (60, 5, 0)]
)
def test_few_vectors_and_constant_coordinates_are_no_special_case(
    n: int, d: int, constant: int
) -> None:
    """Fewer vectors than dimensions, one dimension, a covariance without full rank."""
    x, labels = _few(n, d)
    x[:, d - constant :] = 5.0
    erasure = fit_erasure(x, labels)
    erased = erasure(x)
    means = np.stack([erased[labels == label].mean(0) for label in range(3)])
    np.testing.assert_allclose(means, np.tile(x.mean(0), (3, 1)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(erased[:, d - constant :], 5.0, rtol=0, atol=1e-12)
    assert erasure.left.shape[1] <= min(2, d)


def test_coordinates_that_others_determine_are_erased_with_them() -> None:
    x, labels = _few(60, 4)
    doubled = np.concatenate([x, 2 * x], axis=1)
    erased = fit_erasure(doubled, labels)(doubled)
    means = np.stack([erased[labels == label].mean(0) for label in range(3)])
    np.testing.assert_allclose(means, np.tile(doubled.mean(0), (3, 1)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(erased[:, 4:], 2 * erased[:, :4], rtol=0, atol=1e-9)


def test_one_class_is_refused() -> None:
    with pytest.raises(WordbiasError, match="4 vectors are of one class"):
        fit_erasure(np.eye(4), np.zeros(4, np.intp))


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9, 1e15])
def test_coordinates_of_very_different_size_are_erased_too(size: float) -> None:
    x, labels = _few(60, 4)
    x *= [size, 1, 1, 1]
    erased = fit_erasure(x, labels)(x)
    means = np.stack([erased[labels == label].mean(0) for label in range(3)])
    assert np.ptp(means, axis=0).max() <= 1e-8 * size


def test_it_is_fitted_with_every_warning_an_error() -> None:
    code = (
        "import numpy as np; from wordbias.methods.leace import fit_erasure; "
        "x = np.random.default_rng(0).normal(size=(20, 3)); x.flags.writeable = False; "
        "print(fit_erasure(x, np.arange(20) % 2).left.shape)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "(3, 1)\n"), done.stderr


@pytest.mark.parametrize("method", METHODS)
def test_equal_means_leave_nothing_to_erase(method: str) -> None:
    x = np.tile(np.random.default_rng(0).normal(size=(20, 4)), (2, 1))
    with pytest.raises(WordbiasError, match="40 vectors do not differ in their means"):
        fit_erasure(x, np.repeat([0, 1], 20), method)


def test_vectors_without_a_length_are_refused() -> None:
    with pytest.raises(WordbiasError, match="10 vectors have the root mean square length 0"):
        fit_erasure(np.zeros((10, 3)), np.arange(10) % 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_vectors_that_are_not_finite_are_refused(bad: float) -> None:
    x = np.ones((10, 3))
    x[6, 1] = bad
    with pytest.raises(WordbiasError, match="row 7 holds a value that is not finite"):
        fit_erasure(x, np.arange(10) % 2)


def test_constant_vectors_and_few_words_are_refused() -> None:
    flat = sample().with_vectors(np.ones_like(sample().vectors))
    with pytest.raises(WordbiasError, match="the axis of gender, which is undefined"):
        fit(flat)
    with pytest.raises(WordbiasError, match="3 words a class are too few"):
        fit(sample(), per_class=3)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(WordbiasError, match="method 'inlp': expected one of leace, orth"):
        fit_erasure(np.eye(4), np.arange(4) % 2, "inlp")


@pytest.mark.slow
def test_it_needs_no_torch() -> None:
    code = (
        "import sys; from wordbias import Embedding; from wordbias.methods import leace; "
        "sample = Embedding.sample(); leace.fit(sample, per_class=20)(sample); "
        "print(sorted({'torch', 'concept_erasure'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.fixture
def step() -> Erasure:
    rng = np.random.default_rng(0)
    return Erasure(rng.normal(size=(5, 2)), rng.normal(size=(2, 5)), rng.normal(size=5))


def test_a_step_is_made_of_its_fields(step: Erasure) -> None:
    assert isinstance(step, Step)
    assert step.kind == "erasure"
    rebuilt = Erasure(**{part.name: getattr(step, part.name).tolist() for part in fields(step)})
    x = np.random.default_rng(1).normal(size=(3, 5))
    np.testing.assert_array_equal(rebuilt(x), step(x))
    for name in ("left", "right", "bias"):
        assert getattr(step, name).dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            getattr(step, name)[...] = 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5,), (7, 5), (2, 3, 5), (0, 5)])
def test_rows_of_any_shape_keep_their_type(
    step: Erasure, dtype: Any, shape: tuple[int, ...]
) -> None:
    x = np.random.default_rng(2).normal(size=shape).astype(dtype)
    x.flags.writeable = False
    got = step(x)
    assert (got.dtype, got.shape) == (dtype, shape)
    for row, after in zip(x.reshape(-1, 5), got.reshape(-1, 5), strict=True):
        move = step.left @ (step.right @ (row - step.bias))
        np.testing.assert_allclose(after, row - move, rtol=0, atol=1e2 * np.finfo(dtype).eps)


def test_the_bias_is_not_changed(step: Erasure) -> None:
    np.testing.assert_array_equal(step(step.bias), step.bias)


def test_rows_of_another_width_are_refused(step: Erasure) -> None:
    with pytest.raises(WordbiasError, match=r"expected rows of 5 values, got shape \(3, 4\)"):
        step(np.ones((3, 4)))


@pytest.mark.parametrize(
    ("left", "right", "bias"),
    [((5, 2), (3, 5), (5,)), ((5, 2), (2, 5), (4,)), ((5, 2), (5, 2), (5,))],
)
def test_factors_that_do_not_fit_are_refused(left: Any, right: Any, bias: Any) -> None:
    with pytest.raises(WordbiasError, match="expected factors of shapes"):
        Erasure(np.ones(left), np.ones(right), np.ones(bias))


@pytest.mark.parametrize("cls", [LEACE, wb.MHD, wb.Hard, wb.INLP])
def test_a_method_after_which_rows_differ_by_rounding_says_so(cls: Any) -> None:
    """A file of them is refused; three classes of the same rows leave a direction."""
    rng = np.random.default_rng(0)
    codes = np.arange(200) % 4
    x = (rng.normal(size=(4, 3)) * 3)[codes] + rng.normal(size=(200, 3))
    x = np.hstack([x, x @ rng.normal(size=(3, 2))])  # of five columns three are independent
    method = cls._name
    with pytest.warns(WordbiasWarning, match=f"{cls.__name__}: every direction in which the"):
        after = cls().fit(x, codes).transform(x)
    if cls is not wb.Hard:  # it brings rounding to length one
        assert np.ptp(after, axis=0).max() <= 1e-8 * np.ptp(x, axis=0).max()
    with pytest.warns(WordbiasWarning, match=f"{cls.__name__}: every direction in which the"):
        cls().fit(Labelled.of(x, codes.astype(str)))
    with pytest.raises(WordbiasError, match=f"{method}: every direction.* nothing is left"):
        wb.erase(x, codes, methods=method)
    three = codes < 3
    assert LEACE().fit(x[three], codes[three]).transform(x).std() > 0.1
    assert wb.erase(x[three], codes[three], methods="leace").report.rows
