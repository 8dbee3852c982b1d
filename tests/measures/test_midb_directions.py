"""What bias is measured along."""

from __future__ import annotations

import numpy as np
import pytest

from wordbias import Attribute, Embedding
from wordbias.arrays import lengths, unit
from wordbias.measures.direction import axis
from wordbias.measures.lean import word_rows
from wordbias.measures.midb import MIDB, fit_directions
from wordbias.measures.panel import Panel
from wordbias.subspace import Subspace

FIRST, SECOND = tuple("abcd"), tuple("efgh")
PAIRS = (("she", "he"), ("her", "his"))


@pytest.fixture
def emb() -> Embedding:
    words = [*"abcdefghijkl", "she", "he", "her", "his"]
    rng = np.random.default_rng(3)
    return Embedding(words, rng.normal(size=(len(words), 6)) * 2, "small")


@pytest.fixture
def gender() -> Attribute:
    return Attribute("gender", ("f", "m"), (FIRST, SECOND), PAIRS, direction=PAIRS[0])


def test_both_subspaces_and_both_directions_are_fitted(emb: Embedding, gender: Attribute) -> None:
    fitted = fit_directions(emb, gender, dims=2)
    assert fitted.subspace is not None
    assert fitted.unit_subspace is not None
    assert fitted.subspace.dims == fitted.unit_subspace.dims == 2
    assert (fitted.subspace_reason, fitted.direction_reason, fitted.pair_reason) == ("", "", "")
    np.testing.assert_array_equal(fitted.direction, emb["she"].astype(float) - emb["he"])
    halves = emb.take(["she", "her"]).astype(float), emb.take(["he", "his"]).astype(float)
    np.testing.assert_array_equal(fitted.pair_component, Subspace.from_pairs(*halves).basis[0])


def test_centring_reaches_both_subspaces(emb: Embedding, gender: Attribute) -> None:
    for centre in (True, False):
        fitted = fit_directions(emb, gender, dims=2, centre=centre)
        f, m = emb.take(FIRST), emb.take(SECOND)
        for subspace, groups in (
            (fitted.subspace, (f, m)),
            (fitted.unit_subspace, (unit(f), unit(m))),
        ):
            expected = Subspace.from_groups(*groups, 2, centre=centre)
            assert subspace is not None
            np.testing.assert_array_equal(subspace.basis, expected.basis)
            np.testing.assert_array_equal(subspace.weights, expected.weights)


def test_midb_on_unit_length_does_not_depend_on_length(emb: Embedding, gender: Attribute) -> None:
    longer = emb.with_vectors(emb.vectors * 4)  # a power of two: without rounding
    x = emb.vectors[8:12]
    plain, other = fit_directions(emb, gender, dims=2), fit_directions(longer, gender, dims=2)
    small, large = plain.measure(x), other.measure(x * np.float32(4))
    assert small["midb-unit"] == large["midb-unit"]
    assert small["midb"].value is not None
    assert large["midb"].value == 4 * small["midb"].value


def test_without_pairs_only_midb_is_defined(emb: Embedding) -> None:
    bare = Attribute("age", ("f", "m"), (FIRST, SECOND))
    fitted = fit_directions(emb, bare, dims=2)
    values = fitted.measure(emb.vectors)
    assert {name for name, value in values.items() if value.value is None} == {
        "direct-bias",
        "direct-bias-pca",
    }
    assert all(bool(value.reason) == (value.value is None) for value in values.values())


def test_pairs_of_equal_vectors_are_no_direction(emb: Embedding, gender: Attribute) -> None:
    vectors = emb.vectors.copy()
    for a, b in PAIRS:
        vectors[emb.index[b]] = vectors[emb.index[a]] * 1.01
    fitted = fit_directions(emb.with_vectors(vectors), gender, dims=2)
    assert fitted.direction is None
    assert fitted.direction_reason == (
        "undefined: ‖she − he‖ is 0.010 of their mean length, below 0.1"
    )
    assert fitted.pair_component is None
    assert "definitional pairs differ by 0.010 of their mean length" in fitted.pair_reason


def test_a_missing_axis_word_is_named(emb: Embedding, gender: Attribute) -> None:
    without = emb.subset([word for word in emb if word != "he"])
    assert axis(without, gender) == (None, "undefined: small lacks one of she, he")


def test_the_axis_is_found_in_the_embeddings_spelling(gender: Attribute) -> None:
    capital = Embedding(["She", "he"], [[1.0, 0], [0, 1]])
    vector, reason = axis(capital, gender)
    assert vector is not None
    assert (vector.tolist(), reason) == ([1, -1], "")


def test_groups_that_do_not_vary_leave_direct_bias(emb: Embedding, gender: Attribute) -> None:
    vectors = emb.vectors.copy()
    vectors[:8] = 1
    values = fit_directions(emb.with_vectors(vectors), gender, dims=2).measure(vectors)
    assert {name for name, value in values.items() if value.value is None} == set(MIDB)
    assert "span 0 of 6" in values["midb"].reason


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_without_a_difference_of_means_no_sign_has_a_value(
    emb: Embedding, gender: Attribute, dims: int, seed: int
) -> None:
    """What is left of it in float32 gives the components other signs with every rotation."""
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0]
    vectors = emb.vectors.astype(float)
    vectors[:4] += vectors[4:8].mean(0) - vectors[:4].mean(0)
    after = emb.with_vectors((vectors @ turn).astype(np.float32))
    first, second = (after.take(words).astype(float).mean(0) for words in (FIRST, SECOND))
    assert 0 < np.linalg.norm(first - second) < 1e-6
    values = fit_directions(after, gender, dims=dims).measure(after.vectors[8:12])
    reason = "undefined: the means of the groups do not differ by more than rounding"
    undefined = {name: value.reason for name, value in values.items() if value.value is None}
    # the size of one component does not hang on its sign, and on unit length the means do differ
    assert undefined == dict.fromkeys(["midb", "midb-abs"][: 1 if dims == 1 else 2], reason)
    on_unit = fit_directions(after.with_vectors(unit(after.vectors)), gender, dims=dims)
    assert on_unit.undefined() == {}
    panel = Panel(after, after, list("ijkl"), gender, dims=dims)
    rows = {row.measure: row for row in word_rows(panel, ["i"])}
    assert (rows["midb"].value, rows["midb"].details["reason"]) == (None, reason)
    assert rows["direct-bias"].value is not None


def test_unit_length_leaves_zero_vectors() -> None:
    vectors = np.array([[3, 4], [0, 0]], np.float32)
    np.testing.assert_allclose(unit(vectors), [[0.6, 0.8], [0, 0]], rtol=2**-23)
    assert lengths(vectors).tolist() == [5, 0]
    assert lengths(np.zeros((0, 2), np.float32)).tolist() == []
