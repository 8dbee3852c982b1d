"""GIPE against a double loop over the paper's formula (Kumar et al. 2020, section 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples

from wordbias import Attribute, Embedding
from wordbias.arrays import unit
from wordbias.measures import gipe as module
from wordbias.measures.chance import draw_nulls
from wordbias.measures.gipe import (
    chance_of_gipe,
    find_neighbourhood,
    gipe,
    gipe_rows,
    indirect_bias,
)
from wordbias.measures.movement import nearest
from wordbias.measures.panel import THETAS, Panel
from wordbias.statistics import percentile_interval
from wordbias.subspace import Subspace

FLOAT32 = 2**-24


def _vectors(rng: np.random.Generator, n: int, d: int) -> NDArray[np.float32]:
    return unit(rng.normal(size=(n, d)).astype(np.float32))


def _beta(w: Any, v: Any, basis: Any, weights: Any = 1.0) -> float:
    """The formula, with both projections written out, by MISP's weights."""
    w, v = w.astype(float), v.astype(float)
    w_p, v_p = (x - basis.T @ (weights * (basis @ x)) for x in (w, v))
    rest = (w_p @ v_p) / (np.linalg.norm(w_p) * np.linalg.norm(v_p))
    return float((w @ v - rest) / (w @ v))


def _loop(
    original: Any,
    debiased: Any,
    queries: list[int],
    basis: Any,
    k: int,
    theta: float,
    alone: float,
    weights: Any = 1.0,
) -> float:
    """GIPE word by word, neighbours by sorting, the word itself left out by its number."""
    near = {}
    for w in queries:
        others = [v for v in range(len(debiased)) if v != w]
        near[w] = sorted(others, key=lambda v: (-float(debiased[w] @ debiased[v]), v))[:k]
    top = bottom = 0.0
    for w in queries:
        eta = np.mean([_beta(original[w], original[v], basis, weights) > theta for v in near[w]])
        edges = [_beta(original[u], original[w], basis, weights) for u in queries if w in near[u]]
        gamma = 1 + np.mean(np.array(edges) > theta) if edges else alone
        top, bottom = top + gamma * eta, bottom + gamma
    return top / bottom if bottom else float("nan")


def _ours(
    original: Any, debiased: Any, queries: Any, g: Subspace, k: int, theta: float, alone: float
) -> float:
    rows = np.array(queries, np.intp)
    near = nearest(debiased, rows, k).rows
    beta = indirect_bias(original, rows, near, g)
    return gipe(beta, rows, near, len(original), theta, isolated=alone).value


@settings(max_examples=examples(80), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 25),
    dims=st.integers(1, 3),
    alone=st.sampled_from([0.0, 1.0]),
    same=st.booleans(),
    soft=st.booleans(),
    data=st.data(),
)
def test_it_is_the_papers_formula(
    seed: int, n: int, dims: int, alone: float, same: bool, soft: bool, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    original = _vectors(rng, n, 6)
    debiased = original if same else _vectors(rng, n, 6)
    basis = np.linalg.qr(rng.normal(size=(6, dims)))[0].T
    k = data.draw(st.integers(1, n - 1))
    queries = sorted(rng.choice(n, data.draw(st.integers(1, n)), replace=False).tolist())
    theta = data.draw(st.sampled_from(THETAS))
    weights = rng.uniform(size=dims) if soft else np.ones(dims)
    got = _ours(original, debiased, queries, Subspace(basis, weights), k, theta, alone)
    expected = _loop(original, debiased, queries, basis, k, theta, alone, weights)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


@settings(max_examples=examples(50), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), dims=st.integers(1, 3))
def test_beta_comes_from_the_explicit_projection(seed: int, dims: int) -> None:
    rng = np.random.default_rng(seed)
    x = _vectors(rng, 9, 6)
    basis = np.linalg.qr(rng.normal(size=(6, dims)))[0].T
    pairs = np.array([[v for v in range(9) if v != w] for w in range(9)], np.int32)
    beta = indirect_bias(x, np.arange(9), pairs, Subspace(basis, np.ones(dims)))
    rest = np.linalg.norm(x.astype(float) - x @ basis.T @ basis, axis=1)
    for w in range(9):
        for v, got in zip(pairs[w], beta[w], strict=True):
            dot = abs(float(x[w].astype(float) @ x[v]))
            # coordinates and lengths are float32: of relative precision where w⊥ is short
            rounding = 20 * FLOAT32 / (dot * min(rest[w], rest[v]) ** 2)
            assert abs(got - _beta(x[w], x[v], basis)) <= rounding


def test_a_word_has_no_indirect_bias_with_itself() -> None:
    x = _vectors(np.random.default_rng(0), 20, 6)
    itself = np.arange(20, dtype=np.int32)[:, None]
    g = Subspace.from_direction(np.ones(6))
    rest = 1 - (x.astype(float) @ g.basis[0]) ** 2
    beta = indirect_bias(x, np.arange(20), itself, g)[:, 0]
    assert (np.abs(beta) <= 20 * FLOAT32 / rest).all()


def test_words_near_only_through_the_direction_have_all_of_it() -> None:
    """w·v = .36 comes from g alone: β = 1; and none of it across g: β = 0."""
    x = np.array([[0.6, 0.8, 0], [0.6, 0, 0.8], [0, 1, 0], [0, 0.6, 0.8]], np.float32)
    g = Subspace.from_direction([1, 0, 0])
    beta = indirect_bias(x, np.array([0, 2]), np.array([[1], [3]], np.int32), g)
    np.testing.assert_allclose(beta, [[1], [0]], rtol=0, atol=4 * FLOAT32)


def test_many_pairs_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x = _vectors(np.random.default_rng(0), 30, 6)
    rows = np.arange(30)
    near, g = nearest(x, rows, 4).rows, Subspace.from_direction(np.ones(6))
    whole = indirect_bias(x, rows, near, g)
    # private: sizes of the blocks of a numerical kernel, which may change no value
    monkeypatch.setattr(module, "_PAIRS", 13)
    np.testing.assert_allclose(indirect_bias(x, rows, near, g), whole, rtol=0, atol=1e-12)


def test_a_zero_vector_has_no_illicit_neighbours() -> None:
    x = np.array([[0, 0], [1, 0], [0.6, 0.8]], np.float32)
    near = np.array([[1, 2]], np.int32)
    beta = indirect_bias(x, np.array([0]), near, Subspace.from_direction([0, 1]))
    assert beta.tolist() == [[0, 0]]


def test_words_at_right_angles_have_a_finite_beta() -> None:
    x = np.array([[0.6, 0.8], [0.8, -0.6]], np.float32)
    g = Subspace.from_direction([1, 0])
    assert np.isfinite(indirect_bias(x, np.array([0]), np.array([[1]], np.int32), g)).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_word_along_the_direction_is_near_only_by_it(seed: int) -> None:
    """w⊥ is zero: what is left of w·v beyond g is rounding, which must not be enlarged."""
    x = _vectors(np.random.default_rng(seed), 30, 50)
    g = Subspace.from_direction(x[0].astype(float))
    others = np.arange(1, 30, dtype=np.int32)[None]
    beta = indirect_bias(x, np.array([0]), others, g)
    np.testing.assert_allclose(beta, 1, rtol=0, atol=1e-6)


def test_only_beyond_theta_is_illicit() -> None:
    beta = np.array([[0.03, 0.0300001], [-1.0, 0.0]])
    near = np.array([[1, 2], [0, 2]], np.int32)
    score = gipe(beta, np.array([0, 1]), near, 3, 0.03)
    assert score.eta.tolist() == [0.5, 0]
    assert score.gamma.tolist() == [1, 1]


@pytest.mark.parametrize("alone", [1.0, 0.0])
def test_the_weight_counts_who_has_the_word_as_an_illicit_neighbour(alone: float) -> None:
    beta = np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    near = np.array([[1, 2], [2, 3], [3, 1]], np.int32)  # 0 is nobody's neighbour
    score = gipe(beta, np.arange(3), near, 4, isolated=alone)
    assert score.gamma.tolist() == [alone, 1 + 1 / 2, 1 + 2 / 2]
    assert score.eta.tolist() == [1, 0.5, 0.5]
    assert score.value == pytest.approx(
        (alone * 1 + 1.5 * 0.5 + 2 * 0.5) / (alone + 3.5), abs=1e-15
    )


def test_edges_come_only_from_the_query_words() -> None:
    """Incoming edges come from the words of V_d only."""
    x = _vectors(np.random.default_rng(4), 30, 5)
    basis = np.eye(1, 5)
    for queries in ([0, 3, 9], list(range(15))):
        got = _ours(x, x, queries, Subspace(basis, [1.0]), 4, 0.03, 1.0)
        assert got == pytest.approx(_loop(x, x, queries, basis, 4, 0.03, 1.0), abs=1e-12)


def test_the_word_itself_is_left_out_by_number_and_not_by_position() -> None:
    """Published code drops the first neighbour, which a copy of the word with a lower row is."""
    x = unit(np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 0, 1]], np.float32))
    near = nearest(x, np.array([1]), 2).rows
    assert near.tolist() == [[0, 2]]
    as_published = np.argsort(-(x[1] @ x.T), kind="stable")[1:3]
    assert as_published.tolist() == [1, 2]  # the word as its own neighbour, its copy dropped


def _as_published(original: Any, debiased: Any, g: Any, k: int, theta: float) -> float:
    """The published GIPE, whose default weight of 1 is never reached."""
    graph = {w: np.argsort(-(debiased[w] @ debiased.T))[1 : k + 1] for w in range(len(debiased))}
    illicit: dict[int, int] = defaultdict(int)
    incoming: dict[int, int] = defaultdict(int)
    etas = {}
    for w, near in graph.items():
        betas = [_beta(original[w], original[v], g) for v in near]
        etas[w] = sum(b > theta for b in betas) / len(betas)
        for v, b in zip(near, betas, strict=True):
            incoming[int(v)] += 1
            illicit[int(v)] += b > theta
    weights: dict[int, float] = defaultdict(int)
    for v, count in incoming.items():
        weights[v] = 1 + illicit[v] / count
    return sum(weights[w] * etas[w] for w in etas) / sum(weights[w] for w in etas)


def test_the_published_code_leaves_isolated_words_out() -> None:
    x = _vectors(np.random.default_rng(7), 60, 8)
    basis, subspace = np.eye(1, 8), Subspace(np.eye(1, 8), [1.0])
    published = _as_published(x, x, basis, 3, 0.03)
    ours = {alone: _ours(x, x, range(60), subspace, 3, 0.03, alone) for alone in (0.0, 1.0)}
    assert ours[0.0] == pytest.approx(published, abs=1e-12)
    assert ours[1.0] == pytest.approx(_loop(x, x, list(range(60)), basis, 3, 0.03, 1), abs=1e-12)
    assert abs(ours[1.0] - published) > 1e-4


def test_the_interval_holds_the_value_and_needs_the_seed() -> None:
    x = _vectors(np.random.default_rng(7), 200, 8)
    rows = np.arange(200)
    near = nearest(x, rows, 10).rows
    score = gipe(indirect_bias(x, rows, near, Subspace.from_direction(np.ones(8))), rows, near, 200)
    first, second, other = (
        percentile_interval(score.resampled(np.random.default_rng(seed))) for seed in (0, 0, 1)
    )
    assert first == second != other
    assert first.low < score.value < first.high


@pytest.fixture
def panel() -> Panel:
    rng = np.random.default_rng(0)
    words = ["she", "he", *(f"w{i}" for i in range(40))]
    original = Embedding(words, rng.normal(size=(42, 8)), "before")
    debiased = Embedding([*words[::-1], "more"], rng.normal(size=(43, 8)), "after")
    gender = Attribute("gender", ("f", "m"), ((), ()), (("she", "he"),), direction=("she", "he"))
    return Panel(debiased, original, words[2:30], gender)


@pytest.mark.parametrize("alone", [0.0, 1.0])
def test_neighbours_are_of_the_debiased_and_proximity_of_the_original(
    panel: Panel, alone: float
) -> None:
    words = [word for word in panel.embedding if word in panel.original]
    original, debiased = (unit(e.take(words)) for e in (panel.original, panel.embedding))
    g = panel.original["she"].astype(float) - panel.original["he"]
    basis = g[None] / np.linalg.norm(g)
    queries = [words.index(word) for word in panel.vocabulary]
    rows = gipe_rows(replace(panel, isolated=alone, neighbours=5))
    assert [row.details["setting"] for row in rows] == [f"θ={theta:g}" for theta in THETAS]
    for row, theta in zip(rows, THETAS, strict=True):
        expected = _loop(original, debiased, queries, basis, 5, theta, alone)
        assert row.value == pytest.approx(expected, abs=1e-12)
        assert row.details["low"] <= row.value <= row.details["high"]
        assert (row.details["k"], row.details["isolated"], row.details["n"]) == (5, alone, 28)
        assert (row.details["original"], row.details["better"]) == ("before", "lower")


def test_too_few_words_for_the_neighbours_have_a_reason(panel: Panel) -> None:
    rows = gipe_rows(replace(panel, neighbours=42))
    assert [row.details["setting"] for row in rows] == ["θ=0.03", "θ=0.05", "θ=0.07"]
    for row in rows:
        assert row.value is None
        assert row.details["reason"] == "undefined: 42 words are too few for 42 neighbours"
    assert gipe_rows(replace(panel, neighbours=41))[0].value is not None


@pytest.fixture
def far_apart() -> Callable[..., Panel]:
    """Words in pairs; the neighbour of each is the other, which is not asked about."""
    x = np.eye(8, dtype=np.float32)
    x[4:] = x[:4] + 0.1 * np.eye(4, 8, 4, dtype=np.float32)
    emb = Embedding(["she", "he", "a", "b", "she2", "he2", "a2", "b2"], x, "small")
    gender = Attribute("gender", ("f", "m"), ((), ()), (("she", "he"),), direction=("she", "he"))
    return lambda *words: Panel(emb, emb, words, gender, isolated=0.0, neighbours=1)


def test_words_that_are_all_isolated_are_undefined_without_weight(
    far_apart: Callable[..., Panel],
) -> None:
    for row in gipe_rows(far_apart("a", "b")):
        assert row.value is None
        assert row.details["reason"].startswith("undefined: ")


def test_samples_without_weight_leave_the_interval_finite(
    far_apart: Callable[..., Panel],
) -> None:
    """Of a, b and a2, b weighs nothing; some bootstrap samples hold nothing but b."""
    for row in gipe_rows(far_apart("a", "b", "a2")):
        assert row.value == 0
        assert np.isfinite([row.details["low"], row.details["high"]]).all()


def test_chance_shares_the_neighbours_of_the_values_and_frees_them(
    panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neighbours are searched once for a panel, and once for another one."""
    searched = []

    def counted(of: Panel) -> Any:
        searched.append(of)
        return find_neighbourhood(of)

    monkeypatch.setattr(module, "find_neighbourhood", counted)
    first, other = replace(panel, neighbours=5), replace(panel, neighbours=5, isolated=0.0)
    for variant in (first, other):
        gipe_rows(variant)
        values = chance_of_gipe(variant, draw_nulls(variant, 2))
        assert np.isfinite(values["gipe", "θ=0.03"]).any()
    assert searched == [first, other]
    assert len(module._LAST) == 0
