"""Arms of a study: random removals, MISP of redrawn names, permuted weights."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.word_lists import redraws
from wordbias.methods.misp import fit
from wordbias.nli.arms import (
    different,
    drawn_arm,
    is_one,
    permuted_weights,
    together,
)
from wordbias.wordlists import Attribute


@pytest.mark.slow
def test_the_weights_are_put_in_all_orders_the_right_one_first() -> None:
    sample = Embedding.sample()
    arms = permuted_weights("sample", {0: sample, 1: sample})
    names = ["".join(order) for order in permutations("1234")]
    assert list(arms) == [f"sample.perm-{name}" for name in names]
    assert all(is_one(name, arm) for name, arm in arms.items())
    subspace = fit(sample).subspace
    right, swapped = (arms[f"sample.perm-{order}"][1] for order in ("1234", "2134"))
    np.testing.assert_array_equal(right.vectors, fit(sample)(sample).vectors)
    expected = subspace.with_weights(subspace.weights[[1, 0, 2, 3]])
    x = sample.vectors[:50].astype(float)
    np.testing.assert_allclose(swapped.vectors[:50], expected.remove(x), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("centre", [False, True])
def test_random_draws_remove_the_fitted_weights_along_other_directions(centre: bool) -> None:
    sample, age = Embedding.sample(), Attribute.load("age")
    fitted = fit(sample, age, centre=centre).subspace
    embeddings = different(
        drawn_arm("null", dict.fromkeys((0, 1, 2), sample), 2, age, centre=centre)
    )
    assert [embedding.name for embedding in embeddings] == ["sample.null-0", "sample.null-1"]
    assert embeddings[0].info is None
    removed = [sample.vectors.astype(float) - embedding.vectors for embedding in embeddings]
    for rows in removed:
        assert np.linalg.matrix_rank(rows, tol=1e-3) == fitted.dims
    # what is removed of x along g is a <g, x>: the traces of the two maps are the sums of weights
    maps = [np.linalg.lstsq(sample.vectors.astype(float), rows, rcond=None)[0] for rows in removed]
    for matrix in maps:
        eigenvalues = np.sort(np.linalg.eigvalsh((matrix + matrix.T) / 2))[::-1][: fitted.dims]
        np.testing.assert_allclose(eigenvalues, np.sort(fitted.weights)[::-1], atol=1e-5)
    assert np.abs(maps[0] - maps[1]).max() > 0.01


@pytest.mark.parametrize("centre", [False, True])
def test_redrawn_lists_are_misp_of_lists_with_the_drawn_words(centre: bool) -> None:
    """A word that is drawn twice is two words of the same vector."""
    sample, gender = Embedding.sample(), Attribute.load()
    embeddings = different(
        drawn_arm("lists", dict.fromkeys((0, 1, 2), sample), 2, gender, centre=centre)
    )
    assert [embedding.name for embedding in embeddings] == [
        "sample.misp-lists-0",
        "sample.misp-lists-1",
    ]
    assert embeddings[0].info is None
    for debiased, drawn in zip(embeddings, redraws(gender, 2), strict=True):
        words, vectors, members = list(sample.words), [sample.vectors], []
        for names, places in zip(gender.members, drawn.words, strict=True):
            redrawn = [names[i].lower() for i in places]
            members.append(tuple(f"{name}.{len(words) + i}" for i, name in enumerate(redrawn)))
            vectors.append(sample.take(redrawn))
            words += members[-1]
        lists = replace(gender, members=tuple(members))
        copied = Embedding(words, np.concatenate(vectors), "copied")
        expected = fit(copied, lists, centre=centre)(sample)
        np.testing.assert_allclose(debiased.vectors, expected.vectors, atol=1e-5)
        assert np.abs(debiased.vectors - fit(sample, centre=centre)(sample).vectors).max() > 0.01


def test_words_that_are_missing_are_not_redrawn() -> None:
    sample, few = Embedding.sample(), Embedding(["she", "he"], np.eye(2), "few")
    gone = {name.lower() for name in Attribute.load().members[0][:30]}
    lacking = sample.subset([word for word in sample.words if word not in gone])
    redrawn = drawn_arm("lists", {0: lacking}, 1)[0]
    assert redrawn.words == lacking.words
    with pytest.raises(WordbiasError, match="few: "):
        drawn_arm("lists", {0: few}, 1)


def test_wrong_weightings_are_of_the_groups_given() -> None:
    sample, age = Embedding.sample(), Attribute.load("age")
    swapped = permuted_weights("sample", {0: sample}, age)["sample.perm-4321"][0]
    expected = fit(sample, age, weights="perm:4321")(sample)
    np.testing.assert_array_equal(swapped.vectors, expected.vectors)


def test_a_redraw_of_too_few_words_is_named() -> None:
    three = Attribute.load({"a": ["he", "man", "boy"], "b": ["she", "woman", "girl"]})
    with pytest.raises(WordbiasError, match=r"^MISP cannot be fitted to redraw \d .* give more"):
        drawn_arm("lists", dict.fromkeys(range(20), Embedding.sample()), 20, three)


@pytest.mark.slow
def test_draws_are_dealt_to_seeds_in_their_order() -> None:
    """The model of seed s reads draw s modulo their number, of the embedding of its seed."""
    sample = Embedding.sample()
    shared = drawn_arm("null", dict.fromkeys((5, 0, 1, 2), sample), 2)
    assert {seed: embedding.name for seed, embedding in shared.items()} == {
        seed: f"sample.null-{seed % 2}" for seed in (0, 1, 2, 5)
    }
    assert len(different(shared)) == 2
    assert [embedding.name for embedding in different(shared)] == ["sample.null-0", "sample.null-1"]
    other = sample.with_vectors(2 * sample.vectors, "twice")
    base = {0: sample, 3: other}
    own = drawn_arm("null", base, 2)
    assert [own[seed].name for seed in (0, 3)] == ["sample.null-0", "twice.null-1"]
    np.testing.assert_array_equal(own[0].vectors, shared[0].vectors)
    alone = drawn_arm("null", dict.fromkeys((0, 1), other), 2)
    np.testing.assert_array_equal(own[3].vectors, alone[1].vectors)
    lists = drawn_arm("lists", base, 2)
    redrawn = drawn_arm("lists", {0: sample, 1: sample}, 2)
    assert [lists[seed].name for seed in (0, 3)] == ["sample.misp-lists-0", "twice.misp-lists-1"]
    np.testing.assert_array_equal(lists[0].vectors, redrawn[0].vectors)
    np.testing.assert_allclose(lists[3].vectors, 2 * redrawn[1].vectors, atol=1e-5)
    permuted = permuted_weights("arm", base)["arm.perm-2134"]
    assert {seed: embedding.name for seed, embedding in permuted.items()} == {
        0: "sample.perm-2134", 3: "twice.perm-2134"
    }  # fmt: skip


def test_arms_of_one_name_are_refused() -> None:
    """Also an embedding that has the name of another arm, as its models would overwrite it."""
    a, b, c = (Embedding(["x"], np.ones((1, 2)), name) for name in "abc")
    assert list(together([("a", {0: a, 1: a}), ("d", {0: b, 1: c})])) == ["a", "d"]
    for arms in (
        [("a", {0: a}), ("a", {0: a})],
        [("a", {0: a}), ("d", {0: a, 1: b})],
        [("a", {0: a}), ("d", {0: b, 1: b.renamed("b")})],
        [("b", {0: a, 1: c}), ("d", {0: b, 1: c.renamed("e")})],
        [("d", {0: b, 1: c}), ("c", {0: a})],
        [("b", {0: b, 1: c})],
        [("d", {0: b, 1: c}), ("b", {0: a})],
    ):
        with pytest.raises(WordbiasError, match="the same name; rename one of the files"):
            together(arms)
