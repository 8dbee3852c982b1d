"""Tests over seeds: which pairs are tested, the smallest p, and Holm."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wordbias.biographies.summary import FEWEST, PairedTest, paired_test, too_few, with_holm


def test_six_pairs_are_the_fewest_that_can_have_a_star() -> None:
    assert 2 / 2**FEWEST < 0.05 <= 2 / 2 ** (FEWEST - 1)


def test_pairs_are_seeds_that_have_both() -> None:
    base = np.array([1.0, 2, 3, 4, 5, 6, np.nan, 8])
    values = base + np.array([1, 2, 3, 1, 2, 3, 9, np.nan])
    assert paired_test(values, base) == PairedTest(2 / 64, 6)
    fewer = paired_test(values[1:], base[1:])
    assert fewer == PairedTest(None, 5, "the smallest p that 5 pairs of seeds can have is 0.0625")
    assert not fewer.is_significant
    assert paired_test(values[:6], base[:6]).is_significant
    assert paired_test([np.nan], [1.0]).reason == "no seed has both"
    assert too_few(1) == "the smallest p that 1 pair of seeds can have is 1"


def rejected(ps: list[int], level: int) -> set[int]:
    """Return which hypotheses Holm's steps reject; p and level in 64ths."""
    found: set[int] = set()
    for i in sorted(range(len(ps)), key=ps.__getitem__):
        if ps[i] * (len(ps) - len(found)) > level:
            break
        found.add(i)
    return found


@given(st.lists(st.integers(0, 64), min_size=1, max_size=12), st.integers(0, 63))
def test_holm_rejects_what_its_steps_do(ps: list[int], level: int) -> None:
    found = with_holm([PairedTest(p / 64, 9) for p in ps])  # whole 64ths are exact
    assert {i for i, one in enumerate(found) if one.p * 64 <= level} == rejected(ps, level)


def test_holm_does_not_count_what_was_not_tested() -> None:
    none = PairedTest(None, 3, "too few")
    found = with_holm([none, PairedTest(0.02, 9), none, PairedTest(0.03, 9)])
    assert found == [none, PairedTest(0.04, 9), none, PairedTest(0.04, 9)]
