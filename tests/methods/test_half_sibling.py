"""Half-sibling regression against ridge regression, its closed form and its limits."""

from __future__ import annotations

import json
import re
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples

from wordbias import Attribute, Embedding, WordbiasError
from wordbias.methods.fitted import Fitted
from wordbias.methods.half_sibling import ALPHA, fit, regression
from wordbias.methods.transform import Projection
from wordbias.methods.words import listed_words

Matrix = NDArray[np.float64]
EPS, EPS32 = (float(np.finfo(kind).eps) for kind in (float, np.float32))


@pytest.fixture(scope="module")
def fitted(sample: Embedding) -> Fitted:
    return fit(sample)


@pytest.fixture
def few() -> Attribute:
    """An attribute of three specific words."""
    specific = frozenset({"she", "he", "nun"})
    return Attribute("gender", ("f", "m"), (("she",), ("he",)), specific=specific)


@pytest.fixture
def emb() -> Embedding:
    words = ["she", "He", "HE", "he", "table", "Nun", "hE", "tree", "the"]
    return Embedding(words, np.random.default_rng(0).normal(size=(9, 5)), "tiny")


def _random(seed: int, n: int, d: int) -> Matrix:
    return np.random.default_rng(seed).normal(size=(n, d))


def _residuals(definition: Matrix, x: Matrix, alpha: float) -> Matrix:
    """Regress every row of `x` on the rows of `definition`; dimensions are the observations."""
    from sklearn.linear_model import Ridge

    G, N = definition.T, x.T
    weights = Ridge(alpha=alpha, fit_intercept=False, solver="cholesky").fit(G, N).coef_.T
    return (N - G @ weights).T


def test_it_leaves_the_residuals_of_ridge_regression(sample: Embedding, fitted: Fitted) -> None:
    gender = Attribute.load()
    listed = {word.lower() for word in gender.specific}
    own = [word for word in sample.words if word.lower() in listed]
    others = [word for word in sample.words if word.lower() not in listed][:300]
    x = sample.take(others).astype(float)
    expected = _residuals(sample.take(own).astype(float), x, 60)
    longest = np.linalg.norm(x, axis=1).max()
    bound = (2 * sample.dim) * EPS32 * longest  # d + k terms in float32
    got = fitted(sample).take(others)
    np.testing.assert_allclose(got, expected, rtol=0, atol=bound)
    exact = fitted.steps[0](x)
    # ridge solves m equations whose condition is that of G^T G + αI
    condition = np.linalg.norm(sample.take(own).astype(float)) ** 2 / 60 + 1
    bound = condition * len(own) * EPS * longest
    np.testing.assert_allclose(exact, expected, rtol=0, atol=bound)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.integers(1, 8),
    st.floats(1e-3, 1e3, allow_subnormal=False),
)
def test_it_is_its_formula(seed: int, m: int, d: int, alpha: float) -> None:
    definition, x = _random(seed, m, d), _random(seed + 1, 5, d)
    assume(np.linalg.norm(definition, 2) ** 2 > 2 * EPS32 * alpha)  # else it is refused
    G = definition.T
    hat = G @ np.linalg.inv(G.T @ G + alpha * np.eye(m)) @ G.T
    got = regression(definition, alpha).remove(x)
    # an inverse is as exact as the condition of the matrix lets it be
    condition = np.linalg.norm(G) ** 2 / alpha + 1
    bound = 10 * m * d * EPS * condition * np.linalg.norm(x, axis=1).max()
    np.testing.assert_allclose(got, x - x @ hat, rtol=0, atol=bound)
    np.testing.assert_allclose(got, _residuals(definition, x, alpha), rtol=0, atol=bound)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.floats(1e-9, 1e-3))
def test_towards_alpha_0_it_is_the_orthogonal_projection(seed: int, m: int, alpha: float) -> None:
    definition, x = _random(seed, m, 8), _random(seed + 1, 5, 8)
    q = np.linalg.qr(definition.T)[0]
    smallest = np.linalg.svd(definition)[1].min()
    gap = np.linalg.norm(regression(definition, alpha).remove(x) - (x - x @ q @ q.T), 2)
    slack = 100 * EPS * (1 + np.linalg.norm(definition) / smallest)
    assert gap <= (alpha / (smallest**2 + alpha) + slack) * np.linalg.norm(x, 2)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.floats(1e2, 1e6))
def test_towards_alpha_infinite_it_changes_nothing(seed: int, m: int, alpha: float) -> None:
    definition, x = _random(seed, m, 8), _random(seed + 1, 5, 8)
    largest = np.linalg.svd(definition)[1].max()
    change = np.linalg.norm(regression(definition, alpha).remove(x) - x, 2)
    assert change <= (largest**2 / (largest**2 + alpha) + 100 * EPS) * np.linalg.norm(x, 2)


def test_an_alpha_that_changes_nothing_is_refused() -> None:
    definition = np.eye(2, 4) * [3, 1, 0, 0]
    regression(definition, 9 / EPS32 / 2)
    with pytest.raises(WordbiasError, match=r"nothing would change, .* singular value is 3; give"):
        regression(definition, 9 / EPS32 * 2)


@pytest.mark.parametrize("alpha", [0, -1, -60.0, float("nan"), float("inf"), float("-inf")])
def test_an_alpha_that_is_none_is_refused(sample: Embedding, alpha: float) -> None:
    with pytest.raises(WordbiasError, match=rf"alpha {alpha}: expected a positive number"):
        fit(sample, alpha=alpha)


def test_the_penalty_is_60_by_default() -> None:
    definition = np.eye(1, 3) * np.sqrt(60)
    assert ALPHA == 60
    assert regression(definition).weights.tolist() == pytest.approx([0.5], rel=10 * EPS)


def test_repeated_words_count_twice_but_add_no_direction() -> None:
    definition = _random(0, 3, 6)
    twice = regression(np.concatenate([definition, definition]), 2.0)
    once = regression(definition, 1.0)
    assert twice.dims == once.dims == 3
    np.testing.assert_allclose(twice.weights, once.weights, rtol=100 * EPS)


def test_specific_words_stay_and_all_others_change(sample: Embedding, fitted: Fitted) -> None:
    after = fitted(sample).vectors
    listed = {word.lower() for word in Attribute.load().specific}
    own = np.array([word.lower() in listed for word in sample.words])
    np.testing.assert_array_equal(after[own], sample.vectors[own])
    assert (after[~own] != sample.vectors[~own]).any(axis=1).all()
    assert fitted.reach(sample.words) == ((~own).sum(), 0, own.sum())


def test_all_capitalisations_are_regressed_on_and_stay(emb: Embedding, few: Attribute) -> None:
    got = fit(emb, few, alpha=0.5)
    own = ["she", "He", "HE", "he", "Nun"]  # as written, Capitalised, UPPER; hE is no spelling
    expected = regression(emb.take(sorted(own)), 0.5)
    np.testing.assert_array_equal(got.steps[0].subspace.basis, expected.basis)  # type: ignore[attr-defined]
    after = got(emb)
    changed = [word for word in emb.words if (after[word] != emb[word]).any()]
    assert changed == ["table", "hE", "tree", "the"]
    assert got.found[0].details["n"] == 5


def test_it_is_one_soft_projection(fitted: Fitted) -> None:
    (step,) = fitted.steps
    assert isinstance(step, Projection)
    assert not step.hard
    weights = step.subspace.weights
    assert (np.diff(weights) <= 0).all()
    assert weights.max() < 1


def test_rows_report_the_results_of_fitting(sample: Embedding, fitted: Fitted) -> None:
    (row,) = fitted.found
    listed = {word.lower() for word in Attribute.load().specific}
    own = [word for word in sample.words if word.lower() in listed]
    G = sample.take(own).astype(float).T
    hat = G @ np.linalg.solve(G.T @ G + 60 * np.eye(len(own)), G.T)
    assert (row.subject, row.measure) == (sample.name, "degrees-of-freedom")
    assert row.value == pytest.approx(np.trace(hat), rel=1e-9)
    assert dict(row.details) == {"n": len(own), "dimensions": 100}
    assert (fitted.name, json.loads(json.dumps(dict(fitted.settings)))) == (
        "half-sibling",
        {"alpha": 60.0},
    )


def test_it_says_when_little_of_the_vectors_is_left(emb: Embedding, few: Attribute) -> None:
    strong, weak = (fit(emb, few, alpha=alpha) for alpha in (1e-3, 1e3))
    assert not weak.warnings
    assert re.match(r"5 specific words predict 5\.0 of 5 dimensions", strong.warnings[0])


@pytest.mark.parametrize("specific", [frozenset(), frozenset({"unheard", "of"})])
def test_an_attribute_without_specific_words_is_refused(
    emb: Embedding, few: Attribute, specific: frozenset[str]
) -> None:
    message = rf"tiny: none of the {len(specific)} specific words of gender found \(at least 1"
    with pytest.raises(WordbiasError, match=message):
        fit(emb, replace(few, specific=specific))


def test_specific_words_that_are_all_zero_are_refused(emb: Embedding, few: Attribute) -> None:
    with pytest.raises(WordbiasError, match="the vectors of all 5 specific words are zero"):
        fit(emb.with_vectors(np.zeros((9, 5))), few)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_specific_word_that_is_not_finite_is_named(
    emb: Embedding, few: Attribute, value: float
) -> None:
    vectors = emb.vectors.copy()
    vectors[5, 1] = value
    with pytest.raises(WordbiasError, match="tiny: the vector of 'Nun' is not finite"):
        fit(emb.with_vectors(vectors), few)


@pytest.mark.parametrize("definition", [np.ones(3), np.ones((2, 2, 2))])
def test_columns_of_another_shape_are_refused(definition: Any) -> None:
    with pytest.raises(WordbiasError, match=re.escape(str(definition.shape))):
        regression(definition)


def test_anything_but_an_embedding_is_refused() -> None:
    with pytest.raises(WordbiasError, match="expected an Embedding, got dict"):
        fit({})  # type: ignore[arg-type]


def test_only_the_listed_words_matter_for_the_fit(sample: Embedding, fitted: Fitted) -> None:
    """A file that is streamed is fitted on those words only."""
    listed = listed_words(Attribute.load())
    part = sample.subset(word for word in sample.words if word in listed)
    refitted = fit(part)
    np.testing.assert_array_equal(
        refitted.steps[0].subspace.basis,  # type: ignore[attr-defined]
        fitted.steps[0].subspace.basis,  # type: ignore[attr-defined]
    )
    assert refitted.exempt == fitted.exempt


def test_debiasing_takes_less_than_twice_the_matrix() -> None:
    """The other tool's weights, specific words times vocabulary, take thirty times as much."""
    specific = [f"s{i}" for i in range(1000)]
    words = [*specific, *(f"w{i}" for i in range(40_000))]
    vectors = np.random.default_rng(0).random((len(words), 50), np.float32)
    embedding = Embedding(words, vectors)
    about = Attribute("gender", ("f", "m"), (("a",), ("b",)), specific=frozenset(specific))
    tracemalloc.start()
    fit(embedding, about)(embedding)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert vectors.nbytes < peak < 2 * vectors.nbytes
    assert 4 * len(specific) * len(words) > 10 * vectors.nbytes
