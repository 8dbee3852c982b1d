"""The bias alignment model: orthogonal Procrustes, and which of its solutions is taken."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples
from scipy.linalg import orthogonal_procrustes

from wordbias import Attribute, Embedding, WordbiasError
from wordbias.methods.bam import align, fit
from wordbias.methods.fitted import Fitted
from wordbias.methods.words import listed_words
from wordbias.wordlists import resolve_pairs

Matrix = NDArray[np.float64]
EPS = float(np.finfo(float).eps)
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def fitted(sample: Embedding) -> Fitted:
    return fit(sample)


@pytest.fixture(scope="module")
def real(sample: Embedding, gender: Attribute) -> tuple[Matrix, Matrix]:
    """The pairs' vectors, looked up one by one."""
    pairs = resolve_pairs([*gender.pairs, *gender.equalise], sample).found
    first, second = (
        np.array([sample[pair[side]].astype(float) for pair in pairs]) for side in (0, 1)
    )
    return first, second


def _pairs(seed: int, n: int, d: int, apart: float = 1.0) -> tuple[Matrix, Matrix]:
    """Pairs whose second words are the first ones', moved."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(n, d))
    return first, first + apart * rng.normal(size=(n, d))


def _orthogonal(rng: np.random.Generator, d: int) -> Matrix:
    return np.linalg.qr(rng.normal(size=(d, d)))[0] if d else np.zeros((0, 0))


def _error(W: Matrix, first: Matrix, second: Matrix) -> float:
    return float(np.linalg.norm(first @ W - second))


@settings(max_examples=examples(60), deadline=None)
@given(SEEDS, st.integers(1, 12), st.integers(1, 8))
def test_the_map_is_orthogonal(seed: int, n: int, d: int) -> None:
    W = align(*_pairs(seed, n, d)).W
    np.testing.assert_allclose(W @ W.T, np.eye(d), rtol=0, atol=20 * d * EPS)


@settings(max_examples=examples(60), deadline=None)
@given(SEEDS, st.integers(1, 12), st.integers(1, 8))
def test_no_orthogonal_map_errs_less(seed: int, n: int, d: int) -> None:
    first, second = _pairs(seed, n, d)
    expected = _error(orthogonal_procrustes(first, second)[0], first, second)
    size = np.linalg.norm(first) + np.linalg.norm(second)
    # the error is a root: where it is nearly 0, so is what rounding of its square leaves
    slack = 10 * n * d * EPS * size**2
    assert _error(align(first, second).W, first, second) ** 2 <= expected**2 + slack


@settings(max_examples=examples(60), deadline=None)
@given(SEEDS, st.integers(0, 5), st.integers(1, 6))
def test_as_many_pairs_as_dimensions_leave_no_choice(seed: int, more: int, d: int) -> None:
    first, second = _pairs(seed, d + more, d)
    s = np.linalg.svd(first.T @ second)[1]
    assume(s[-1] > 1e-6 * s[0])
    alignment = align(first, second)
    assert (alignment.rank, alignment.turned) == (d, 0)
    # a polar factor is as exact as its two smallest singular values let it be
    bound = 50 * d * (d + more) * EPS * np.linalg.norm(first) * np.linalg.norm(second)
    bound /= s[-1] + s[max(d - 2, 0)]
    expected = orthogonal_procrustes(first, second)[0]
    np.testing.assert_allclose(alignment.W, expected, rtol=0, atol=bound)


@settings(max_examples=examples(80), deadline=None)
@given(SEEDS, st.integers(1, 5), st.integers(2, 8))
def test_of_all_that_err_least_it_is_the_nearest_to_the_identity(seed: int, n: int, d: int) -> None:
    assume(n < d)
    first, second = _pairs(seed, n, d)
    W, rank, turned = align(first, second)
    assert rank == n
    assert not turned
    U, _, Vt = np.linalg.svd(first.T @ second)
    rng = np.random.default_rng(seed)
    least, near = _error(W, first, second), np.linalg.norm(W - np.eye(d))
    size = np.linalg.norm(first) + np.linalg.norm(second)
    for _ in range(20):
        other = U[:, :n] @ Vt[:n] + U[:, n:] @ _orthogonal(rng, d - n) @ Vt[n:]
        # these are all the minimisers there are
        gap = abs(_error(other, first, second) ** 2 - least**2)
        assert gap <= 50 * n * d * EPS * size**2
        assert np.linalg.norm(other - np.eye(d)) >= near - 50 * d * EPS


@settings(max_examples=examples(40), deadline=None)
@given(SEEDS, st.integers(1, 3), st.integers(7, 9))
def test_vectors_orthogonal_to_all_pairs_do_not_change(seed: int, n: int, d: int) -> None:
    first, second = _pairs(seed, n, d)
    spanned = np.concatenate([first, second])
    rest = np.linalg.svd(spanned)[2][2 * n :]
    W = align(first, second).W
    # as exact as the pairs' span is known
    s = np.linalg.svd(first.T @ second)[1]
    condition = np.linalg.norm(first) * np.linalg.norm(second) / s[n - 1]
    np.testing.assert_allclose(rest @ W, rest, rtol=0, atol=100 * d * EPS * condition)


@settings(max_examples=examples(40), deadline=None)
@given(SEEDS, st.integers(1, 12), st.integers(1, 8))
def test_equal_sides_are_aligned_by_the_identity(seed: int, n: int, d: int) -> None:
    first, _ = _pairs(seed, n, d)
    s = np.linalg.svd(first.T @ first)[1]
    condition = s[0] / s[min(n, d) - 1]
    np.testing.assert_allclose(
        align(first, first).W, np.eye(d), rtol=0, atol=100 * d * n * EPS * condition
    )


def _resigned(svd: Callable[..., Any], seed: int) -> Callable[..., Any]:
    """Make another SVD of the same matrix: other signs, another basis of the null spaces."""
    rng = np.random.default_rng(seed)

    def other(x: Matrix, **options: Any) -> Any:
        u, s, vt = svd(x, **options)
        signs = rng.choice([-1.0, 1.0], len(s))
        u, vt = u * signs, signs[:, None] * vt
        null = s < 1e-9 * s.max(initial=0)
        k = int(null.sum())
        u[:, null] = u[:, null] @ _orthogonal(rng, k)
        vt[null] = _orthogonal(rng, k) @ vt[null]
        return u, s, vt

    return other


@pytest.mark.parametrize("seed", range(5))
def test_the_map_depends_on_no_choice_of_singular_vectors(
    real: tuple[Matrix, Matrix], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    first, second = real
    straight = np.linalg.svd(first.T @ second)
    expected = align(first, second).W
    monkeypatch.setattr(np.linalg, "svd", _resigned(np.linalg.svd, seed))
    got = align(first, second).W
    monkeypatch.undo()
    rank = len(first)
    assert rank < first.shape[1]
    conditions = [straight[1][0] / straight[1][rank - 1]]
    cosines = np.linalg.svd(straight[0][:, rank:].T @ straight[2][rank:].T)[1]
    conditions.append(1 / cosines[-1])
    bound = 100 * first.shape[1] * EPS * np.prod(conditions)
    np.testing.assert_allclose(got, expected, rtol=0, atol=bound)


def test_the_released_code_depends_on_the_choice_of_singular_vectors(
    sample: Embedding, real: tuple[Matrix, Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = real
    published = fit(sample, as_published=True).steps[0].matrix  # type: ignore[attr-defined]
    monkeypatch.setattr(np.linalg, "svd", _resigned(np.linalg.svd, 0))
    other = fit(sample, as_published=True).steps[0].matrix  # type: ignore[attr-defined]
    monkeypatch.undo()
    assert np.linalg.norm(published - other) > 1  # of matrices whose norm is at most 10
    U, _, Vt = np.linalg.svd(first.T @ second)
    # V^T alone aligns worse than nothing does, U V^T better
    straight, right, wrong = (_error(W, first, second) for W in (np.eye(len(U)), U @ Vt, Vt))
    assert wrong > straight > right


def test_as_released_the_first_row_is_the_sum_of_second_words(
    sample: Embedding, gender: Attribute
) -> None:
    """All combinations of two sides make A^T B the product of their sums, of rank 1."""
    pairs = resolve_pairs([*gender.pairs, *gender.equalise], sample).found
    left, right = ({pair[side] for pair in pairs} for side in (0, 1))
    a = [sample[x].astype(float) for x in sorted(left) for _ in right]
    b = [sample[y].astype(float) for _ in left for y in sorted(right)]
    product = np.array(a).T @ np.array(b)
    assert np.linalg.matrix_rank(product) == 1
    got = fit(sample, as_published=True)
    W = 2 * got.steps[0].matrix - np.eye(sample.dim)  # type: ignore[attr-defined]
    expected = sum(sample[y].astype(float) for y in sorted(right))
    assert abs(W[0] @ expected) == pytest.approx(np.linalg.norm(expected), rel=1e3 * EPS)
    np.testing.assert_allclose(W @ W.T, np.eye(sample.dim), rtol=0, atol=1e3 * EPS)
    assert got.settings == {"as_published": True}
    assert got.found[1].details["dimensions"] == 1
    assert "determine 1 of 100 rows of W" in got.warnings[0]


def test_a_vector_becomes_the_mean_of_itself_and_its_image(
    sample: Embedding, real: tuple[Matrix, Matrix], fitted: Fitted
) -> None:
    W = align(*(part.astype(np.float32) for part in real)).W
    x = sample.vectors.astype(float)
    bound = 2 * sample.dim * np.finfo(np.float32).eps * np.linalg.norm(x, axis=1).max()
    np.testing.assert_allclose(fitted(sample).vectors, (x + x @ W) / 2, rtol=0, atol=bound)
    assert fitted.reach(sample.words) == (len(sample), 0, 0)


def test_no_vector_grows(sample: Embedding, fitted: Fitted) -> None:
    assert np.linalg.svd(fitted.steps[0].matrix)[1].max() <= 1 + 100 * EPS  # type: ignore[attr-defined]


def test_rows_report_the_results_of_fitting(
    sample: Embedding, real: tuple[Matrix, Matrix], fitted: Fitted
) -> None:
    before, after = fitted.found
    first, second = real
    least = _error(orthogonal_procrustes(first, second)[0], first, second)
    assert [row.measure for row in fitted.found] == ["procrustes-error"] * 2
    assert [row.details["stage"] for row in fitted.found] == ["before", "after"]
    assert before.value == pytest.approx(np.linalg.norm(first - second), rel=1e3 * EPS)
    assert after.value == pytest.approx(least, rel=1e4 * EPS)
    assert (after.details["n"], after.details["dimensions"]) == (len(first), len(first))
    assert (fitted.name, dict(fitted.settings), fitted.warnings) == (
        "bam",
        {"as_published": False},
        (),
    )
    json.dumps([row.to_dict() for row in fitted.found])


def test_only_the_listed_words_matter_for_the_fit(
    sample: Embedding, gender: Attribute, fitted: Fitted
) -> None:
    """A file that is streamed is fitted on those words only."""
    listed = listed_words(gender)
    part = sample.subset(word for word in sample.words if word in listed)
    np.testing.assert_array_equal(fit(part).steps[0].matrix, fitted.steps[0].matrix)  # type: ignore[attr-defined]


def test_equalising_pairs_count_too(sample: Embedding, gender: Attribute, fitted: Fitted) -> None:
    alone = fit(sample, replace(gender, equalise=()))
    assert alone.found[0].details["n"] == len(resolve_pairs(gender.pairs, sample).found)
    assert fitted.found[0].details["n"] > alone.found[0].details["n"]
    swapped = fit(sample, replace(gender, pairs=gender.equalise, equalise=gender.pairs))
    np.testing.assert_allclose(
        swapped.steps[0].matrix,  # type: ignore[attr-defined]
        fitted.steps[0].matrix,  # type: ignore[attr-defined]
        atol=1e-8,
    )


def test_two_words_at_a_right_angle_leave_a_choice_and_a_caution() -> None:
    embedding = Embedding(["a", "b"], np.eye(2), "square")
    about = Attribute("side", ("l", "r"), (("a",), ("b",)), (("a", "b"),))
    assert align([[1, 0]], [[0, 1]]).turned == 1
    got = fit(embedding, about)
    assert "the pairs turn 1 dimension by 90°" in got.warnings[0]
    np.testing.assert_allclose(got(embedding)["a"], [0.5, 0.5], atol=EPS)


def test_rank_is_not_taken_from_rounding() -> None:
    """A first word that lies between two others, but for float32, determines nothing new."""
    first, second = (part.astype(np.float32) for part in _pairs(0, 3, 6))
    first[2] = (first[0] + first[1]) / 3
    s = np.linalg.svd(first.astype(float).T @ second.astype(float))[1]
    assert s[2] > 1e6 * EPS * s[0]
    assert align(first, second).rank == 2


def test_whole_numbers_are_aligned_as_floats() -> None:
    first, second = np.array([[3, 1], [0, 2]]), np.array([[2, 1], [1, 2]])
    np.testing.assert_allclose(
        align(first, second).W, align(first.astype(float), second.astype(float)).W, atol=10 * EPS
    )


def test_arguments_stay_as_they_are() -> None:
    first, second = _pairs(1, 3, 5)
    copies = first.copy(), second.copy()
    align(first, second)
    np.testing.assert_array_equal([first, second], copies)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (np.ones((2, 3)), np.ones((2, 4)), "expected pairs of vectors, got the shapes (2, 3) and"),
        (np.ones((2, 3)), np.ones((3, 3)), "(2, 3) and (3, 3)"),
        (np.ones(3), np.ones(3), "shape (n, d), got (3,)"),
        (np.zeros((2, 3)), np.ones((2, 3)), "2 pairs determine no alignment"),
        ([[1, 0], [1, 0]], [[1, 1], [-1, -1]], "2 pairs determine no alignment"),
    ],
)
def test_pairs_that_determine_nothing_are_refused(first: Any, second: Any, message: str) -> None:
    with pytest.raises(WordbiasError, match=re.escape(message)):
        align(first, second)


def test_an_attribute_without_pairs_is_refused(sample: Embedding, gender: Attribute) -> None:
    with pytest.raises(WordbiasError, match=r"bam needs pairs .* gender alone.* has none"):
        fit(sample, replace(gender, pairs=(), equalise=()))


def test_pairs_that_are_not_there_are_refused(sample: Embedding, gender: Attribute) -> None:
    strange = (("qqqx", "qqqy"), ("she", "qqqz"))
    with pytest.raises(WordbiasError, match=r"pairs for bam: 0 of 2 pairs found .*qqqx/qqqy"):
        fit(sample, replace(gender, pairs=strange, equalise=()))


def test_pairs_without_a_difference_are_refused(sample: Embedding, gender: Attribute) -> None:
    same = sample.with_vectors(np.ones_like(sample.vectors))
    with pytest.raises(WordbiasError, match="all 64 pairs for bam have equal vectors"):
        fit(same, gender)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_word_that_is_not_finite_is_named(sample: Embedding, value: float) -> None:
    vectors = sample.vectors.copy()
    vectors[sample.index["uncle"], 7] = value
    with pytest.raises(WordbiasError, match="the vector of 'uncle' is not finite"):
        fit(sample.with_vectors(vectors))


def test_anything_but_an_embedding_is_refused() -> None:
    with pytest.raises(WordbiasError, match="expected an Embedding, got NoneType"):
        fit(None)  # type: ignore[arg-type]
