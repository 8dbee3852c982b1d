"""Nearest neighbours against a full sort of every cosine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples

from wordbias import devices
from wordbias.measures import movement as module
from wordbias.measures.movement import Neighbours, nearest

SIZES = st.integers(1, 30)


def _full_sort(x: NDArray[np.float32], queries: Any, k: int) -> tuple[list[Any], list[Any]]:
    """Every cosine of every query, the largest first, of equals the first row."""
    rows, cosines = [], []
    for query in queries:
        dots = [float(sum(a * b for a, b in zip(x[query], other, strict=True))) for other in x]
        others = sorted((-dots[i], i) for i in range(len(x)) if i != query)
        rows.append([i for _, i in others[:k]])
        cosines.append([-minus for minus, _ in others[:k]])
    return rows, cosines


def _set(patch: pytest.MonkeyPatch, queries: int, tile: int, first: int, many: int = 1) -> None:
    # private: sizes of the blocks of a numerical kernel, which may change no value
    sizes = {"_QUERIES": queries, "_TILE": tile, "_FIRST": first, "_MANY": many}
    for name, size in sizes.items():
        patch.setattr(module, name, size)


def _find(x: Any, k: int, queries: Any = None) -> Neighbours:
    x = np.asarray(x, np.float32)
    return nearest(x, np.arange(len(x)) if queries is None else np.array(queries, np.intp), k)


@settings(max_examples=examples(120), deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_it_is_the_full_sort(data: st.DataObject, seed: int) -> None:
    """Of whole numbers, whose products are exact: ties, duplicates and zeros in plenty."""
    rng = np.random.default_rng(seed)
    n, d = data.draw(st.integers(2, 40)), data.draw(st.integers(1, 5))
    k = data.draw(st.integers(1, n - 1))
    x = rng.integers(-2, 3, (n, d)).astype(np.float32)
    queries = rng.integers(n, size=data.draw(st.integers(1, 20)))
    with pytest.MonkeyPatch.context() as patch:
        sizes = [data.draw(SIZES) for _ in range(3)]
        _set(patch, *sizes, data.draw(st.integers(1, 3)))
        devices.set_threads(data.draw(st.sampled_from([1, 2])))
        near = nearest(x, queries, k)
    rows, cosines = _full_sort(x, queries, k)
    assert near.rows.tolist() == rows
    assert near.cosine.tolist() == cosines


def test_cosines_of_real_numbers_are_within_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    _set(monkeypatch, 7, 64, 96)
    x = np.random.default_rng(0).normal(size=(300, 20))
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    near = _find(x, 12)
    exact = x.astype(float) @ x.astype(float).T
    np.fill_diagonal(exact, -np.inf)
    best = -np.sort(-exact, axis=1)[:, :12]
    rounding = 20 * 2**-24  # a float32 sum of 20 products of unit vectors
    taken = np.take_along_axis(exact, near.rows.astype(np.intp), axis=1)
    assert np.abs(taken - best).max() <= 2 * rounding
    assert np.abs(near.cosine - taken).max() <= rounding
    assert (np.diff(near.cosine, axis=1) <= 0).all()


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _set(monkeypatch, 5, 16, 32)
    x = np.random.default_rng(1).integers(-9, 10, (90, 6))
    expected = _find(x, 7)
    devices.set_threads(2)
    near = _find(x, 7)
    np.testing.assert_array_equal(near.rows, expected.rows)
    np.testing.assert_array_equal(near.cosine, expected.cosine)


def test_a_duplicate_of_the_query_is_its_nearest_and_the_query_is_not() -> None:
    x = [[1, 0], [0, 1], [1, 0], [1, 0]]
    assert _find(x, 3).rows.tolist() == [[2, 3, 1], [0, 2, 3], [0, 3, 1], [0, 2, 1]]


def test_equal_cosines_come_by_row_number() -> None:
    x = np.zeros((60, 2))
    x[:, 1] = 1
    x[17] = [1, 0]
    assert _find(x, 5, [17, 2]).rows.tolist() == [[0, 1, 2, 3, 4], [0, 1, 3, 4, 5]]


@pytest.mark.parametrize("dim", [50, 100, 300])
def test_copies_of_a_word_come_by_row_number_wherever_they_stand(dim: int) -> None:
    rng = np.random.default_rng(dim)
    # private: sizes of the blocks of a numerical kernel, which may change no value
    x = rng.normal(size=(module._FIRST + module._TILE + 37, dim))
    copies = np.sort(rng.choice(np.arange(1, len(x)), 50, replace=False))
    x[copies] = x[0] + 0.1  # near the query, and all alike
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    for queries in ([0], [0, *range(5, 40)]):
        assert _find(x, 50, queries).rows[0].tolist() == copies.tolist()


def test_zero_vectors_are_as_far_as_right_angles() -> None:
    x = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, 0]]
    near = _find(x, 4)
    assert near.rows[0].tolist() == [1, 2, 3, 4]
    assert near.rows[1].tolist() == [0, 2, 4, 3]
    assert near.cosine[1].tolist() == [0, 0, 0, -1]


def test_the_neighbours_can_be_all_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    _set(monkeypatch, 4, 3, 6)
    x = np.random.default_rng(2).integers(-9, 10, (20, 3))
    near_rows = _find(x, 19).rows
    for i, row in enumerate(near_rows.tolist()):
        assert sorted([*row, i]) == list(range(20))


def test_no_query_has_no_neighbours() -> None:
    assert _find(np.eye(3), 2, []).rows.shape == (0, 2)


def test_the_vectors_stay_as_they_are() -> None:
    x = np.eye(4, dtype=np.float32)
    x.flags.writeable = False
    _find(x, 2)
    np.testing.assert_array_equal(x, np.eye(4))
