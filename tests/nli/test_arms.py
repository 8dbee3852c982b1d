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
from wordbias.nli.arms import random_draws, redrawn_lists, with_permuted_weights
from wordbias.wordlists import Attribute


def test_the_wrong_weightings_are_all_orders_but_the_right_one() -> None:
    sample = Embedding.sample()
    made = with_permuted_weights([sample])
    names = {"".join(order) for order in permutations("1234")} - {"1234"}
    assert {one.name for one in made[1:]} == {f"sample.perm-{name}" for name in names}
    subspace = fit(sample).subspace
    swapped = next(one for one in made if one.name == "sample.perm-2134")
    expected = subspace.with_weights(subspace.weights[[1, 0, 2, 3]])
    x = sample.vectors[:50].astype(float)
    np.testing.assert_allclose(swapped.vectors[:50], expected.remove(x), atol=1e-5)


@pytest.mark.parametrize("center", [False, True])
def test_random_draws_remove_the_fitted_weights_along_other_directions(center: bool) -> None:
    sample, age = Embedding.sample(), Attribute.load("age")
    fitted = fit(sample, age, center=center).subspace
    made = random_draws(sample, 2, age, center=center)
    assert [one.name for one in made] == ["sample.null-0", "sample.null-1"]
    assert made[0].info is None
    removed = [sample.vectors.astype(float) - one.vectors for one in made]
    for rows in removed:
        assert np.linalg.matrix_rank(rows, tol=1e-3) == fitted.dims
    # what is removed of x along g is a <g, x>: the traces of the two maps are the sums of weights
    maps = [np.linalg.lstsq(sample.vectors.astype(float), rows, rcond=None)[0] for rows in removed]
    for one in maps:
        found = np.sort(np.linalg.eigvalsh((one + one.T) / 2))[::-1][: fitted.dims]
        np.testing.assert_allclose(found, np.sort(fitted.weights)[::-1], atol=1e-5)
    assert np.abs(maps[0] - maps[1]).max() > 0.01


@pytest.mark.parametrize("center", [False, True])
def test_redrawn_lists_are_misp_of_lists_with_the_drawn_words(center: bool) -> None:
    """A word that is drawn twice is two words of the same vector."""
    sample, gender = Embedding.sample(), Attribute.load()
    made = redrawn_lists(sample, 2, gender, center=center)
    assert [one.name for one in made] == ["sample.misp-lists-0", "sample.misp-lists-1"]
    assert made[0].info is None
    for one, drawn in zip(made, redraws(gender, 2), strict=True):
        words, vectors, members = list(sample.words), [sample.vectors], []
        for names, places in zip(gender.members, drawn.words, strict=True):
            found = [names[i].lower() for i in places]
            members.append(tuple(f"{name}.{len(words) + i}" for i, name in enumerate(found)))
            vectors.append(sample.take(found))
            words += members[-1]
        lists = replace(gender, members=tuple(members))
        copied = Embedding(words, np.concatenate(vectors), "copied")
        expected = fit(copied, lists, center=center)(sample)
        np.testing.assert_allclose(one.vectors, expected.vectors, atol=1e-5)
        assert np.abs(one.vectors - fit(sample, center=center)(sample).vectors).max() > 0.01


def test_words_that_are_missing_are_not_redrawn() -> None:
    sample, few = Embedding.sample(), Embedding(["she", "he"], np.eye(2), "few")
    gone = {name.lower() for name in Attribute.load().members[0][:30]}
    lacking = sample.subset([word for word in sample.words if word not in gone])
    (one,) = redrawn_lists(lacking, 1)
    assert one.words == lacking.words
    with pytest.raises(WordbiasError, match="few: "):
        redrawn_lists(few, 1)


def test_wrong_weightings_are_of_the_groups_given() -> None:
    sample, age = Embedding.sample(), Attribute.load("age")
    swapped = with_permuted_weights([sample], age)[-1]
    expected = fit(sample, age, weights=f"perm:{swapped.name[-4:]}")(sample)
    np.testing.assert_array_equal(swapped.vectors, expected.vectors)


def test_a_redraw_of_too_few_words_is_named() -> None:
    three = Attribute.load({"a": ["he", "man", "boy"], "b": ["she", "woman", "girl"]})
    with pytest.raises(
        WordbiasError, match=r"^--seed-lists: MISP cannot be fitted to redraw \d .* give more"
    ):
        redrawn_lists(Embedding.sample(), 20, three)
