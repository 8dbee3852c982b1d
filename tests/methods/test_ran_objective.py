"""The objective of RAN-Debias: its definition, its gradient, its two forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples

from wordbias.methods.ran.optimise import Objective, Pull

D, VOCABULARY = 6, 12


def _unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def _slope(objective, x, w, sets):
    out = np.empty_like(x)
    inverse = 1 / np.linalg.norm(x, axis=1)
    pull = Pull(objective, x, w, sets).value
    objective.slope(x, inverse, pull, out, np.empty_like(x))
    return out


def _by_definition(objective, x, w, repelled):
    """J at one `x`, of any length, from the paper's formula and from the released code's."""

    def cos(a, b):
        return a @ b / np.sqrt(a @ a) / np.sqrt(b @ b)

    first, second, third = objective.weights
    repulsion = sum(abs(cos(x, v)) for v in repelled) / len(repelled) if len(repelled) else 0
    attraction = abs(cos(x, w) - 1) / 2
    if objective.as_published:
        return first * repulsion + second * attraction + second * abs(x @ objective.g)
    return first * repulsion + second * attraction + third * abs(cos(x, objective.g))


def _case(seed, published, weights=(0.2, 0.5, 0.3)):
    """Four words of any length, with repulsion sets of none, one, several and all vectors."""
    rng = np.random.default_rng(seed)
    vectors = _unit(rng.normal(size=(VOCABULARY, D)))
    objective = Objective(vectors, _unit(rng.normal(size=D)), weights, published)
    sets = [np.arange(0), np.array([3]), np.array([7, 0, 5]), np.arange(VOCABULARY)]
    x = rng.normal(size=(4, D))
    return objective, x, _unit(rng.normal(size=(4, D))), sets


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=examples(50), deadline=None)
def test_gradient_is_the_finite_difference(seed, published) -> None:
    objective, x, w, sets = _case(seed, published)
    slope = _slope(objective, x, w, sets)
    h = 1e-6
    for i, vector in enumerate(x):
        length = np.linalg.norm(vector)
        around = np.array([*objective.vectors[sets[i]], objective.g, w[i]]) @ vector / length
        # a kink within reach of h, and attraction's at cos = 1, have no derivative
        if length < 0.5 or np.abs(around[:-1]).min() < 1e-4 or around[-1] > 1 - 1e-4:
            continue
        for j in range(D):
            step = h * np.eye(D)[j]
            up, down = (
                _by_definition(objective, vector + s, w[i], objective.vectors[sets[i]])
                for s in (step, -step)
            )
            # J is below 1 (published: below the length), so rounding is below 2 d ε J / h; the
            # third derivative of a cosine is below 15 / length³
            error = 2 * D * 2.3e-16 * max(1, length) / h + 15 / length**3 * h**2
            assert abs((up - down) / (2 * h) - slope[i, j]) < error


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_parts_and_total_are_the_papers(seed) -> None:
    for published in (False, True):
        objective, x, w, sets = _case(seed, published)
        x = _unit(x)
        parts = objective.parts(x, w, sets)
        wanted = [
            _by_definition(objective, *row, objective.vectors[s])
            for *row, s in zip(x, w, sets, strict=True)
        ]
        assert np.abs(objective.total(parts) - wanted).max() < 100 * D * 2.3e-16
        assert parts.repulsion[0] == 0


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10))
@settings(max_examples=30, deadline=None)
def test_the_papers_objective_depends_only_on_the_direction(seed, scale) -> None:
    """So its gradient is orthogonal to X and shrinks with the length of X."""
    objective, x, w, sets = _case(seed, False)
    slope = _slope(objective, x, w, sets)
    assert np.abs(np.einsum("nd,nd->n", slope, x)).max() < 100 * D * 2.3e-16
    longer = _slope(objective, scale * x, w, sets)
    largest = np.abs(slope).max()
    assert np.abs(longer * scale - slope).max() <= 1000 * D * 2.3e-16 * largest
    short, long = (objective.parts(s * x, w, sets) for s in (1, scale))
    assert np.abs(np.array(short) - np.array(long)).max() < 100 * D * 2.3e-16


def test_the_published_objective_can_be_lowered_by_shrinking() -> None:
    objective, x, w, sets = _case(0, True)
    radial = np.einsum("nd,nd->n", _slope(objective, x, w, sets), x)
    assert np.allclose(radial, objective.weights[1] * np.abs(x @ objective.g), rtol=1e-12)


def test_third_weight_is_the_neutralisations_unless_as_published() -> None:
    """B6: the released code weighs the last term with λ2 and leaves λ3 unused."""
    g = np.eye(3)[0]
    w = _unit(np.array([[1.0, 2.0, 2.0]]))  # |cos(w, g)| = 1/3
    none = [np.arange(0)]
    for weights in ((0.1, 0.7, 0.2), (0.1, 0.7, 0.9)):
        paper, code = (Objective(w, g, weights, published) for published in (False, True))
        parts = paper.parts(w, w, none)
        assert paper.total(parts)[0] == pytest.approx(weights[2] / 3, rel=1e-12)
        assert code.total(parts)[0] == pytest.approx(0.7 / 3, rel=1e-12)
        assert (paper.neutralisation, code.neutralisation) == (weights[2], 0.7)
        pull = np.zeros_like(w)
        slopes = [np.empty_like(w), np.empty_like(w)]
        for objective, out in zip((paper, code), slopes, strict=True):
            objective.slope(w, np.ones(1), pull, out, np.empty_like(w))
        assert np.allclose(slopes[0], weights[2] * (g - w / 3), atol=1e-15)
        assert np.allclose(slopes[1], 0.7 * g, atol=1e-15)


def test_at_a_kink_a_term_pulls_to_neither_side() -> None:
    vectors = np.eye(4)
    objective = Objective(vectors, vectors[3], (1, 0, 1))
    x = np.array([[3.0, 4.0, 0.0, 0.0]])  # orthogonal to vectors 2 and 3, the latter is g
    slope = _slope(objective, x, _unit(x), [np.array([0, 2])])
    # only |cos(X, v_0)| / 2 has a slope: (v_0 − .6 u) / 2 / 5
    assert np.allclose(slope, [[(1 - 0.36) / 10, -0.48 / 10, 0, 0]], atol=1e-16)


def test_attraction_is_half_the_distance_of_cosines() -> None:
    w = np.eye(3)[:1]
    objective = Objective(w, np.eye(3)[2], (0, 1, 0))
    for x, value in (([[2.0, 0, 0]], 0), ([[0, 1.0, 0]], 0.5), ([[-3.0, 0, 0]], 1)):
        assert objective.parts(np.array(x), w, [np.arange(0)]).attraction[0] == value
