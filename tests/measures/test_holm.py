"""Holm's correction: by its definition, by its theorem, and row by row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias.errors import WordbiasError
from wordbias.measures.holm import holm, with_holm
from wordbias.results import Row

P = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def _by_closure(p: list[float]) -> list[float]:
    """Reject what every intersection with it rejects by Bonferroni: what Holm's shortcut equals."""
    places = range(len(p))
    subsets = [s for n in range(1, len(p) + 1) for s in itertools.combinations(places, n)]
    return [max(min(1.0, len(s) * min(p[j] for j in s)) for s in subsets if i in s) for i in places]


@given(P)
@settings(max_examples=60, deadline=None)
def test_it_is_the_closed_test_of_bonferroni(p: list[float]) -> None:
    np.testing.assert_allclose(holm(p), _by_closure(p), rtol=1e-12)


@given(P)
@settings(max_examples=40, deadline=None)
def test_it_only_grows_and_keeps_the_order(p: list[float]) -> None:
    corrected = holm(p)
    assert (corrected >= np.array(p)).all()
    assert (corrected <= 1).all()
    assert (np.diff(corrected[np.argsort(p, kind="stable")]) >= 0).all()


def test_one_test_needs_no_correction() -> None:
    assert holm([0.03]).tolist() == [0.03]
    assert holm([]).shape == (0,)


def test_of_independent_true_hypotheses_few_samples_reject_any() -> None:
    """The family-wise error is at most the level: 5 %, of 4,000 samples at 5 standard errors."""
    rng = np.random.default_rng(0)
    wrong = np.mean([holm(p).min() <= 0.05 for p in rng.random((4000, 10))])
    assert wrong <= 0.05 + 5 * np.sqrt(0.05 * 0.95 / 4000)


@pytest.mark.parametrize("bad", [[-0.1], [1.1], [np.nan], [[0.1]]])
def test_what_is_no_p_value_is_refused(bad: list[float]) -> None:
    with pytest.raises(WordbiasError, match=r"expected p-values in \[0, 1\]"):
        holm(bad)


def test_rows_are_corrected_within_their_embedding() -> None:
    rows = [
        Row("one", "weat", 1.0, {"p": 0.01}),
        Row("one", "mac", 1.0, {}),
        Row("one", "weat", 1.0, {"p": 0.02}),
        Row("two", "weat", 1.0, {"p": 0.02}),
        Row("two", "weat", None, {"p": None}),
    ]
    done = with_holm(rows)
    assert [row.details.get("p_holm") for row in done] == [0.02, None, 0.02, 0.02, None]
    assert [row.details.get("tests") for row in done] == [2, None, 2, 1, None]
    assert rows[0].details == {"p": 0.01}
