"""The pronoun that a decoder expects and its perplexity: what must hold for any log-likelihoods."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from wordbias.contextual.audit.expected import (
    MEASURES,
    PRONOUNS,
    Predicted,
    pronoun_leans,
    pronoun_shares,
    share_rows,
)
from wordbias.draws import change_keys
from wordbias.probes.pronouns import Chance, Pronouns

N = 30
WOMEN = {f"job {i}": float(3 * i) for i in range(N)}


def sentences(seed: int, n: int = 12) -> Predicted:
    rng = np.random.default_rng(seed)
    tokens = rng.integers(3, 12, n)
    return Predicted(-3 * tokens * rng.uniform(0.5, 1.5, n), tokens, tokens * 4)


def values(one: Predicted, before: Predicted | None = None) -> dict[str, float]:
    return {row.measure: row.value or 0.0 for row in one.rows("m", {}, before=before)}


@given(seed=st.integers(0, 100), cost=st.floats(0, 1))
def test_a_loss_of_every_token_multiplies_the_perplexity(seed: int, cost: float) -> None:
    before = sentences(seed)
    after = Predicted(before.total - cost * before.tokens, before.tokens, before.size)
    old, new = values(before), values(after, before)
    assert new["perplexity"] == pytest.approx(old["perplexity"] * np.exp(cost))
    assert new["perplexity-kept"] == pytest.approx(np.exp(-cost))
    assert new["bits-per-byte"] == pytest.approx(old["bits-per-byte"] + cost / 4 / np.log(2))
    (ratio,) = (row for row in after.rows("m", {}, before=before) if row.measure[-4:] == "kept")
    assert ratio.details["low"] == pytest.approx(ratio.details["high"])  # the same in all sentences


@given(seed=st.integers(0, 100))
def test_perplexity_and_bits_are_those_of_all_sentences_as_one(seed: int) -> None:
    predicted, whole = sentences(seed), sentences(seed)
    joined = Predicted(*(np.array([x.sum()]) for x in (whole.total, whole.tokens, whole.size)))
    assert values(predicted) == pytest.approx(values(joined))
    perplexity, bits = values(predicted)["perplexity"], values(predicted)["bits-per-byte"]
    assert np.log2(perplexity) * predicted.tokens.sum() == pytest.approx(
        bits * predicted.size.sum()
    )


def test_an_unchanged_decoder_keeps_everything() -> None:
    predicted = sentences(0)
    for row in predicted.rows("m", {}, before=predicted):
        if row.measure == "perplexity-kept":
            assert (row.value, row.details["low"], row.details["high"]) == (1.0, 1.0, 1.0)
        else:
            assert change_keys(row, row) == {"change": 0, "change_low": 0, "change_high": 0}


@pytest.mark.slow
def test_leans_like_the_shares_are_beyond_permuted_ones_and_others_are_not() -> None:
    share, rng = np.array(list(WOMEN.values())), np.random.default_rng(3)
    beyond = 0
    for seed in range(20):
        lean = rng.normal(size=N)
        chance = Chance.permuted(lean, WOMEN, seed=seed)
        low, high = min(chance.stereotype), max(chance.stereotype)
        assert low == -high
        assert np.mean(chance.stereotype) == pytest.approx(0, abs=1e-12)
        assert 0.25 < high < 0.45  # 1.96 / √(n − 1) is .36
        beyond += abs(spearmanr(lean, share).statistic) > high
    assert beyond <= 4  # 5 % of 20 is 1; more than 4 in 1 of 400 seeds
    planted = Pronouns.of_leans(share + rng.normal(size=N), WOMEN, measures=MEASURES)
    row = planted.rows("m", {}, chance=Chance.permuted(planted.lean, WOMEN))[0]
    assert row.measure == "expected-pronoun-stereotype"
    assert row.details["beyond_chance"] is True


def test_equal_leans_have_neither_a_correlation_nor_a_chance_level() -> None:
    lean = np.ones(N)
    assert Chance.permuted(lean, WOMEN).stereotype == ()
    row = Pronouns.of_leans(lean, WOMEN, measures=MEASURES).rows("m", {})[0]
    assert row.value is None
    assert "all occupations lean alike" in row.details["reason"]


@given(seed=st.integers(0, 100), shift=st.floats(-50, 50))
def test_shares_of_pronouns_are_those_among_them(seed: int, shift: float) -> None:
    """A beginning after which any pronoun is unlikely counts as much; shares add up to 1."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(N, 2, len(PRONOUNS)))
    shares = pronoun_shares(scores)
    np.testing.assert_allclose(shares.sum(1), 1)
    np.testing.assert_allclose(shares, pronoun_shares(scores + shift * rng.random((N, 2, 1))))
    single = pronoun_shares(scores[:, :1])
    np.testing.assert_allclose(np.log(single[:, 0] / single[:, 1]), pronoun_leans(scores[:, :1]))
    rows = share_rows("m", {}, shares, shares[:3])
    assert [row.details["set"] for row in rows] == list(PRONOUNS)
    assert sum(row.value or 0 for row in rows) == pytest.approx(1)
    assert all(row.details["low"] <= row.value <= row.details["high"] for row in rows if row.value)
    assert sum(row.details["people"] for row in rows) == pytest.approx(1)
