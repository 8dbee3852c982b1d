"""Lists of nearest documents, and how far two of them differ."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from wordbias.arrays import unit
from wordbias.rankings.ranking import (
    NOBODY,
    blocks_of,
    exposure,
    ideal_gain,
    ndcg,
    nearest,
    overlap,
    persistence,
    pooled_ranks,
    rank_shift,
    ranks_of,
    rbo,
    rbo_residual,
)

Lists = st.integers(1, 9).flatmap(
    lambda depth: st.tuples(
        st.permutations(range(12)).map(lambda order: order[:depth]),
        st.permutations(range(12)).map(lambda order: order[:depth]),
    )
)


def _ranks(first: list[int], second: list[int]) -> tuple[np.ndarray, np.ndarray]:
    _, ranks = pooled_ranks([np.array([first]), np.array([second])])
    return ranks[0], ranks[1]


def _summed(first: list[int], second: list[int], p: float, agreement: float | None = None) -> float:
    """Sum (1 − p) Σ p^(d−1) A_d to a depth where nothing is left; beyond the lists A is given."""
    total, d = 0.0, 0
    while d < len(first) or p**d > 1e-17:
        d += 1
        shared = (
            len(set(first[:d]) & set(second[:d])) / d
            if d <= len(first) or agreement is None
            else agreement
        )
        total += (1 - p) * p ** (d - 1) * shared
        if p == 0:
            break
    return total


@given(Lists, st.sampled_from([0.0, 0.5, 0.9]))
def test_rank_biased_overlap_is_the_sum_with_the_last_agreement_carried_on(
    lists: tuple[list[int], list[int]], p: float
) -> None:
    first, second = lists
    depth = len(first)
    last = len(set(first) & set(second)) / depth
    expected = _summed(first, second, p, last)
    # some 400 terms below 1, each rounded
    assert rbo(*_ranks(first, second), depth, p)[0] == pytest.approx(expected, abs=1e-13)


@given(Lists, st.sampled_from([0.0, 0.5, 0.8]))
def test_the_residual_is_what_the_best_and_the_worst_continuation_differ_by(
    lists: tuple[list[int], list[int]], p: float
) -> None:
    first, second = lists
    lacking = [document for document in first if document not in second]
    others = [document for document in second if document not in first]
    common = list(range(100, 400))
    best = _summed([*first, *others, *common], [*second, *lacking, *common], p)
    worst = _summed([*first, *common], [*second, *(-document for document in common)], p)
    residual = rbo_residual(*_ranks(first, second), len(first), p)[0]
    # the lists end at 300, where 0.8^300 is below 1e-29
    assert residual == pytest.approx(best - worst, abs=1e-12)


@given(Lists)
def test_equal_lists_do_not_differ_and_measures_are_symmetric(
    lists: tuple[list[int], list[int]],
) -> None:
    first, second = _ranks(*lists)
    depth = len(lists[0])
    for k in range(1, depth + 1):
        p = persistence(k)
        assert overlap(first, first, k) == 1
        assert rank_shift(first, first, k) == 0
        assert rbo(first, first, depth, p) == pytest.approx(1, abs=1e-14)
        assert overlap(first, second, k) == overlap(second, first, k)
        assert rbo(first, second, depth, p) == pytest.approx(rbo(second, first, depth, p))
        assert overlap(first, second, k)[0] == len(set(lists[0][:k]) & set(lists[1][:k])) / k


def test_what_leaves_a_list_counts_as_the_next_behind_its_end() -> None:
    first, second = _ranks([3, 5, 7], [5, 3, 9])
    assert rank_shift(first, second, 2)[0] == 1
    assert rank_shift(first, second, 3)[0] == (1 + 1 + 1) / 3


@pytest.mark.parametrize("rows", [1, 3, 7, 100])
@pytest.mark.parametrize("depth", [1, 4, 40])
def test_nearest_are_those_of_a_full_sort_however_the_blocks_are_cut(rows: int, depth: int) -> None:
    rng = np.random.default_rng(depth)
    documents = unit(rng.normal(size=(40, 6)).astype(np.float32))
    documents[[5, 11, 29]] = documents[17]  # equal documents are tied
    queries = unit(rng.normal(size=(9, 6)).astype(np.float32))
    queries[3] = documents[17]
    ids, scores = nearest(queries, blocks_of(documents, rows), depth)
    exact = (queries.astype(float)[:, None] * documents.astype(float)).sum(-1).round(9)
    for query in range(9):
        expected = sorted(range(40), key=lambda document: (-exact[query, document], document))[
            :depth
        ]
        assert ids[query].tolist() == expected
        assert scores[query].tolist() == exact[query, expected].tolist()


def test_permuting_documents_permutes_the_lists_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    documents = unit(rng.normal(size=(200, 5)).astype(np.float32))
    queries = unit(rng.normal(size=(6, 5)).astype(np.float32))
    order = rng.permutation(200)
    ids, scores = nearest(queries, blocks_of(documents), 10)
    moved, same = nearest(queries, blocks_of(documents[order]), 10)
    assert (order[moved] == ids).all()
    assert (same == scores).all()


def test_equal_queries_have_equal_lists_among_many_equal_documents() -> None:
    rng = np.random.default_rng(1)
    documents = unit(np.repeat(rng.normal(size=(3, 8)), 50, axis=0).astype(np.float32))
    queries = unit(rng.normal(size=(40, 8)).astype(np.float32))
    queries[1::2] = queries[::2]
    ids, _ = nearest(queries, blocks_of(documents, 16), 20)
    assert (ids[1::2] == ids[::2]).all()


def test_ranks_of_scores_are_those_of_the_lists() -> None:
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 4, size=(5, 12)).astype(float)  # many ties
    scores[2, 9:] = -np.inf
    ranks = ranks_of(scores, 6)
    for line, row_ranks in zip(scores, ranks, strict=True):
        order = sorted(range(12), key=lambda column: (-line[column], column))
        for rank, document in enumerate(order, 1):
            assert row_ranks[document] == (min(rank, 7) if np.isfinite(line[document]) else 7)


def test_a_pool_with_fewer_documents_ends_in_nobody() -> None:
    ids, ranks = pooled_ranks([np.array([[1, 2], [4, 5]]), np.array([[2, 1], [6, 7]])])
    assert ids.tolist() == [[1, 2, NOBODY, NOBODY], [4, 5, 6, 7]]
    assert ranks[1].tolist() == [[2, 1, 3, 3], [3, 3, 1, 2]]


@given(st.integers(1, 30), st.integers(1, 30))
def test_the_exposures_of_a_list_sum_to_that_of_its_ranks(n: int, k: int) -> None:
    total = exposure(np.random.default_rng(n).permutation(n) + 1, k).sum()
    assert total == pytest.approx(sum(1 / math.log2(1 + r) for r in range(1, min(n, k) + 1)))


@pytest.mark.parametrize("k", [1, 3, 10])
def test_ndcg_is_that_of_scikit_learn(k: int) -> None:
    rng = np.random.default_rng(k)
    scores = rng.permuted(np.arange(15.0)[None].repeat(8, 0), axis=1)
    relevance = rng.integers(0, 4, size=(8, 15)).astype(float)
    ideal = np.array([ideal_gain(gains, k) for gains in relevance])
    ndcgs = ndcg(ranks_of(scores, 15), relevance, ideal, k)
    expected = [ndcg_score(a[None], b[None], k=k) for a, b in zip(relevance, scores, strict=True)]
    assert ndcgs == pytest.approx(expected, rel=1e-12)


def test_ndcg_without_a_relevant_document_is_undefined() -> None:
    assert np.isnan(ndcg(np.array([[1, 2]]), np.zeros((1, 2)), np.zeros(1), 2)).all()
