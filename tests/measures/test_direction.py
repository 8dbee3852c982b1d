"""The recipes of a direction, and what projections along it are."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples

from wordbias import Attribute, Embedding
from wordbias.arrays import lengths
from wordbias.errors import WordbiasError
from wordbias.measures.clustering import clustering_rows
from wordbias.measures.direction import find_direction, most_biased, projections
from wordbias.measures.gipe import gipe_rows
from wordbias.measures.midb import midb_rows
from wordbias.measures.neighbour_bias import neighbour_bias_rows
from wordbias.measures.panel import Panel
from wordbias.measures.recoverability import recoverability_rows
from wordbias.measures.sembias import SemBias, sembias_rows
from wordbias.subspace import Subspace

FIRST, SECOND = tuple("abcd"), tuple("efgh")
PAIRS = (("she", "he"), ("her", "his"), ("woman", "man"))
QUESTIONS = SemBias(((("he", "she"), ("i", "j"), ("k", "l"), ("a", "b")),))


@pytest.fixture
def emb() -> Embedding:
    words = [*"abcdefghijkl", *(word for pair in PAIRS for word in pair)]
    rng = np.random.default_rng(3)
    return Embedding(words, rng.normal(size=(len(words), 7)) * 2, "small")


@pytest.fixture
def gender() -> Attribute:
    return Attribute("gender", ("f", "m"), (FIRST, SECOND), PAIRS, direction=PAIRS[0])


@pytest.fixture
def together(emb: Embedding) -> Embedding:
    """The same words, but she ≈ he and all other pairs alike."""
    vectors = emb.vectors.copy()
    for a, b in PAIRS:
        vectors[emb.index[b]] = vectors[emb.index[a]] * 1.01
    return emb.with_vectors(vectors)


def test_she_he_is_the_difference_on_unit_length(emb: Embedding, gender: Attribute) -> None:
    direction = find_direction(emb, gender)
    delta = emb["she"].astype(float) - emb["he"]
    assert (direction.recipe, direction.reason) == ("she−he", "")
    np.testing.assert_array_equal(direction.defined().basis[0], delta / np.linalg.norm(delta))
    assert direction.defined().weights.tolist() == [1]


def test_pca_is_the_first_component_of_the_stacked_halves(
    emb: Embedding, gender: Attribute
) -> None:
    """As published: both halves of every pair around its centre, then PCA."""
    rows = []
    for a, b in PAIRS:
        x, y = emb[a].astype(float), emb[b].astype(float)
        rows += [x - (x + y) / 2, y - (x + y) / 2]
    values, vectors = np.linalg.eigh(np.cov(np.array(rows).T, ddof=0))
    subspace = find_direction(emb, gender, "pca").defined()
    assert subspace.dims == 1
    assert abs(subspace.basis[0] @ vectors[:, values.argmax()]) == pytest.approx(1, abs=1e-12)
    assert sum(subspace.basis[0] @ (emb[a].astype(float) - emb[b]) for a, b in PAIRS) > 0
    assert subspace.weights.tolist() == [1]


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("dims", [1, 3])
def test_names_are_the_components_of_all_differences(
    emb: Embedding, gender: Attribute, dims: int, centre: bool
) -> None:
    pairs = [emb[f].astype(float) - emb[m] for f in FIRST for m in SECOND]
    d = np.array(pairs) - (np.mean(pairs, axis=0) if centre else 0)
    values, vectors = np.linalg.eigh(d.T @ d)
    direction = find_direction(emb, gender, "subspace", dims=dims, centre=centre)
    subspace = direction.defined()
    np.testing.assert_allclose(
        subspace.weights, values[::-1][:dims] / values.sum(), rtol=0, atol=1e-12
    )
    cosines = np.abs(subspace.basis @ vectors[:, ::-1][:, :dims])
    np.testing.assert_allclose(cosines, np.eye(dims), rtol=0, atol=1e-7)  # a square root
    kind = "centred" if centre else "not centred"
    assert direction.recipe == f"{dims} components of differences, {kind}"


def test_a_file_is_taken_as_it_is(emb: Embedding, gender: Attribute, tmp_path: Path) -> None:
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 2)))[0].T
    path = tmp_path / "g.safetensors"
    Subspace(basis, [0.25, 0.5]).save(path)
    direction = find_direction(emb, gender, str(path))
    assert direction.recipe == str(path)
    np.testing.assert_array_equal(direction.defined().basis, basis)
    assert direction.defined().weights.tolist() == [0.25, 0.5]


def test_a_file_of_another_dimension_is_refused(
    emb: Embedding, gender: Attribute, tmp_path: Path
) -> None:
    path = tmp_path / "g.safetensors"
    Subspace.from_direction(np.ones(5)).save(path)
    with pytest.raises(WordbiasError, match="the subspace has 5 dimensions, small has 7"):
        find_direction(emb, gender, str(path))


@pytest.mark.parametrize("recipe", ["nowhere.safetensors", "She-He"])
def test_neither_a_recipe_nor_a_file(emb: Embedding, gender: Attribute, recipe: str) -> None:
    known = f"direction '{recipe}': expected she-he, axis, pca, means, subspace, or a file; there"
    with pytest.raises(WordbiasError, match=known):
        find_direction(emb, gender, recipe)


def test_what_is_no_recipe_is_a_file(emb: Embedding, gender: Attribute, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "words.txt"):
        if path != tmp_path:
            path.write_text("she he")
        with pytest.raises(WordbiasError, match="cannot be read as a subspace"):
            find_direction(emb, gender, str(path))


def test_too_few_names_are_refused(emb: Embedding, gender: Attribute) -> None:
    with pytest.raises(WordbiasError, match=r"group m: 1 of 4 words found \(at least 2 needed\)"):
        find_direction(emb.subset([w for w in emb if w not in "fgh"]), gender, "subspace")


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ("she-he", "undefined: ‖she − he‖ is 0.010 of their mean length, below 0.1"),
        ("pca", "undefined: definitional pairs differ by 0.010 of their mean length, below 0.1"),
    ],
)
def test_pairs_of_equal_vectors_give_no_direction(
    together: Embedding, gender: Attribute, recipe: str, reason: str
) -> None:
    direction = find_direction(together, gender, recipe)
    assert (direction.subspace, direction.reason) == (None, reason)
    with pytest.raises(WordbiasError, match=re.escape(reason)):
        direction.defined()


@pytest.mark.parametrize("recipe", ["she-he", "pca"])
def test_without_pairs_there_is_a_reason(emb: Embedding, recipe: str) -> None:
    bare = Attribute("age", ("young", "old"), (FIRST, SECOND))
    direction = find_direction(emb, bare, recipe)
    assert direction.subspace is None
    assert direction.reason.startswith("undefined: ")


def test_the_reason_reaches_every_row(together: Embedding, gender: Attribute) -> None:
    panel = Panel(together, together, list("ijkl"), gender, dims=2, sembias=QUESTIONS)
    rows = [
        *clustering_rows(panel),
        *recoverability_rows(panel),
        *sembias_rows(panel),
        *gipe_rows(replace(panel, neighbours=2)),
        *(row for row in midb_rows(panel) if row.measure == "direct-bias"),
    ]
    assert len(rows) == 2 + 4 + 2 * 3 + 3 + 1
    for row in rows:
        assert row.value is None
        assert row.details["reason"].startswith("undefined: ‖she − he‖ is 0.010")


def test_only_what_runs_along_the_originals_direction_needs_it(
    emb: Embedding, together: Embedding, gender: Attribute
) -> None:
    panel = Panel(together, emb, list("ijkl"), gender, sembias=QUESTIONS)
    assert panel.original_direction.subspace is not None
    assert [row.value is None for row in gipe_rows(replace(panel, neighbours=2))] == [False] * 3
    assert [row.value for row in sembias_rows(panel)] == [None] * 6


def test_a_projection_on_one_direction_is_the_cosine(emb: Embedding, gender: Attribute) -> None:
    g = find_direction(emb, gender).defined()
    expected = [float(v @ g.basis[0]) / float(np.linalg.norm(v)) for v in emb.vectors.astype(float)]
    np.testing.assert_allclose(projections(emb.vectors, g), expected, rtol=0, atol=1e-14)


def test_a_zero_vector_leans_nowhere() -> None:
    x = np.array([[0, 0], [3, 4]], np.float32)
    leans = projections(x, Subspace.from_direction([1, 0]))
    assert leans.tolist() == pytest.approx([0, 0.6], abs=1e-15)
    assert projections(x[:0], Subspace.from_direction([1, 0])).shape == (0,)


@pytest.mark.parametrize("by_length", [False, True])
def test_a_projected_word_leans_nowhere_though_its_float32_vector_does(by_length: bool) -> None:
    """The sides of rounding would change with every rotation of the embedding."""
    rng = np.random.default_rng(0)
    g = Subspace.from_direction(rng.normal(size=100))
    x = (rng.normal(size=(400, 100)) * 10 ** rng.uniform(-3, 3, (400, 1))).astype(np.float32)
    after = g.remove(x.astype(float)).astype(np.float32)
    assert (g.coordinates(after) != 0).any()
    assert not projections(after, g, by_length=by_length).any()
    assert projections(x, g, by_length=by_length).all()
    after[:3] += (1e-5 * lengths(x[:3])[:, None] * g.basis[0]).astype(np.float32)
    assert np.flatnonzero(projections(after, g, by_length=by_length)).tolist() == [0, 1, 2]


def test_after_a_projection_of_all_words_there_are_no_most_biased_ones(
    emb: Embedding, gender: Attribute
) -> None:
    g = find_direction(emb, gender).defined()
    vectors = emb.vectors.copy()
    vectors[:12] = g.remove(vectors[:12].astype(float))
    after = emb.with_vectors(vectors)
    panel = Panel(after, after, list("abcdefghijkl"), gender, clustered=(2,), neighbours=3)
    rows = [*clustering_rows(panel), *recoverability_rows(panel, 2)]
    reason = "undefined: 1 words a side needed, but only 0 and 0 words lean to the groups"
    assert len(rows) == 6
    for row in rows:
        assert row.value is None
        assert row.details["reason"].startswith(reason)
    (row,) = neighbour_bias_rows(panel)
    assert row.value is None
    assert row.details["reason"].startswith("undefined: all words have the same lean")


# The most biased words


def test_each_side_comes_with_its_most_biased_word_first() -> None:
    chosen = most_biased(np.array([0.1, -0.5, 0.9, -0.2, 0.3, 0.0]), 2)
    assert chosen.rows.tolist() == [2, 4, 1, 3]
    assert chosen.labels.tolist() == [True, True, False, False]


@settings(max_examples=examples(50), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 60))
def test_no_other_word_leans_more(seed: int, n: int) -> None:
    lean = np.random.default_rng(seed).normal(size=n)
    per_side = int(min((lean > 0).sum(), (lean < 0).sum()))
    for count in range(1, per_side + 1):
        rows, labels = most_biased(lean, count)
        assert len(set(rows.tolist())) == 2 * count == len(labels)
        assert (labels == (lean[rows] > 0)).all()
        others = np.delete(lean, rows)
        assert others.max(initial=0) <= lean[rows[labels]].min()
        assert others.min(initial=0) >= lean[rows[~labels]].max()


@pytest.mark.parametrize("lean", [[0.5, 0.2, -0.1, 0.0], [-0.5, -0.2, 0.1, 0.0]])
def test_words_that_do_not_lean_are_on_no_side(lean: list[float]) -> None:
    most_biased(np.array(lean), 1)
    with pytest.raises(WordbiasError, match=r"^2 words a side needed, but only [12] and"):
        most_biased(np.array(lean), 2)
