"""Clustering, recoverability, SemBias and GIPE along a weighted subspace: theorems."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples

import wordbias as wb
from wordbias import Attribute, Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.chance import draw_nulls
from wordbias.measures.clustering import clustering
from wordbias.measures.direction import Direction, find_direction, projections, signed_lengths
from wordbias.measures.evaluate import chance_values, evaluate
from wordbias.measures.gipe import indirect_bias
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.sembias import SemBias, choices
from wordbias.measures.word_lists import Redraw, redrawn
from wordbias.subspace import Subspace

FAMILIES = ("clustering", "sembias", "gipe", "neighbour-bias")
FIRST, SECOND = tuple("abcdef"), tuple("ghijkl")
NEUTRAL = tuple(f"w{i}" for i in range(60))
GENDER = Attribute("gender", ("f", "m"), (FIRST, SECOND), (("a", "g"),), direction=("a", "g"))
QUESTIONS = SemBias(
    tuple(
        (("g", "a"), (f"w{i}", f"w{i + 1}"), (f"w{i + 2}", f"w{i + 3}"), (f"w{i + 4}", f"w{i + 5}"))
        for i in range(0, 54, 2)
    )
)
DIM = 6


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("seeds", "n_init"):
        monkeypatch.setitem(clustering.__kwdefaults__, name, 2)  # type: ignore[arg-type]


def _embedding(seed: int) -> Embedding:
    words = [*FIRST, *SECOND, *NEUTRAL]
    vectors = np.random.default_rng(seed).normal(size=(len(words), DIM))
    vectors[: len(FIRST), 0] += 2
    return Embedding(words, vectors, "small")


def _panel(embedding: Embedding, **given: Any) -> Panel:
    about: dict[str, Any] = {"recipe": "subspace", "dims": 3, **given}
    return Panel(
        embedding, embedding, NEUTRAL, GENDER, sembias=QUESTIONS, clustered=(20,), neighbours=5,
        **about,
    )  # fmt: skip


def _values(panel: Panel) -> dict[tuple[Any, ...], float | None]:
    return {
        (row.measure, row.details.get("set"), row.details.get("setting")): row.value
        for row in evaluate(panel, FAMILIES)
    }


def _frame(rng: np.random.Generator, k: int, d: int = DIM) -> Any:
    return np.linalg.qr(rng.normal(size=(d, k)))[0].T


# One direction of weight 1


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), towards=st.floats(0.001, 9))
def test_one_direction_of_weight_one_is_the_projection_itself(
    seed: int, n: int, towards: float
) -> None:
    """Equal to the bit: the square root of a square is exact."""
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=(n, DIM)), Subspace(_frame(rng, 1), [1.0])
    for side in (None, np.array([towards])):
        assert (signed_lengths(x, g, side) == (x @ g.basis.T)[:, 0]).all()


@settings(max_examples=examples(8), deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_measure_is_then_that_along_the_direction(seed: int) -> None:
    emb = _embedding(seed)
    whole = _panel(emb, dims=1, weights="1")
    g = Subspace.from_groups(emb.take(FIRST), emb.take(SECOND), 1).basis[0]

    class Along(Panel):
        """A panel with one direction, as it is published."""

        own_direction = original_direction = Direction(Subspace(g[None], [1.0]), "g")

    along = Along(
        emb, emb, NEUTRAL, GENDER, sembias=QUESTIONS, clustered=(20,), neighbours=5
    )  # fmt: skip
    assert _values(whole) == _values(along)
    cosine = emb.take(NEUTRAL).astype(float) @ g
    cosine /= np.linalg.norm(emb.take(NEUTRAL).astype(float), axis=1)
    order = np.argsort(-cosine)
    assert set(whole.most_biased(20).rows[:10]) == set(order[:10])
    assert set(whole.most_biased(20).rows[10:]) == set(order[-10:])


@pytest.mark.slow
def test_the_words_of_recoverability_are_then_those_of_the_cosine(sample: Embedding) -> None:
    gender = Attribute.load()
    (panel,) = make_panels([sample], None, gender, recipe="subspace", dims=1, weights="1")
    g = find_direction(sample, gender, "subspace", dims=1).defined().basis[0]
    x = panel.vectors.astype(float)
    order = np.argsort(-(x @ g) / np.linalg.norm(x, axis=1), kind="stable")
    assert panel.most_biased(5000).rows.tolist() == [*order[:2500], *order[::-1][:2500]]


# Several


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 4))
def test_a_lean_is_the_length_on_the_side_of_the_difference(seed: int, k: int) -> None:
    """Counted again vector by vector, with the projections written out."""
    rng = np.random.default_rng(seed)
    subspace = Subspace(_frame(rng, k), rng.uniform(size=k))
    first, second, x = rng.normal(size=(4, DIM)) + 1, rng.normal(size=(5, DIM)), rng.normal(
        size=(20, DIM)
    )  # fmt: skip
    delta = np.mean([f - m for f in first for m in second], axis=0)
    inside = sum(g * (g @ delta) for g in subspace.basis)
    leans = signed_lengths(x, subspace, subspace.coordinates(delta))
    for value, vector in zip(leans, x, strict=True):
        parts = [a * (g @ vector) for a, g in zip(subspace.weights, subspace.basis, strict=True)]
        length = np.sqrt(np.sum(np.square(parts)))
        assert abs(value) == pytest.approx(length, rel=1e-12)
        assert np.sign(value) == np.sign(inside @ vector)


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 4))
def test_no_sign_of_a_component_changes_it(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    subspace, x = Subspace(_frame(rng, k), rng.uniform(size=k)), rng.normal(size=(9, DIM))
    delta = rng.normal(size=DIM)
    turned = Subspace(subspace.basis * rng.choice([-1.0, 1.0], size=(k, 1)), subspace.weights)
    values = (signed_lengths(x, space, space.coordinates(delta)) for space in (subspace, turned))
    np.testing.assert_array_equal(*values)


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 4))
def test_a_rotation_of_the_space_leaves_lean_choice_and_indirect_bias(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    subspace = Subspace(_frame(rng, k), rng.uniform(size=k))
    turned = Subspace(subspace.basis @ q, subspace.weights)
    towards, x = rng.normal(size=k), rng.normal(size=(12, DIM))
    before = signed_lengths(x, subspace, towards)
    # the sum of DIM products of numbers below 8, twice
    np.testing.assert_allclose(signed_lengths(x @ q, turned, towards), before, rtol=0, atol=1e-12)
    d = rng.normal(size=(9, 4, DIM))
    first, second = (
        choices(gaps, Direction(space, "", towards=towards)).tolist()
        for gaps, space in ((d, subspace), (d @ q, turned))
    )
    assert first == second
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    rows = np.arange(12)
    near = np.array([[v for v in range(12) if v != w] for w in range(12)], np.int32)
    beta = [
        indirect_bias(v, rows, near, space) for v, space in ((unit, subspace), (unit @ q, turned))
    ]  # type: ignore[arg-type]
    dot = np.abs(np.array([[unit[w] @ unit[v] for v in near[w]] for w in rows]))
    left = 1 - ((unit @ subspace.basis.T) ** 2).sum(1)
    # coordinates are float32; β divides by the cosine, and by what is left of both words
    bound = 40 * 2**-24 / (dot * np.minimum(left[:, None], left[near]))
    assert (np.abs(beta[0] - beta[1]) <= bound).all()


@settings(max_examples=examples(8), deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_turning_the_space_by_right_angles_leaves_every_value(seed: int) -> None:
    """Coordinates are exchanged and reflected, which rounds nothing in the vectors."""
    emb, rng = _embedding(seed), np.random.default_rng(seed)
    q = np.eye(DIM)[rng.permutation(DIM)] * rng.choice([-1.0, 1.0], size=DIM)
    turned = emb.with_vectors(emb.vectors @ q.astype(np.float32))
    before, after = _values(_panel(emb)), _values(_panel(turned))
    assert before.keys() == after.keys()
    for key, value in before.items():
        assert after[key] == pytest.approx(value, rel=1e-9), key


def test_words_are_on_the_side_of_their_group() -> None:
    """MIDB's sum cancels between two components; the length does not, and the side is Δ's."""
    subspace = Subspace(np.eye(2, 3), [0.6, 0.5])
    x = np.array([[1, -1.2, 5], [-1, 1.2, 5], [0, 0, 5]])
    leans = signed_lengths(x, subspace, np.array([2.0, 0.5]))
    np.testing.assert_allclose(leans, [0.6 * 2**0.5, -0.6 * 2**0.5, 0], rtol=1e-12)


def test_groups_of_equal_means_have_no_side() -> None:
    emb = _embedding(0)
    vectors = emb.vectors.copy()
    vectors[6:12] = 2 * vectors[:6].mean(0) - vectors[:6]  # mirrored: the same mean
    direction = _panel(emb.with_vectors(vectors)).own_direction
    assert direction.subspace is None
    assert "the means of the groups do not differ in it" in direction.reason
    rows = evaluate(_panel(emb.with_vectors(vectors)), FAMILIES)
    assert {row.value for row in rows} == {None}


# Chance, weights, settings


def test_a_null_has_the_side_of_its_own_groups(sample: Embedding) -> None:
    (panel,) = make_panels([sample], None, Attribute.load(), recipe="subspace")
    for null in draw_nulls(panel, 3):
        assert null.direction is not None
        assert null.partition is not None
        first, second = (null.within[rows] for rows in null.partition)
        delta = np.mean([f - m for f in first for m in second], axis=0)
        coordinates = null.direction.defined().coordinates(delta)
        np.testing.assert_allclose(null.direction.towards, coordinates, rtol=0, atol=1e-12)
        true = panel.own_direction.defined().weights.tolist()
        assert null.direction.defined().weights.tolist() == true
        assert null.subspace is not None
        assert null.subspace.weights.tolist() != true  # MIDB along it has its own


def test_a_redraw_of_every_word_once_is_the_direction_itself(sample: Embedding) -> None:
    gender = Attribute.load()
    (panel,) = make_panels([sample], None, gender, recipe="subspace", weights="perm:2134")
    once = tuple(np.arange(len(words)) for words in gender.members)
    (null,) = redrawn(panel, [Redraw(once, np.arange(len(gender.pairs)), 0)])
    own = panel.own_direction
    assert null.direction is not None
    for name in ("basis", "weights"):
        redrawn_value, value = (getattr(axis.defined(), name) for axis in (null.direction, own))
        np.testing.assert_allclose(redrawn_value, value, rtol=0, atol=1e-12)
    np.testing.assert_allclose(null.direction.towards, own.towards, rtol=0, atol=1e-12)


def test_chance_is_measured_as_the_value_is() -> None:
    """The words that lean most along a null are clustered, and questions are answered along it."""
    panel = _panel(_embedding(1))
    values = chance_values(panel, FAMILIES)
    nulls = draw_nulls(panel)
    null = nulls[2].direction
    assert null is not None
    lean = projections(panel.vectors, null.defined(), null.towards)
    order = np.argsort(-lean, kind="stable")
    chosen = [*order[:10], *order[::-1][:10]]
    clusters = clustering(panel.vectors[chosen], np.repeat([True, False], 10), seed=panel.seed)
    assert values["clustering-v", "n=20"][2] == clusters.v_measure.mean()

    class Turned(Panel):
        """A panel whose direction is the null."""

        own_direction = original_direction = null

    turned = Turned(
        panel.embedding, panel.original, NEUTRAL, GENDER, sembias=QUESTIONS, clustered=(20,),
        neighbours=5,
    )  # fmt: skip
    rows = evaluate(turned, ("sembias", "gipe", "neighbour-bias"))
    for row in rows:
        key = (row.measure, str(row.details.get("set") or row.details.get("setting") or ""))
        assert values[key][2] == pytest.approx(row.value, rel=1e-9)


def test_weights_are_those_of_misp(sample: Embedding) -> None:
    gender = Attribute.load()
    shares = find_direction(sample, gender, "subspace").defined().weights.tolist()
    for weights, expected in (
        ("1,1,1,1", [1, 1, 1, 1]),
        ([0.5, 0.25, 0.25, 0], [0.5, 0.25, 0.25, 0]),
        ("perm:2134", [shares[i] for i in (1, 0, 2, 3)]),
    ):
        direction = find_direction(sample, gender, "subspace", weights=weights)
        assert direction.defined().weights.tolist() == expected
        assert direction.recipe.startswith("4 components of differences, not centred, weights ")
    with pytest.raises(WordbiasError, match="expected 4 weights"):
        find_direction(sample, gender, "subspace", weights="1,1")


def test_a_file_of_several_directions_gets_its_side_from_the_groups(tmp_path: Path) -> None:
    emb = _embedding(3)
    path = tmp_path / "g.safetensors"
    whole = find_direction(emb, GENDER, "subspace", dims=3)
    whole.defined().save(path)
    panels = (_panel(emb), _panel(emb, recipe=str(path)))
    first, second = (_values(panel) for panel in panels)
    assert first == second


def test_clustering_over_several_numbers_of_words() -> None:
    panel = replace(_panel(_embedding(2)), clustered=(10, 20))
    rows = evaluate(panel, ("clustering",))
    assert [(row.measure, row.details["setting"], row.details["n"]) for row in rows] == [
        (name, f"n={n}", n) for n in (10, 20) for name in ("clustering-accuracy", "clustering-v")
    ]
    alone = evaluate(replace(panel, clustered=(20,)), ("clustering",))
    assert [row.value for row in rows[2:]] == [row.value for row in alone]
    assert set(chance_values(panel, ("clustering",))) == {
        (row.measure, row.details["setting"]) for row in rows
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"clustered": [1]},
            "expected different even numbers of words from 2 on, half of each side, got 1",
        ),
        ({"clustered": [500, 501]}, "half of each side, got 500, 501"),
        ({"clustered": []}, "half of each side, got none"),
        ({"clustered": [500, 500]}, "half of each side, got 500, 500"),
        ({"theta": 0}, "expected different thresholds above 0 and below 1, got 0"),
        ({"theta": [0.05, 0.05]}, "above 0 and below 1, got 0.05, 0.05"),
        ({"theta": [0.03, 1]}, "expected different thresholds above 0 and below 1, got 0.03, 1"),
        ({"neighbours": 0}, "expected a whole number from 1 on, got 0"),
        ({"weights": "1,1,1,1"}, 'weights= is for direction="subspace"'),
        ({"weights": "1,1", "direction": "subspace"}, "expected 4 weights, one a component, got 2"),
        ({"weights": "0,0,0,0", "direction": "subspace"}, "all weights are 0, so that nothing"),
    ],
)
def test_what_cannot_be_measured_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(WordbiasError) as refused:
        wb.measure(only=["clustering", "gipe"], **given)
    assert said in str(refused.value)
