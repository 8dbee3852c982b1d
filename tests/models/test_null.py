"""Null adapters: random directions with the weights, the numbers and the sites of fitted ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_encoders import LAYERS, build, make_tokenizer, words_of

import wordbias as wb
from wordbias.errors import UsageError
from wordbias.functions.project import _further_files, project
from wordbias.methods.leace import Erasure
from wordbias.methods.null import random_step
from wordbias.methods.transform import Projection
from wordbias.models.adapters import Adapter
from wordbias.models.families import PARTS
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.hooks import of_heads, random_subspace
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.models.settings import all_settings
from wordbias.models.sites import Site
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")


def subspace(k: int, d: int, seed: int) -> Subspace:
    rng = np.random.default_rng(seed)
    return Subspace(np.linalg.qr(rng.normal(size=(d, k)))[0].T, rng.uniform(0.1, 0.9, k))


@pytest.fixture(scope="module")
def model() -> Any:
    return build("bert")


@pytest.fixture
def adapter(model: Any) -> Adapter:
    rng = np.random.default_rng(9)
    heads = {
        Site(part, LAYERS - 1): of_heads([subspace(1, 4, 4 * i + h) for h in range(4)])
        for i, part in enumerate(PARTS)
    }
    others = [Site("tokens", LAYERS - 1), Site("cls", LAYERS), Site("sentence")]
    whole = {site: subspace(2, 16, 20 + i) for i, site in enumerate(others)}
    steps = {
        Site("tokens", 1): Erasure(
            rng.normal(size=(16, 2)), rng.normal(size=(2, 16)), rng.normal(size=16)
        ),
        Site("tokens", LAYERS): Projection(subspace(3, 16, 2), hard=False),
    }
    facts = {"source": "a test", "pairs": 3, "sites": {"sentence": {"pairs": 3}}}
    facts["sequential"] = True
    return Adapter(
        {**heads, **whole}, Fingerprint.of(model), subspace(1, 16, 30), facts, "L12-110",
        steps=steps,
    )  # fmt: skip


@given(st.integers(1, 6), st.integers(0, 10), st.integers(0, 1000))
def test_directions_are_orthonormal_and_have_the_weights(k: int, more: int, seed: int) -> None:
    fitted = subspace(k, k + more, seed)
    drawn = random_subspace(fitted, np.random.default_rng(seed))
    np.testing.assert_allclose(drawn.basis @ drawn.basis.T, np.eye(k), atol=1e-12)
    np.testing.assert_array_equal(drawn.weights, fitted.weights)


@pytest.mark.slow
def test_no_direction_is_likelier_than_another() -> None:
    """The mean of the projections on random k of d directions is k / d times the identity."""
    rng, fitted, draws = np.random.default_rng(0), subspace(2, 5, 0), 12000
    drawn = [random_subspace(fitted, rng).basis for _ in range(draws)]
    for part, expected in ((slice(None), 2 / 5), (slice(1), 1 / 5), (slice(1, 2), 1 / 5)):
        mean = np.mean([basis[part].T @ basis[part] for basis in drawn], axis=0)
        # an entry lies within [-1, 1]: by Hoeffding's inequality p < 1e-15 for each
        np.testing.assert_allclose(mean, expected * np.eye(5), atol=np.sqrt(2 * 36 / draws))
    np.testing.assert_allclose(np.trace(mean), 1)


def test_a_projection_keeps_its_kind_and_an_affine_map_what_it_does_not_change() -> None:
    rng = np.random.default_rng(3)
    fitted = Projection(subspace(3, 8, 1), hard=False)
    drawn = random_step(fitted, rng)
    assert isinstance(drawn, Projection)
    assert not drawn.hard
    np.testing.assert_array_equal(drawn.subspace.weights, fitted.subspace.weights)
    affine = Erasure(rng.normal(size=(8, 2)), rng.normal(size=(2, 8)), rng.normal(size=8))
    erasure = random_step(affine, rng)
    np.testing.assert_allclose(erasure(affine.bias), affine.bias)
    x = rng.normal(size=(20, 8))
    np.testing.assert_allclose(erasure(erasure(x)), erasure(x), atol=1e-12)
    moved = x - erasure(x)
    assert np.linalg.matrix_rank(moved) == 2
    around = erasure(x) - affine.bias
    np.testing.assert_allclose(np.einsum("nd,nd->n", moved, around), 0, atol=1e-12)


def test_a_null_adapter_has_the_sites_and_settings_of_the_fitted_one(adapter: Adapter) -> None:
    before = {site: part.basis.copy() for site, part in adapter.subspaces.items()}
    null = adapter.null(7)
    assert (null.sites, null.settings) == (adapter.sites, adapter.settings)
    assert null.fingerprint == adapter.fingerprint
    assert (null.chosen, null.facts["null"], null.facts["source"]) == ("L12-110", 7, "a test")
    assert not {"sites", "sequential"} & set(null.facts)
    assert "null" not in adapter.facts
    for site, space in adapter.subspaces.items():
        np.testing.assert_array_equal(space.basis, before[site])
        assert not np.allclose(np.abs(null.subspaces[site].basis), np.abs(space.basis), atol=0.01)
    for setting in [*all_settings(), "sent-debias"]:
        pairs = zip(null.interventions(setting), adapter.interventions(setting), strict=True)
        for mine, theirs in pairs:
            assert str(mine) == str(theirs)
            np.testing.assert_array_equal(mine.what.weights, theirs.what.weights)
    assert repr(null).startswith("<Null adapter of a Bert")
    assert "<table" not in null._repr_html_()


def test_each_head_has_a_direction_of_its_own(adapter: Adapter) -> None:
    basis = adapter.null().subspaces[Site("query", LAYERS - 1)].basis
    blocks = basis.reshape(4, 4, 4)
    for i in range(4):
        for j in range(4):
            assert bool(blocks[i, j].any()) == (i == j)


def test_a_seed_gives_the_same_directions_whatever_else_was_fitted(adapter: Adapter) -> None:
    single = Adapter({Site("sentence"): adapter.subspaces[Site("sentence")]}, adapter.fingerprint)
    alone, whole = single.null(3), adapter.null(3)
    other = adapter.null(4)
    sentence = Site("sentence")
    np.testing.assert_array_equal(alone.subspaces[sentence].basis, whole.subspaces[sentence].basis)
    assert not np.allclose(other.subspaces[sentence].basis, whole.subspaces[sentence].basis)
    cls = Site("cls", LAYERS)
    assert not np.allclose(whole.subspaces[cls].basis, whole.subspaces[sentence].basis)


def test_it_is_stored_and_used_as_any_adapter(adapter: Adapter, model: Any, tmp_path: Path) -> None:
    null = adapter.null(2)
    null.save(tmp_path / "null")
    read = wb.load(tmp_path / "null")
    assert read.facts == null.facts
    ids = torch.tensor([[2, 7, 8, 3]])
    with torch.no_grad():
        plain = model(input_ids=ids).logits
        with null.on(model):
            expected = model(input_ids=ids).logits
        with read.on(model):
            np.testing.assert_array_equal(model(input_ids=ids).logits, expected)
        with adapter.on(model):
            assert not np.allclose(model(input_ids=ids).logits, expected)
    assert not np.allclose(plain, expected)


def test_files_beside_an_adapter() -> None:
    assert _further_files("null", "nli.adapter", 1) == ["nli.null.adapter"]
    assert _further_files("null", "nli.adapter", 2) == ["nli.null1.adapter", "nli.null2.adapter"]
    assert _further_files("null", "some/nli", 1) == [str(Path("some/nli.null"))]


def test_project_writes_them(model: Any, tmp_path: Path) -> None:
    words = words_of(*(text for pair in sentence_pairs() for text in pair))
    source = (model, make_tokenizer(words))
    fitted = project(source, output=tmp_path / "a.adapter", null=2, seed=5)
    for draw, name in ((5, "a.null1.adapter"), (6, "a.null2.adapter")):
        read, expected = wb.load(tmp_path / name), fitted.null(draw)
        assert read.facts["null"] == draw
        for site, removal in expected.subspaces.items():
            np.testing.assert_array_equal(read.subspaces[site].basis, removal.basis)
    closing = " ".join(fitted.report.closing)
    assert "a.null2.adapter, with random directions of the same weights" in closing
    project(source, output=tmp_path / "b", methods="leace", sites="tokens@1", null=1)
    removal = wb.load(tmp_path / "b.null").steps[Site("tokens", 1)]
    assert isinstance(removal, Erasure)
    np.testing.assert_allclose(removal.left, removal.right.T)


def test_what_would_write_nothing_is_refused(model: Any, tmp_path: Path) -> None:
    source = (model, None)
    with pytest.raises(UsageError, match="null= writes more adapters next to output=ADAPTER"):
        project(source, null=1)
    with pytest.raises(UsageError, match="null=: expected a whole number"):
        project(source, output=tmp_path / "a", null=0)
    (tmp_path / "a.null").write_text("she left\the left\n")
    with pytest.raises(Exception, match=r"a\.null: is both pairs= and null=, file 1"):
        project(source, output=tmp_path / "a", pairs=tmp_path / "a.null", null=1)
    assert [path.name for path in tmp_path.iterdir()] == ["a.null"]
