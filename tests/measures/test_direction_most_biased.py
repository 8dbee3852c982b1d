"""The words that lean most to each side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias.errors import WordbiasError
from wordbias.measures.direction import most_biased


def test_each_side_comes_with_its_most_biased_word_first() -> None:
    chosen = most_biased(np.array([0.1, -0.5, 0.9, -0.2, 0.3, 0.0]), 2)
    assert chosen.rows.tolist() == [2, 4, 1, 3]
    assert chosen.labels.tolist() == [True, True, False, False]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 60))
def test_no_other_word_leans_more(seed: int, n: int) -> None:
    lean = np.random.default_rng(seed).normal(size=n)
    per_side = int(min((lean > 0).sum(), (lean < 0).sum()))
    for count in range(1, per_side + 1):
        rows, labels = most_biased(lean, count)
        assert len(set(rows.tolist())) == 2 * count == len(labels)
        assert (labels == (lean[rows] > 0)).all()
        others = np.delete(lean, rows)
        assert others.max(initial=0) <= lean[rows[labels]].min()
        assert others.min(initial=0) >= lean[rows[~labels]].max()


@pytest.mark.parametrize("lean", [[0.5, 0.2, -0.1, 0.0], [-0.5, -0.2, 0.1, 0.0]])
def test_words_that_do_not_lean_are_on_no_side(lean: list[float]) -> None:
    most_biased(np.array(lean), 1)
    with pytest.raises(WordbiasError, match=r"^2 words a side asked for, but only [12] and"):
        most_biased(np.array(lean), 2)
