"""Displacement and neighbours against loops and against scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from wordbias.arrays import unit
from wordbias.measures import displacement, movement, neighbours, neighbours_preserved
from wordbias.measures.movement import length_ratio


def _random(seed: int, n: int, d: int = 8) -> Any:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def test_displacement_is_relative_to_the_length_before() -> None:
    before = np.array([[3, 4], [0, 2], [0, 0], [1, 0]], np.float32)
    after = np.array([[0, 0], [0, 3], [1, 1], [1, 0]], np.float32)
    assert displacement(before, after).tolist() == [1, 0.5, 0, 0]


def test_displacement_of_many_words_is_that_of_each() -> None:
    before, after = _random(0, 9000), _random(1, 9000)
    got = displacement(before, after)
    for i in (0, 8191, 8192, 8999):
        x, y = before[i].astype(float), after[i].astype(float)
        expected = np.linalg.norm(y - x) / np.linalg.norm(x)
        assert got[i] == pytest.approx(expected, rel=32 * np.finfo(float).eps)


@pytest.mark.parametrize("dims", [1, 3, 7])
def test_no_projection_changes_lengths_more_than_directions(dims: int) -> None:
    before = _random(5, 500)
    q = np.linalg.qr(_random(6, 8)[:, :dims].astype(float))[0]
    after = (before - before @ q @ q.T).astype(np.float32)
    assert length_ratio(before, after) is None
    assert length_ratio(before, before) is None


@pytest.mark.parametrize("scale", [0.2, 0.999, 5])
def test_scaling_changes_lengths_more_than_directions(scale: float) -> None:
    before = _random(5, 500)
    assert length_ratio(before, before * np.float32(scale)) == pytest.approx(scale, rel=1e-5)


@pytest.mark.parametrize("k", [1, 10])
def test_neighbours_are_those_of_sklearn(k: int) -> None:
    vectors = _random(2, 400) * np.random.default_rng(3).uniform(0.1, 9, (400, 1)).astype("f4")
    model = NearestNeighbors(n_neighbors=k + 1, metric="cosine", algorithm="brute")
    expected = model.fit(vectors.astype(float)).kneighbors(return_distance=False, n_neighbors=k)
    queries = np.arange(0, 400, 3)
    got = neighbours(vectors, queries, k)
    assert got.shape == (len(queries), k)
    assert [set(row) for row in got.tolist()] == [set(row) for row in expected[queries].tolist()]


def test_a_word_is_not_its_own_neighbour_even_among_duplicates() -> None:
    vectors = np.concatenate([np.tile(_random(0, 1), (5, 1)), _random(1, 20)])
    queries = np.arange(5)
    for query, row in zip(queries, neighbours(vectors, queries, 4), strict=True):
        assert set(row.tolist()) == set(range(5)) - {query}


def _nearest_by_loop(vectors: Any, queries: Any, k: int) -> Any:
    """Return the rows of largest cosine, equal ones by number, all in float64."""
    x = unit(vectors).astype(float)
    near = []
    for query in queries:
        order = np.lexsort((np.arange(len(x)), -np.einsum("nd,d->n", x, x[query])))
        near.append(order[order != query][:k])
    return np.array(near)


@pytest.mark.parametrize("copies", [12, 13, 14, 6_000])
def test_of_many_equal_rows_the_first_are_nearest(copies: int) -> None:
    vectors = _random(6, 20_000)
    vectors[4_000 : 4_000 + copies] = vectors[4_000]
    vectors[300] = -vectors[4_000]
    queries = np.r_[0:20, 4_000:4_013, 3_999 + copies, 300]
    expected = _nearest_by_loop(vectors, queries, 12)
    assert neighbours(vectors, queries, 12).tolist() == expected.tolist()


@pytest.mark.parametrize("rank", [1, 2])
def test_where_all_cosines_are_alike_the_block_stays_small(
    rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors on a line, of which all cosines are 1 or -1 within rounding, or near one."""
    lines = np.random.default_rng(0).standard_normal((rank, 8)) * 1e-4 ** np.arange(rank)[:, None]
    vectors = (np.random.default_rng(1).standard_normal((20_000, rank)) @ lines).astype(np.float32)
    most = 0
    with_more = movement.Hits.with_more

    def counted(hits: movement.Hits, more: movement.Hits) -> movement.Hits:
        nonlocal most
        most = max(most, len(hits.row) + len(more.row))
        return with_more(hits, more)

    monkeypatch.setattr(movement.Hits, "with_more", counted)
    queries = np.arange(128)
    expected = _nearest_by_loop(vectors, queries, 10)
    assert neighbours(vectors, queries, 10).tolist() == expected.tolist()
    assert most < 128 * 20_000 / 8


def test_preserved_neighbours_are_counted_word_by_word() -> None:
    before = _random(4, 60)
    after = before + 0.4 * _random(5, 60)

    def nearest(vectors: Any, i: int) -> set[int]:
        x = vectors.astype(float)
        cosine = x @ x[i] / np.linalg.norm(x, axis=1)
        cosine[i] = -np.inf
        return set(np.argsort(-cosine)[:7].tolist())

    expected = [len(nearest(before, i) & nearest(after, i)) / 7 for i in range(60)]
    got = neighbours_preserved(before, after, np.random.default_rng(0), k=7)
    assert got.tolist() == expected
    assert 0 < np.mean(expected) < 1


def test_a_sample_is_drawn_without_repetition_and_by_the_seed() -> None:
    before, after = _random(4, 80), _random(5, 80)
    draw = [
        neighbours_preserved(before, after, np.random.default_rng(seed), sample=30).tolist()
        for seed in (0, 0, 1)
    ]
    assert len(draw[0]) == 30
    assert draw[0] == draw[1] != draw[2]


def test_nothing_moved_keeps_every_neighbour() -> None:
    x = _random(0, 50)
    longer = x * np.random.default_rng(1).uniform(1, 5, (50, 1)).astype("f4")
    assert (neighbours_preserved(x, x, np.random.default_rng(0)) == 1).all()
    assert (neighbours_preserved(x, longer, np.random.default_rng(0)) == 1).all()


def test_words_without_a_direction_are_not_asked() -> None:
    before, after = _random(0, 20), _random(0, 20)
    before[3] = 0
    after[5] = 0
    assert neighbours_preserved(before, after, np.random.default_rng(0)).shape == (18,)


def test_fewer_words_than_neighbours_are_all_neighbours() -> None:
    x = _random(0, 4)
    assert neighbours_preserved(x, _random(1, 4), np.random.default_rng(0)).tolist() == [1] * 4
