"""Ranks of settings over the share of extreme triples, against loops with scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from wordbias.contextual.sweep.comparison import Items
from wordbias.contextual.sweep.shares import share_ranks
from wordbias.statistics import resamples
from wordbias.stereotypes.scores import Settings

NAMES = [f"L12-{i:03b}" for i in range(8)]
TRIPLES = 40
NOTHING = np.zeros(1)


def heads(count: int) -> list[dict[str, Items]]:
    rng = np.random.default_rng(3)

    def items(size: float) -> Items:
        s, d = size + rng.normal(size=TRIPLES), size * rng.random(TRIPLES)
        return Items(s, d, NOTHING, NOTHING)

    names = ["Base", "Sent-debias", *NAMES]
    return [{name: items(i / 8) for i, name in enumerate(names)} for _ in range(count)]


def top(values: Any, k: int) -> float:
    return float(np.mean(sorted(values)[-k:]))


@pytest.mark.parametrize("count", [1, 3])
def test_correlations_of_the_ranks_at_two_shares(count: int) -> None:
    of_heads = heads(count)
    rows, (correlations, ranks) = share_ranks(of_heads, [0.1, 0.25, 1.0], Settings(samples=60))
    assert [row.subject for row in rows] == [
        "S, 0.1 – S, 0.25", "S, 0.1 – S, 1", "D, 0.1 – D, 0.25", "D, 0.1 – D, 1",
    ]  # fmt: skip

    def means(measure: str, k: int, drawn: Any) -> list[float]:
        return [
            float(np.mean([top(getattr(head[name], measure)[drawn], k) for head in of_heads]))
            for name in NAMES
        ]

    every = np.arange(TRIPLES)
    (drawn,) = resamples(TRIPLES, np.random.default_rng(0), 60)
    for row, (measure, k) in zip(
        rows, [("strength", 10), ("strength", 40), ("distance", 10), ("distance", 40)], strict=True
    ):
        expected = stats.spearmanr(means(measure, 4, every), means(measure, k, every)).statistic
        assert row.value == pytest.approx(expected)
        several = [
            stats.spearmanr(means(measure, 4, sample), means(measure, k, sample)).statistic
            for sample in drawn
        ]
        ends = row.details["low"], row.details["high"]
        np.testing.assert_allclose(ends, np.percentile(several, [2.5, 97.5]), atol=1e-9)
        assert row.details["n"] == len(NAMES)
    assert len(correlations.cells) == 4
    assert ranks.columns == ["setting", "S, 0.1", "S, 0.25", "S, 1", "D, 0.1", "D, 0.25", "D, 1"]
    column = [float(line[2]) for line in ranks.cells]
    assert column == stats.rankdata(means("strength", 10, every)).tolist()


def test_one_share_has_no_ranks_to_compare() -> None:
    assert share_ranks(heads(1), [0.1], Settings()) == ([], [])
