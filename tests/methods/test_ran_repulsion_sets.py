"""Repulsion sets: what the definition says, and words of which it is proven to say nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples

from wordbias import Attribute, Embedding
from wordbias.arrays import unit
from wordbias.measures.direction import find_direction
from wordbias.methods import ran as sets
from wordbias.methods.ran import nearer_than, proven_empty, repulsion_sets
from wordbias.subspace import Subspace
from wordbias.vocabulary import choose_vocabulary

EPS = float(np.finfo(np.float32).eps)


class Space:
    """A part of the sample: 3,000 frequent words, 150 of them neutral ones to be debiased."""

    def __init__(self) -> None:
        sample = Embedding.sample()
        part = sample.subset(sample.words[:3000])
        units = part.with_vectors(unit(part.vectors))
        self.vectors = units.vectors
        self.g = find_direction(units, Attribute.load(), "pca").defined()
        self.words = units.rows(choose_vocabulary([part], Attribute.load())[::15][:150])[0]


@pytest.fixture(scope="module")
def space() -> Space:
    return Space()


def _beta(w: Any, v: Any, g: Any) -> Any:
    """Indirect bias of `w` with every row of `v` (Kumar et al. 2020)."""
    w_rest, v_rest = w - (w @ g) * g, v - np.outer(v @ g, g)
    cosine = v_rest @ w_rest / np.linalg.norm(w_rest) / np.linalg.norm(v_rest, axis=1)
    return (v @ w - cosine) / (v @ w)


def _by_definition(space: Space, neighbours: int, theta: float) -> list[list[int]]:
    x, g = space.vectors.astype(float), space.g.basis[0]
    sets = []
    for word in space.words.tolist():
        order = [i for i in np.argsort(-(x @ x[word]), kind="stable").tolist() if i != word]
        near = order[: 2 * neighbours]
        beta = _beta(x[word], x[near], g)
        assert np.abs(beta - theta).min() > 1e-7  # or rounding might decide
        sets.append([v for v, b in zip(near, beta, strict=True) if b >= theta][:neighbours])
    return sets


@pytest.mark.parametrize(("neighbours", "theta"), [(100, 0.05), (30, 0.01), (4, 0.005), (400, 0.1)])
def test_sets_match_their_definition(space: Space, neighbours: int, theta: float) -> None:
    repelled = repulsion_sets(space.vectors, space.words, space.g, neighbours, theta)
    assert [members.tolist() for members in repelled.sets] == _by_definition(
        space, neighbours, theta
    )
    assert any(map(len, repelled.sets))
    assert not all(map(len, repelled.sets))


def test_the_share_is_of_all_neighbours(space: Space) -> None:
    """Also of those that are too many for the set."""
    vectors = unit((space.vectors + space.g.basis[0]).astype(np.float32))
    repelled = repulsion_sets(vectors, space.words, space.g, 10, 0.05)
    x, g = vectors.astype(float), space.g.basis[0]
    for i, word in enumerate(space.words.tolist()):
        near = [v for v in np.argsort(-(x @ x[word])).tolist() if v != word][:20]
        biased = _beta(x[word], x[near], g) >= 0.05
        assert repelled.share[i] == biased.mean()
        assert len(repelled.sets[i]) == min(10, biased.sum())
    assert repelled.share.max() > 0.5


def test_at_most_so_many_and_the_nearest_first(space: Space) -> None:
    """Words that share a direction, and a low threshold, so that sets are full."""
    vectors = unit((space.vectors + space.g.basis[0]).astype(np.float32))
    repelled = repulsion_sets(vectors, space.words, space.g, 7, 0.05)
    sizes = [len(neighbours) for neighbours in repelled.sets]
    assert max(sizes) == 7
    assert sizes.count(7) > len(sizes) / 2
    for word, members in zip(space.words, repelled.sets, strict=True):
        cosine = vectors[members].astype(float) @ vectors[word].astype(float)
        assert (np.diff(cosine) <= 0).all()
        assert word not in members


def test_a_vocabulary_smaller_than_the_neighbourhood_counts_whole(space: Space) -> None:
    vectors = unit((space.vectors[:40] + 0.5 * space.g.basis[0]).astype(np.float32))
    repelled = repulsion_sets(vectors, np.arange(5), space.g, 100, 0.05)
    x, g = vectors.astype(float), space.g.basis[0]
    for word, members in enumerate(repelled.sets):
        others = np.array([i for i in range(40) if i != word])
        assert set(members.tolist()) == set(others[_beta(x[word], x[others], g) >= 0.05].tolist())


def test_copies_and_zero_vectors_have_empty_repelling_sets(space: Space) -> None:
    """β of a word with its copy is 0, and so it is with a vector that has no direction."""
    copies = np.repeat(space.vectors[space.words[:1]], 3, axis=0)
    vectors = np.concatenate([copies, np.zeros_like(copies), space.g.basis.astype(np.float32)])
    repelled = repulsion_sets(unit(vectors), np.array([0]), space.g, 3, 0.05)
    assert set(repelled.sets[0].tolist()) <= {6}


@given(st.integers(0, 2**32 - 1), st.floats(0.001, 1.5), st.integers(2, 6))
@settings(max_examples=examples(40), deadline=None)
def test_proofs_change_no_set(seed: int, theta: float, d: int) -> None:
    """With and without them the sets are the same, also where the direction is strong."""
    rng = np.random.default_rng(seed)
    vectors = unit((rng.normal(size=(120, d)) + rng.normal(size=d)).astype(np.float32))
    g = Subspace.from_direction(rng.normal(size=d))
    words = np.arange(60)
    with_proofs = repulsion_sets(vectors, words, g, 5, theta)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sets, "proven_empty", lambda _, words, *__: np.zeros(len(words), bool))
        without = repulsion_sets(vectors, words, g, 5, theta)
    for members, all_ in zip(with_proofs.sets, without.sets, strict=True):
        assert members.tolist() == all_.tolist()
    assert with_proofs.share.tolist() == without.share.tolist()


UNIT = st.floats(-1, 1)


@given(UNIT, UNIT, UNIT, st.floats(0.001, 2))
@settings(max_examples=examples(500))
def test_no_biased_neighbour_is_nearer_than_the_bound(
    p: float, q: float, turn: float, theta: float
) -> None:
    """Of all pairs with ``w·g = p`` and ``v·g = q``; `turn` is the cosine of what is left."""
    rest = np.sqrt(1 - p * p) * np.sqrt(1 - q * q)
    c = p * q + turn * rest
    if c >= 0.05 and rest > 1e-6 and (c - turn) / c >= theta:
        assert c <= nearer_than(np.array([p]), theta, 100)[0]


def test_the_bound_is_as_low_as_it_can_be() -> None:
    """It is reached: by the `v` for which Cauchy and Schwarz have equality."""
    for p, theta in ((0.2, 0.05), (0.05, 0.05), (0.3, 0.4), (0.1, 0.9)):
        least = (1 - theta) * np.sqrt(1 - p * p)
        c = p / np.sqrt(1 - least**2)
        q = p / c / np.hypot(least, p / c)
        rest = np.sqrt(1 - p * p) * np.sqrt(1 - q * q)
        assert (c - (c - p * q) / rest) / c == pytest.approx(theta, rel=1e-9)
        bound = nearer_than(np.array([p]), theta, 2)[0]
        # what is left for rounding: √(d ε), and 4 d ε / .05 of the 1 in the root
        assert c <= bound <= max(0.05, c + 1.1 * (np.sqrt(2 * EPS) + c**3 / p**2 * 160 * EPS))


@pytest.mark.parametrize("theta", [1e-9, 1e-5, 0.05, 1.0, 50.0])
def test_the_bound_is_a_number_at_the_ends(theta: float) -> None:
    bound = nearer_than(np.array([-1.0, -1e-30, 0.0, 1e-9, 0.5, 1.0]), theta, 100)
    assert np.isfinite(bound).all()
    assert (bound >= 0.05).all()


def test_most_real_words_are_proven_to_have_none(space: Space) -> None:
    """What spares most of the search."""
    proven = proven_empty(space.vectors, space.words, space.g, 200, 0.05)
    sets = repulsion_sets(space.vectors, space.words, space.g, 100, 0.05).sets
    empty = np.array([not len(members) for members in sets])
    assert not (proven & ~empty).any()
    assert proven.sum() > empty.sum() / 4


def test_tiles_and_blocks_do_not_matter(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = proven_empty(space.vectors, space.words, space.g, 50, 0.05)
    # private: sizes of the blocks of a numerical kernel, which may change no value
    monkeypatch.setattr(sets, "_QUERIES", 7)
    monkeypatch.setattr(sets, "_TILE", 1000)
    assert (proven_empty(space.vectors, space.words, space.g, 50, 0.05) == whole).all()
    monkeypatch.setattr(sets, "_TILES", 1)
    less = proven_empty(space.vectors, space.words, space.g, 50, 0.05)
    assert not (less & ~whole).any()
