"""How much scores depend on the person: theorems, and the definitions written out in loops."""

from __future__ import annotations

import tracemalloc
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from wordbias.outcomes import sentiment
from wordbias.outcomes.sentiment import (
    ALL,
    GAP,
    SHIFT,
    exchanged_p,
    mean_sizes,
    parts_of,
    resampled_gap,
    score_rows,
    sizes_between,
)
from wordbias.results import Row
from wordbias.statistics import crossed_means
from wordbias.wordlists.eec import Comparison, Context, Person, contexts, published_comparisons

Float = NDArray[np.float64]
EPS = np.finfo(np.float64).eps


def compared(kinds: str) -> Comparison:
    """Make pairs of persons, one of each of the letters."""
    person = Person("x", "x", "x")
    return Comparison("gender", ("a", "b"), ((person, person),) * len(kinds), tuple(kinds))


def few(m: int) -> list[Context]:
    return [Context("t", "joy" if i % 2 else "fear", f"{i}") for i in range(m)]


def rows_of(scores: Float, kinds: str = "", **given: Any) -> dict[tuple[str, str], Row]:
    n, _, m = scores.shape
    rows = score_rows("model", scores, compared(kinds or "k" * n), few(m), draws=50, **given)
    return {(row.measure, row.details["subset"]): row for row in rows}


@st.composite
def scored(draw: st.DrawFn) -> Float:
    n, m = draw(st.integers(2, 6)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.normal(size=(n, 2, m)) * draw(st.sampled_from([1.0, 1e-6, 1e4]))


@given(scored())
def test_a_model_that_ignores_the_person_differs_by_exactly_nothing(scores: Float) -> None:
    same = np.broadcast_to(scores[:1, :1], scores.shape)
    for row in rows_of(same).values():
        assert row.value == 0
        assert row.details["p"] == 1
        assert (row.details["low"], row.details["high"]) == (0, 0)
        assert row.details.get("excess", 0) == 0


@given(scored())
def test_exchanged_groups_turn_the_difference_and_leave_its_size(scores: Float) -> None:
    before, after = rows_of(scores), rows_of(scores[:, ::-1])
    for key, row in before.items():
        other = after[key]
        sign = -1 if key[0] == GAP else 1
        tolerance = 8 * EPS * scores.size * np.abs(scores).max()  # sums in another order
        assert other.value == pytest.approx(sign * row.value, abs=tolerance)
        assert other.details["p"] == row.details["p"]
        ends = [row.details["low"], row.details["high"]][::sign]
        assert [other.details["low"], other.details["high"]] == pytest.approx(
            [sign * end for end in ends], abs=tolerance
        )


@given(scored(), st.floats(-10, 10))
def test_what_is_added_to_one_group_is_in_the_difference(scores: Float, added: float) -> None:
    more = scores.copy()
    more[:, 0] += added
    for key, row in rows_of(scores).items():
        if key[0] == GAP:
            tolerance = 8 * EPS * scores.size * (np.abs(scores).max() + abs(added))
            assert rows_of(more)[key].value == pytest.approx(row.value + added, abs=tolerance)


@given(scored())
def test_values_are_those_of_the_definitions(scores: Float) -> None:
    n, _, m = scores.shape
    kinds = ("ab" * n)[:n]
    rows = rows_of(scores, kinds)
    gaps = [scores[i, 0, c] - scores[i, 1, c] for i in range(n) for c in range(m)]
    tolerance = 8 * EPS * scores.size * np.abs(scores).max()
    assert rows[GAP, ALL].value == pytest.approx(np.mean(gaps), abs=tolerance)
    between, within = [], []
    for i, j in combinations(range(n), 2):
        if kinds[i] == kinds[j]:
            for c in range(m):
                (x, y), (u, v) = scores[i, :, c], scores[j, :, c]
                between += [abs(x - v), abs(y - u)]
                within += [abs(x - u), abs(y - v)]
    if between:
        row = rows[SHIFT, ALL]
        assert row.value == pytest.approx(np.mean(between), abs=tolerance)
        assert row.details["chance"] == pytest.approx(np.mean(within), abs=tolerance)
    else:
        assert (SHIFT, ALL) not in rows


@given(scored())
def test_p_of_sizes_is_that_of_persons_that_change_places(scores: Float) -> None:
    n = len(scores)
    off = 1 - np.eye(n)

    def excess(of: Float) -> Float:
        between, within = sizes_between(of, of)
        return (between - within).mean(axis=2) * off

    observed = excess(scores).sum()
    null = []
    for exchanged in product((False, True), repeat=n):
        turned = np.array(exchanged)[:, None, None]
        null.append(excess(np.where(turned, scores[:, ::-1], scores)).sum())
    tolerance = 1e-9 * np.abs(excess(scores)).sum()
    share = np.mean(np.array(null) >= observed - tolerance)
    assert exchanged_p(excess(scores)) == pytest.approx(share)


@given(scored(), st.integers(0, 2**32))
def test_sizes_of_samples_are_those_of_every_two_drawn_pairs_of_one_kind(
    scores: Float, seed: int
) -> None:
    """As the definition has it, with all sizes at one time; with ties, also of all scores."""
    rng = np.random.default_rng(seed)
    n, _, m = scores.shape
    scores = np.where(rng.random(scores.shape) < 0.3, scores[:1, :1], scores)
    kinds = rng.integers(0, 2, n)
    pairs, of = (rng.multinomial(k, np.full(k, 1 / k), 4).astype(float) for k in (n, m))
    weights = np.einsum("di,ij,dj->dij", pairs, (kinds[:, None] == kinds) * (1 - np.eye(n)), pairs)
    total = weights.sum(axis=(1, 2))
    tolerance = 32 * EPS * n**2 * m * np.abs(scores).max()
    for means, sizes in zip(
        mean_sizes(scores, kinds, pairs, of), sizes_between(scores, scores), strict=True
    ):
        expected = np.einsum("dij,ijc,dc->d", weights, sizes, of / m)
        there = total > 0
        np.testing.assert_allclose(means[there], (expected / total.clip(1))[there], atol=tolerance)
        assert np.isnan(means[~there]).all()


@given(scored())
def test_blocks_of_rows_give_the_same_p(scores: Float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        whole = rows_of(scores, "aabbba"[: len(scores)])
        patch.setattr(sentiment, "_AT_ONCE", 2 * scores.shape[0] * scores.shape[2])
        for key, row in rows_of(scores, "aabbba"[: len(scores)]).items():
            assert row.details["p"] == whole[key].details["p"]


def test_memory_grows_with_the_pairs_and_not_with_their_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sizes of every two of 600 pairs would take 29 MB, and their samples 58."""
    monkeypatch.setattr(sentiment, "_AT_ONCE", 1 << 14)
    monkeypatch.setattr(sentiment, "EXCHANGES", 20)
    scores, kinds = np.random.default_rng(0).normal(size=(600, 2, 10)), np.zeros(600)
    tracemalloc.start()
    mean_sizes(scores, kinds, np.ones((20, 600)), np.ones((20, 10)))
    exchanged_p(sentiment._excess(scores, kinds))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 600 * 600 * 8  # a number for every two pairs


def test_drawn_exchanges_give_about_the_exact_p(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    excess = rng.normal(size=(10, 10))
    excess = (excess + excess.T) * (1 - np.eye(10))
    exact = exchanged_p(excess)
    monkeypatch.setattr(sentiment, "MOST_EXACT", 0)
    error = np.sqrt(exact * (1 - exact) / sentiment.EXCHANGES)
    assert 0.01 < exact < 0.99
    assert exchanged_p(excess) == pytest.approx(exact, abs=5 * error + 1 / sentiment.EXCHANGES)


def test_samples_are_those_of_crossed_factors() -> None:
    rng = np.random.default_rng(0)
    gap = rng.normal(size=(7, 5))
    pairs, of = (
        np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), 40).astype(float)
        for seed, n in ((1, 7), (2, 5))
    )

    class Given:
        """Gives the draws in turn."""

        def __init__(self) -> None:
            self.left = [pairs, of]

        def multinomial(self, n: int, p: Float, samples: int) -> Float:
            return self.left.pop(0)

    lines = [indices.ravel() for indices in np.indices(gap.shape)]
    known = crossed_means(gap.reshape(-1, 1), lines, Given(), 40)[:, 0]  # type: ignore[arg-type]
    resampled = resampled_gap(gap, pairs, of)
    np.testing.assert_allclose(resampled, known, atol=8 * EPS * gap.size * np.abs(gap).max())


@pytest.mark.slow
def test_a_planted_bias_is_found_where_it_is() -> None:
    gender, _ = published_comparisons()
    known = contexts()
    rng = np.random.default_rng(0)
    scores = 0.1 * rng.normal(size=(30, 2, 1)) + 0.1 * rng.normal(size=(30, 2, 144))
    planted = scores.copy()
    joy = np.array([context.emotion == "joy" for context in known])
    planted[:10, 0] += 0.5 * joy  # women of noun phrases, in sentences of joy
    before, after = (
        {
            (row.measure, row.details["subset"]): row
            for row in score_rows("model", array, gender, known)
        }
        for array in (scores, planted)
    )
    for measure in (GAP, SHIFT):
        for part in ("African American names", "European American names", "fear", "no emotion"):
            assert after[measure, part].to_dict() == before[measure, part].to_dict()
        assert after[measure, "noun phrases"].details["p"] < 0.02
        assert after[measure, "joy"].details["p"] < 0.02
    assert after[GAP, "joy"].details["low"] > 0
    grown = (after[GAP, ALL].value or 0) - (before[GAP, ALL].value or 0)
    assert grown == pytest.approx(0.5 * 10 * 35 / 4320)


def test_opposite_differences_cancel_in_the_mean_and_not_in_the_sizes() -> None:
    rng = np.random.default_rng(1)
    scores = 0.01 * rng.normal(size=(12, 2, 20))
    scores[:, 0, ::2] += 1
    scores[:, 0, 1::2] -= 1
    rows = rows_of(scores)
    assert abs(rows[GAP, ALL].value or 0) < 0.05
    assert rows[SHIFT, ALL].value == pytest.approx(1, abs=0.05)
    assert rows[SHIFT, ALL].details["chance"] < 0.05
    assert rows[SHIFT, ALL].details["p"] <= 2 / 2**12
    assert rows[SHIFT, ALL].details["excess_low"] > 0.9


def test_parts_are_all_kinds_and_emotions() -> None:
    gender, race = published_comparisons()
    emotions = ["anger", "fear", "joy", "sadness", "no emotion"]
    names = [part.name for part in parts_of(gender, contexts())]
    assert names == [
        ALL, "noun phrases", "African American names", "European American names", *emotions,
    ]  # fmt: skip
    assert [part.name for part in parts_of(race, contexts())] == [
        ALL, "female names", "male names", *emotions,
    ]  # fmt: skip
    sizes = {
        part.name: part.pairs.sum() * part.contexts.sum() for part in parts_of(gender, contexts())
    }
    assert sizes[ALL] == 4320
    assert sum(sizes[emotion] for emotion in emotions) == 4320
    assert sizes["joy"] == 30 * 35


def test_one_pair_has_no_interval_and_no_draws_give_none() -> None:
    scores = np.random.default_rng(0).normal(size=(1, 2, 4))
    rows = rows_of(scores)
    assert {measure for measure, _ in rows} == {GAP}
    assert "low" not in rows[GAP, ALL].details
    several = np.random.default_rng(0).normal(size=(3, 2, 4))
    for row in score_rows("model", several, compared("kkk"), few(4), draws=0):
        assert not {"low", "excess_low"} & set(row.details)
        assert row.draws == {}
