"""MISP: fitting on an embedding, and the weights a user may give."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from quick_cases import first_quick
from scipy import stats

from wordbias import Attribute, Embedding, WordbiasError
from wordbias.methods.fitted import Chain
from wordbias.methods.misp import Projection, fit
from wordbias.methods.null import random_chains
from wordbias.methods.transform import Transform, transform_rows, transformed
from wordbias.subspace import Subspace, reweighted

# Dawkins (2021), appendix C: the errors after MISP with permuted weights, GN-GloVe(w_a).
PUBLISHED = {
    "1243": 0.1574, "1324": 0.2331, "1342": 0.1919, "1423": 0.1330, "1432": 0.1487,
    "2134": 0.1273, "2143": 0.1565, "2314": 0.2289, "2341": 0.1963, "2413": 0.1639,
    "2431": 0.1287, "3124": 0.1951, "3142": 0.1694, "3214": 0.2813, "3241": 0.1602,
    "3412": 0.2110, "3421": 0.1732, "4123": 0.1945, "4132": 0.1764, "4213": 0.1879,
    "4231": 0.1363, "4312": 0.1241, "4321": 0.1435,
}  # fmt: skip
A = (0.4, 0.3, 0.2, 0.1)


@pytest.fixture
def four() -> Subspace:
    return Subspace(np.eye(4, 6), np.array(A))


@pytest.fixture
def colour() -> Attribute:
    return Attribute("colour", ("red", "blue"), (("a", "b", "c", "d"), ("e", "f", "g")))


@pytest.fixture
def emb() -> Embedding:
    vectors = np.random.default_rng(0).normal(size=(26, 5)) + np.eye(26, 5)
    return Embedding([chr(97 + i) for i in range(26)], vectors, "letters")


def test_appendix_c_names_every_permutation_but_the_identity() -> None:
    every = {"".join(p) for p in itertools.permutations("1234")} - {"1234"}
    assert set(PUBLISHED) == every
    assert len(every) == 23
    assert min(PUBLISHED, key=PUBLISHED.__getitem__) == "4312"
    assert PUBLISHED["4312"] == 0.1241 > 0.1107  # no permutation beats the true order
    assert max(PUBLISHED, key=PUBLISHED.__getitem__) == "3214"


def test_1243_is_the_permutation_the_paper_describes(four: Subspace) -> None:
    """Weight a_1 is applied to g_1, a_2 to g_2, a_4 to g_3, and a_3 to g_4."""
    a1, a2, a3, a4 = A
    assert reweighted(four, "perm:1243").weights.tolist() == [a1, a2, a4, a3]


def test_a_permutation_that_is_not_its_own_inverse_is_read_in_the_papers_direction(
    four: Subspace,
) -> None:
    a1, a2, a3, a4 = A
    assert reweighted(four, "perm:4312").weights.tolist() == [a4, a3, a1, a2]
    assert reweighted(four, "perm:2341").weights.tolist() == [a2, a3, a4, a1]


def test_all_permutations_of_four_weights_give_different_vectors(four: Subspace) -> None:
    x = np.ones(6)
    results = {
        tuple(reweighted(four, f"perm:{digits}").remove(x).tolist())
        for digits in [*PUBLISHED, "1234"]
    }
    assert len(results) == 24
    assert reweighted(four, "perm:1234").weights.tolist() == four.weights.tolist()


def test_variance_leaves_the_weights(four: Subspace) -> None:
    assert reweighted(four, "variance") is four


@pytest.mark.parametrize(
    "weights",
    ["1,0.5,.25,0", " 1 , 0.5, 0.25 ,0e3", [1, 0.5, 0.25, 0], np.array([1, 0.5, 0.25, 0])],
)
def test_numbers_replace_the_weights(four: Subspace, weights: Any) -> None:
    changed = reweighted(four, weights)
    assert changed.weights.tolist() == [1, 0.5, 0.25, 0]
    assert changed.basis is four.basis
    assert four.weights.tolist() == list(A)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("0.5,0.3", "expected 4 weights, one a component, got 2"),
        ([0.5] * 5, "expected 4 weights, one a component, got 5"),
        ([], "expected 4 weights, one a component, got 0"),
        ("1,1,1,1.5", "weights must lie in [0, 1], got [1.0, 1.0, 1.0, 1.5]"),
        ("1,1,1,-0.5", "weights must lie in [0, 1]"),
        ("1,1,1,nan", "weights must lie in [0, 1]"),
        ("1,1,1,1e999", "weights must lie in [0, 1]"),
        ("perm:123", "'perm:123': expected each of the digits 1 to 4 once, such as perm:4321"),
        ("perm:1123", "expected each of the digits 1 to 4 once"),
        ("perm:0123", "expected each of the digits 1 to 4 once"),
        ("perm:", "expected each of the digits 1 to 4 once"),
        ("perm:12345", "expected each of the digits 1 to 4 once"),
        ("2134", "expected 4 weights, one a component, got 1"),
        ("half", "'half': expected variance, numbers such as 0.5,0.3 or perm:2134"),
        ("", "'': expected variance, numbers such as 0.5,0.3 or perm:2134"),
        ("1,,1,1", "expected variance, numbers such as 0.5,0.3 or perm:2134"),
    ],
)
def test_weights_that_are_none_are_refused(four: Subspace, weights: Any, message: str) -> None:
    with pytest.raises(WordbiasError, match=re.escape(message)):
        reweighted(four, weights)


def test_an_example_in_a_message_can_be_followed() -> None:
    ten = Subspace(np.eye(10), np.full(10, 0.1))
    with pytest.raises(WordbiasError) as caught:
        reweighted(ten, "perm:21")
    for example in re.findall(r"perm:\d+$", str(caught.value)):
        reweighted(ten, example)


@pytest.mark.parametrize("centre", [True, False])
def test_fit_is_the_subspace_of_the_groups(emb: Embedding, colour: Attribute, centre: bool) -> None:
    first, second = emb.take([*"abcd"]), emb.take([*"efg"])
    expected = Subspace.from_groups(first, second, 2, centre=centre)
    projection = fit(emb, colour, dims=2, centre=centre, weights="perm:21")
    np.testing.assert_array_equal(projection.subspace.basis, expected.basis)
    np.testing.assert_array_equal(projection.subspace.weights, expected.weights[::-1])


def test_fit_returns_a_transform_named_after_the_method(emb: Embedding, colour: Attribute) -> None:
    soft, hard = (fit(emb, colour, dims=2, hard=hard) for hard in (False, True))
    assert isinstance(soft, Transform)
    assert (soft.name, hard.name) == ("misp", "mhd")


@pytest.mark.parametrize("hard", [False, True])
def test_misp_is_equation_4_word_by_word(emb: Embedding, colour: Attribute, hard: bool) -> None:
    projection = fit(emb, colour, dims=2, hard=hard)
    got = projection(emb)
    assert got.words == emb.words
    assert got.name == ("letters.mhd" if hard else "letters.misp")
    g, a = projection.subspace.basis, projection.subspace.weights
    for word in emb:
        w = emb[word].astype(float)
        expected = w - sum((1 if hard else a[i]) * (g[i] @ w) * g[i] for i in range(2))
        bound = (5 + 2) * 2**-23 * 2 * np.linalg.norm(w)  # float32, sums of d and of k terms
        np.testing.assert_allclose(got[word], expected, rtol=0, atol=bound)


def test_by_default_four_components_of_one_hundred_names_a_gender() -> None:
    sample = Embedding.sample()
    projection = fit(sample)
    gender = Attribute.load()
    assert [len(members) for members in gender.members] == [100, 100]
    names = ([name.lower() for name in members] for members in gender.members)
    expected = Subspace.from_groups(*map(sample.take, names), 4)
    np.testing.assert_array_equal(projection.subspace.weights, expected.weights)
    assert not projection.hard


@pytest.mark.parametrize("dims", [0, 6])
def test_more_components_than_dimensions_are_refused(
    emb: Embedding, colour: Attribute, dims: int
) -> None:
    with pytest.raises(WordbiasError, match=f"{dims} components .* 5 dimensions; take 1 to 5"):
        fit(emb, colour, dims=dims)


def test_a_group_of_which_one_word_is_found_is_refused(colour: Attribute) -> None:
    small = Embedding(["a", "e", "f"], np.eye(3), "small")
    with pytest.raises(WordbiasError, match=r"small: group red: 1 of 4 words found.*: b, c, d"):
        fit(small, colour, dims=1)


@pytest.mark.parametrize("rows", [0, 1, 4095, 4096, 4097, 10_000])
def test_blocks_leave_no_seam(rows: int) -> None:
    rng = np.random.default_rng(rows)
    vectors = rng.normal(size=(rows, 7)).astype(np.float32)
    vectors.flags.writeable = False
    projection = Projection(Subspace.from_groups(rng.normal(size=(9, 7)), np.eye(7), 3))
    got = transform_rows(projection, vectors)
    assert got.dtype == np.float32
    exact = projection.subspace.remove(vectors.astype(float))
    bound = (7 + 3) * 2**-23 * 2 * 10  # no vector of 7 normal values is longer than 10
    np.testing.assert_allclose(got, exact, rtol=0, atol=bound)


def test_transforming_leaves_the_embedding_as_it_is(emb: Embedding, colour: Attribute) -> None:
    before = emb.vectors.copy()
    after = transformed(emb, fit(emb, colour, dims=2))
    np.testing.assert_array_equal(emb.vectors, before)
    assert not np.shares_memory(after.vectors, emb.vectors)


def _random(removal: Projection, draws: int, seed: int = 0) -> list[Projection]:
    return [
        chain.parts[0].steps[0]
        for chain in random_chains(Chain((removal,)), range(draws), seed=seed)
    ]


@pytest.mark.parametrize("hard", [False, True])
def test_random_removals_keep_the_weights_and_do_not_depend_on_their_number(hard: bool) -> None:
    removal = Projection(Subspace(np.eye(4, 9), np.array(A)), hard)
    many = _random(removal, 5, seed=3)
    assert len(many) == 5
    for drawn in many:
        assert drawn.hard is hard
        np.testing.assert_array_equal(drawn.subspace.weights, A)
        np.testing.assert_allclose(
            drawn.subspace.basis @ drawn.subspace.basis.T, np.eye(4), atol=1e-12
        )
    for drawn, redrawn in zip(many, _random(removal, 3, seed=3), strict=False):
        np.testing.assert_array_equal(drawn.subspace.basis, redrawn.subspace.basis)
    bases = [projection.subspace.basis for projection in (*many, *_random(removal, 1, seed=4))]
    assert all(np.abs(x - y).max() > 0.01 for x, y in itertools.combinations(bases, 2))


@pytest.mark.parametrize("component", first_quick([0, 1, 3]))
def test_directions_of_random_removals_are_uniform_on_the_sphere(component: int) -> None:
    """Of a coordinate x in d dimensions, (x + 1)/2 is then Beta((d − 1)/2, (d − 1)/2)."""
    d = 9
    removal = Projection(Subspace(np.eye(4, d), np.array(A)))
    drawn = [projection.subspace.basis[component] for projection in _random(removal, 2000)]
    half = (d - 1) / 2
    for coordinate in (0, component, d - 1):
        x = (np.array(drawn)[:, coordinate] + 1) / 2
        assert stats.kstest(x, stats.beta(half, half).cdf).pvalue > 1e-3
