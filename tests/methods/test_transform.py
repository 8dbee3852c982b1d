"""Steps of fitted methods; the graded rotation against its four cases and its theorems."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray
from quick_cases import examples

from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.transform import (
    GradedRotation,
    Linear,
    Normalise,
    Projection,
    Shift,
    Step,
    angle_between,
    refuse_no_change,
    transformed,
    turns,
)
from wordbias.subspace import Subspace

WORDS = ["she", "he", "nurse", "doctor"]
X = np.array([[3.0, 4, 0], [0, 5, 0], [1, 2, 2], [0, 0, 0]], np.float32)

Matrix = NDArray[np.float64]
EPS, EPS32 = (float(np.finfo(kind).eps) for kind in (float, np.float32))
SEEDS = st.integers(0, 2**32 - 1)
DEGREES = st.floats(1, 179).filter(lambda angle: abs(angle - 90) > 1e-3)
PUBLISHED = [30.0, 45.0, 70.0, 72.1]


@pytest.fixture
def embedding() -> Embedding:
    return Embedding(WORDS, X)


def _along(i: int) -> Projection:
    return Projection(Subspace.from_direction(np.eye(3)[i]), hard=True)


def test_normalise_keeps_zero_rows_and_float_types() -> None:
    for dtype in (np.float32, np.float64):
        out = Normalise()(X.astype(dtype))
        assert out.dtype == dtype
        np.testing.assert_allclose(np.linalg.norm(out, axis=1), [1, 1, 1, 0], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e20, 1e30])
def test_normalise_where_squares_leave_the_range(scale: float) -> None:
    x = X[:3] * np.float32(scale)
    expected = X[:3].astype(float) / np.linalg.norm(X[:3], axis=1, keepdims=True)
    np.testing.assert_allclose(Normalise()(x), expected, rtol=1e-5)


@settings(max_examples=examples(50), deadline=None)
@given(
    arrays(
        np.float64,
        array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5),
        elements=st.floats(-1e6, 1e6, allow_subnormal=False),
    )
)
def test_normalise_is_idempotent(x: np.ndarray) -> None:
    before = x.copy()
    once = Normalise()(x)
    np.testing.assert_allclose(Normalise()(once), once, atol=1e-12)
    np.testing.assert_array_equal(x, before)


def test_steps_are_steps_and_map_rows() -> None:
    shift, linear = Shift([1.0, 2, 3]), Linear(np.diag([1.0, 2, 3]))
    for step in (shift, linear, Normalise(), _along(0)):
        assert isinstance(step, Step)
    np.testing.assert_array_equal(shift(X), X - np.array([1, 2, 3]))
    np.testing.assert_array_equal(linear(X), X * np.array([1, 2, 3]))
    assert shift(X).dtype == linear(X).dtype == np.float32
    with pytest.raises(WordbiasError, match="expected rows of 3 values, got shape"):
        linear(X[:, :2])
    with pytest.raises(ValueError, match="read-only"):
        linear.matrix[0, 0] = 7


def test_a_method_that_changes_no_direction_is_refused(embedding: Embedding) -> None:
    longer = embedding.with_vectors(2 * X)
    for after in (embedding, longer):
        with pytest.raises(WordbiasError, match="m changed no word of embedding"):
            refuse_no_change("m", embedding, after)
    once = transformed(embedding, _along(1))
    refuse_no_change("m", embedding, once)
    with pytest.raises(WordbiasError, match="debiased already"):
        refuse_no_change("m", once, transformed(once, _along(1)))


def test_one_turned_row_of_many_is_a_change() -> None:
    x = np.ones((9000, 3), np.float32)
    y = x.copy()
    assert not turns(x, y)
    y[8999, 0] = 1.001
    assert turns(x, y)
    assert turns(x, y[:, :2])


# graded rotation


def _plane(degrees: float, d: int = 5, seed: int = 0) -> tuple[Matrix, Matrix, Matrix]:
    """Two unit directions at an angle in a random plane, and an orthonormal basis of the space."""
    u = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0].T
    theta = np.radians(degrees)
    return u[0], np.cos(theta) * u[0] + np.sin(theta) * u[1], u


def _case_by_case(v1: Matrix, v2: Matrix, x: Matrix) -> Matrix:
    """Dev et al. (2021): one vector, a whole basis, a 2 × 2 rotation, four cases."""
    if v1 @ v2 < 0:
        v2 = -v2
    rest = np.random.default_rng(9).normal(size=(len(v1), len(v1) - 2))
    basis = np.linalg.qr(np.column_stack([v1, v2, rest]))[0].T
    basis[0], basis[1] = v1 / np.linalg.norm(v1), basis[1] * np.sign(basis[1] @ v2)
    theta = np.arccos(v1 @ v2 / np.linalg.norm(v1) / np.linalg.norm(v2))
    to_go = np.pi / 2 - theta
    c = basis @ x
    length = np.hypot(c[0], c[1])
    if length == 0:
        return x
    phi = np.arccos(np.clip(c[0] / length, -1, 1))
    if c[1] > 0 and phi <= theta:
        turn = to_go * phi / theta
    elif c[1] > 0:
        turn = to_go * (np.pi - phi) / (np.pi - theta)
    elif phi < np.pi - theta:
        turn = to_go * phi / (np.pi - theta)
    else:
        turn = to_go * (np.pi - phi) / theta
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    c[:2] = rotation @ c[:2]
    return np.array(basis.T @ c)


def _circle(u: Matrix, angles: Matrix) -> Matrix:
    return np.cos(angles)[:, None] * u[0] + np.sin(angles)[:, None] * u[1]


def _angles(u: Matrix, x: Matrix) -> Matrix:
    return np.arctan2(x @ u[1], x @ u[0])


@pytest.mark.parametrize("degrees", [*PUBLISHED, 1, 89.9, 90.1, 110, 135, 179])
@pytest.mark.parametrize("seed", range(3))
def test_the_second_direction_is_rotated_to_90_degrees_and_the_first_stays(
    degrees: float, seed: int
) -> None:
    v1, v2, _ = _plane(degrees, seed=seed)
    step = GradedRotation(v1, v2)
    for sign in (1, -1):
        assert abs(step(sign * v2) @ v1) < 1e-12
        assert np.linalg.norm(step(sign * v2)) == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(step(sign * v1), sign * v1, rtol=0, atol=1e-12)


@settings(max_examples=examples(100), deadline=None)
@given(SEEDS, DEGREES, st.integers(2, 6))
def test_it_is_the_four_cases(seed: int, degrees: float, d: int) -> None:
    v1, v2, _ = _plane(degrees, d, seed)
    x = np.random.default_rng(seed + 1).normal(size=(6, d))
    expected = [_case_by_case(v1, v2, row) for row in x]
    # an arc cosine is exact to the root of eps; at these angles the circle is stretched up to 90 ×
    bound = 2 * 90 * np.sqrt(EPS) * np.linalg.norm(x, axis=1).max()
    np.testing.assert_allclose(GradedRotation(v1, v2)(x), expected, rtol=0, atol=bound)


@pytest.mark.parametrize(("degrees", "comes_to"), [(30, 45), (72.1, 120.1)])
def test_with_the_angles_swapped_as_released_it_would_not_be_90_degrees(
    degrees: float, comes_to: float
) -> None:
    """The released cases for a vector above v1, where that vector is v2 itself."""
    theta, to_go = degrees, 90 - degrees
    phi = degrees
    turn = theta * (phi / to_go if phi < to_go else (180 - phi) / (180 - to_go))
    assert phi + turn == pytest.approx(comes_to, abs=0.05)
    v1, v2, u = _plane(degrees)
    assert _angles(u, GradedRotation(v1, v2)(v2)) == pytest.approx(np.pi / 2, abs=1e-12)


@settings(max_examples=examples(100), deadline=None)
@given(SEEDS, DEGREES, st.integers(2, 8))
def test_lengths_are_kept_and_what_is_orthogonal_to_the_plane_stays(
    seed: int, degrees: float, d: int
) -> None:
    v1, v2, u = _plane(degrees, d, seed)
    step = GradedRotation(v1, v2)
    x = np.random.default_rng(seed + 1).normal(size=(20, d)) * 3
    length = np.linalg.norm(x, axis=1)
    np.testing.assert_allclose(np.linalg.norm(step(x), axis=1), length, rtol=20 * d * EPS)
    # a plane of nearly parallel directions is known as exactly as they differ
    slack = 20 * d * EPS / abs(np.sin(np.radians(degrees)))
    np.testing.assert_allclose(step(x) @ u[2:].T, x @ u[2:].T, rtol=0, atol=slack * length.max())
    np.testing.assert_allclose(step(u[2:]), u[2:], rtol=0, atol=slack)


@pytest.mark.parametrize("degrees", [*PUBLISHED, 1, 89, 91, 135, 179])
def test_around_the_circle_it_is_continuous_and_one_to_one(degrees: float) -> None:
    v1, v2, u = _plane(degrees)
    theta = np.radians(degrees)
    step = 1e-4
    kinks = [0, theta, np.pi, theta - np.pi, -np.pi]
    near = [kink + side for kink in kinks for side in (-1e-9, 0, 1e-9)]
    angles = np.sort(np.concatenate([np.arange(-np.pi, np.pi, step), near]))
    image = np.unwrap(_angles(u, GradedRotation(v1, v2)(_circle(u, angles))))
    grown, went = np.diff(image), np.diff(angles)
    slopes = np.pi / 2 / theta, np.pi / 2 / (np.pi - theta)
    slack = 100 * EPS * max(slopes)
    assert (grown >= min(slopes) * went - slack).all()  # never back: no two meet
    assert (grown <= max(slopes) * went + slack).all()  # never a jump
    assert image[-1] - image[0] == pytest.approx(angles[-1] - angles[0], abs=1e-6)  # once around


@pytest.mark.parametrize("degrees", [*PUBLISHED, 135])
def test_each_side_is_stretched_evenly(degrees: float) -> None:
    v1, v2, u = _plane(degrees)
    knots = np.radians([-180, degrees - 180, 0, degrees, 180])
    angles = np.linspace(-3.14, 3.14, 1001)
    expected = np.interp(angles, knots, np.radians([-180, -90, 0, 90, 180]))
    got = _angles(u, GradedRotation(v1, v2)(_circle(u, angles)))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


@settings(max_examples=examples(60), deadline=None)
@given(SEEDS, DEGREES, st.floats(1e-100, 1e100), st.sampled_from([-1, 1]))
def test_it_is_odd_and_homogeneous(seed: int, degrees: float, size: float, sign: int) -> None:
    factor = sign * size
    v1, v2, _ = _plane(degrees, 4, seed)
    step = GradedRotation(v1, v2)
    x = np.random.default_rng(seed + 1).normal(size=(10, 4))
    slack = 200 * EPS * 90 * abs(factor) * np.linalg.norm(x, axis=1).max()
    np.testing.assert_allclose(step(factor * x), factor * step(x), rtol=0, atol=slack)


@settings(max_examples=examples(60), deadline=None)
@given(SEEDS, DEGREES, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_it_depends_on_two_lines_not_on_signs_or_lengths(
    seed: int, degrees: float, one: float, other: float
) -> None:
    v1, v2, _ = _plane(degrees, 4, seed)
    x = np.random.default_rng(seed + 1).normal(size=(10, 4))
    expected = GradedRotation(v1, v2)(x)
    slack = 200 * EPS * 90**2 * np.linalg.norm(x, axis=1).max()
    for a, b in ((one, other), (-one, other), (one, -other), (-one, -other)):
        got = GradedRotation(a * v1, b * v2)(x)
        np.testing.assert_allclose(got, expected, rtol=0, atol=slack)


@pytest.mark.parametrize("degrees", [2.0, *PUBLISHED, 135.0])
def test_float32_is_as_exact_as_float32_can_be(degrees: float) -> None:
    v1, v2, u = _plane(degrees, 100)
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(size=(500, 100)), _circle(u, rng.uniform(-4, 4, 500))])
    x = x.astype(np.float32)
    step = GradedRotation(v1, v2)
    got = step(x)
    assert got.dtype == np.float32
    theta = np.radians(min(degrees, 180 - degrees))
    steepest = np.pi / 2 / theta  # so much a wrong angle grows
    bound = (100 + 10 * steepest) * EPS32 * np.linalg.norm(x, axis=1)
    assert (np.abs(got - step(x.astype(float))).max(axis=1) <= bound).all()


@pytest.mark.parametrize("shape", [(5,), (1, 5), (0, 5), (3, 5), (2, 3, 5), (2, 0, 3, 5)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_of_any_leading_shape(shape: tuple[int, ...], kind: type) -> None:
    step = GradedRotation(*_plane(50)[:2])
    x = np.random.default_rng(0).normal(size=shape).astype(kind)
    before = x.copy()
    got = step(x)
    assert (got.shape, got.dtype) == (shape, kind)
    np.testing.assert_array_equal(x, before)
    flat = [step(row) for row in x.reshape(-1, 5)]
    slack = 20 * np.finfo(kind).eps * np.abs(x).max(initial=0)
    np.testing.assert_allclose(got.reshape(-1, 5), np.reshape(flat, (-1, 5)), atol=slack)


def test_whole_numbers_are_rotated_as_floats() -> None:
    step = GradedRotation([1, 0], [1, 1])
    np.testing.assert_allclose(step(np.array([[2, 2]])), [[0, np.sqrt(8)]], atol=1e-12)


def test_zero_stays_zero_and_signs_of_zero_do_not_matter() -> None:
    step = GradedRotation([1, 0, 0], [1, 1, 0])
    np.testing.assert_array_equal(step(np.zeros((2, 3))), np.zeros((2, 3)))
    for zero in (0.0, -0.0):
        for a in (1.0, -1.0):
            np.testing.assert_allclose(step(np.array([a, zero, zero])), [a, 0, 0], atol=EPS)


@pytest.mark.parametrize("d", [2, 3, 7])
def test_the_basis_is_orthonormal_for_a_first_direction_along_an_axis(d: int) -> None:
    """AllenNLP's Gram-Schmidt projects onto axes, not onto earlier rows, and divides by zero."""
    for axis in range(d):
        v1 = np.eye(d)[axis]
        for sign in (1, -1):
            v2 = sign * v1 + np.random.default_rng(axis).normal(size=d)
            basis = GradedRotation(v1, v2).basis
            np.testing.assert_allclose(basis @ basis.T, np.eye(2), rtol=0, atol=10 * EPS)
            np.testing.assert_array_equal(basis[0], v1)
            assert basis[1] @ v2 > 0


@settings(max_examples=examples(60), deadline=None)
@given(SEEDS, st.floats(-5.5, 0), st.floats(-150, 150), st.integers(2, 6))
def test_the_basis_is_orthonormal_for_nearly_parallel_directions_of_any_length(
    seed: int, apart: float, scale: float, d: int
) -> None:
    rng = np.random.default_rng(seed)
    v1, v2, _ = _plane(np.degrees(10**apart), d, seed)
    step = GradedRotation(v1 * 10**scale, v2 * rng.uniform(0.1, 10))
    np.testing.assert_allclose(step.basis @ step.basis.T, np.eye(2), rtol=0, atol=10 * EPS)
    assert step.angle == pytest.approx(10**apart, rel=20 * EPS / 10**apart)


@pytest.mark.parametrize(
    ("v1", "v2", "message"),
    [
        ([1, 0], [1, 0], "parallel"),
        ([1, 2, 3], [-2, -4, -6], "parallel"),
        ([1, 0], [1, 1e-6], "parallel"),
        ([1, 0], [0, 1], "orthogonal already"),
        ([1, 0], [-1e-6, 1], "orthogonal already"),
        ([1, 1, 0], [1, -1, 5], "orthogonal already"),
        ([0, 0], [0, 1], "must be finite and not zero"),
        ([1, 0], [0, 0], "must be finite and not zero"),
        ([1, np.nan], [0, 1], "must be finite and not zero"),
        ([1, 0], [np.inf, 1], "must be finite and not zero"),
        ([1, 0], [1, 1, 1], "of one shape (d,), got (2,), (3,)"),
        (np.ones((1, 2)), np.eye(1, 2), "of one shape (d,), got (1, 2), (1, 2)"),
    ],
)
def test_directions_without_a_plane_or_anything_to_do_are_refused(
    v1: Any, v2: Any, message: str
) -> None:
    with pytest.raises(WordbiasError, match=re.escape(message)):
        GradedRotation(v1, v2)


@pytest.mark.parametrize("shape", [(4,), (3, 6), (5, 1)])
def test_rows_of_another_width_are_refused(shape: tuple[int, ...]) -> None:
    step = GradedRotation(*_plane(50)[:2])
    with pytest.raises(WordbiasError, match=r"expected rows of 5 values, got shape"):
        step(np.ones(shape))


def test_it_is_a_step_that_its_fields_make_again() -> None:
    step = GradedRotation([1.0, 2.0, 0.0], [3.0, 0.0, 1.0])
    assert isinstance(step, Step)
    assert step.kind == "graded-rotation"
    rebuilt = GradedRotation(**{field.name: getattr(step, field.name) for field in fields(step)})
    x = np.random.default_rng(0).normal(size=(7, 3))
    np.testing.assert_array_equal(step(x), rebuilt(x))
    with pytest.raises(ValueError, match="read-only"):
        step.v1[0] = 0


@settings(max_examples=examples(40), deadline=None)
@given(SEEDS, st.floats(1e-12, np.pi))
def test_angles_are_exact_where_an_arc_cosine_is_not(seed: int, angle: float) -> None:
    v, w, _ = _plane(np.degrees(angle), 4, seed)
    assert angle_between(v, w) == pytest.approx(angle, abs=20 * EPS)
