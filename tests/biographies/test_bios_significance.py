"""The sign-flip test: against a count of all signs, its invariances, its smallest p, and Holm."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from wordbias import WordbiasError
from wordbias.biographies.significance import (
    FEWEST,
    SAMPLES,
    PairedTest,
    compared,
    holm,
    sign_flip_p,
    too_few,
)

WHOLE = st.lists(st.integers(-50, 50), min_size=1, max_size=9)


@given(WHOLE)
def test_p_is_the_share_of_signs_with_as_large_a_sum(differences: list[int]) -> None:
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(one >= abs(sum(differences)) for one in sums) / len(sums)
    assert sign_flip_p(differences) == expected


@settings(deadline=None)
@given(WHOLE.filter(lambda d: len(d) > 1 and any(d)), st.sampled_from([0.001, 0.1, 7.0, 1e300]))
def test_p_does_not_depend_on_unit_order_or_direction(differences: list[int], unit: float) -> None:
    p = sign_flip_p(differences)
    assert sign_flip_p([-d * unit / 50 for d in differences]) == p
    assert sign_flip_p(differences[::-1]) == p


def test_p_is_that_of_scipy() -> None:
    rng = np.random.default_rng(4)
    for n in (6, 10, 13):
        x, y = rng.normal(0.4, 1, n), rng.normal(0, 1, n)
        found = stats.permutation_test(
            (x, y),
            lambda a, b, axis: (a - b).mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        )
        assert sign_flip_p(x - y) == found.pvalue


@pytest.mark.parametrize("n", range(1, 21))
def test_the_smallest_p_is_two_of_all_signs(n: int) -> None:
    assert sign_flip_p(np.linspace(0.1, 3, n)) == min(1, 2 / 2**n)


def test_six_pairs_are_the_fewest_that_can_have_a_star() -> None:
    assert 2 / 2**FEWEST < 0.05 <= 2 / 2 ** (FEWEST - 1)


def test_beyond_twenty_pairs_signs_are_drawn() -> None:
    d = np.random.default_rng(2).normal(0.3, 1, 22)
    p = sign_flip_p(d)
    assert p == sign_flip_p(d) != sign_flip_p(d, seed=1)
    signs = np.array(list(product((1, -1), repeat=11)), np.int8)  # halves, added in all pairs
    left, right = signs @ d[:11], signs @ d[11:]
    exact = np.mean([np.mean(abs(a + right) >= abs(d.sum()) - 1e-9) for a in left])
    assert abs(p - exact) < 5 * np.sqrt(exact * (1 - exact) / SAMPLES)
    assert sign_flip_p(np.ones(40)) == 1 / (SAMPLES + 1)  # never 0


def test_no_difference_is_no_evidence() -> None:
    assert sign_flip_p(np.zeros(8)) == 1


@pytest.mark.parametrize("bad", [[], [[1.0]], [np.nan, 1.0], [np.inf]])
def test_what_is_no_difference(bad: list[float]) -> None:
    with pytest.raises(WordbiasError, match="expected one finite difference for each pair"):
        sign_flip_p(bad)


def test_pairs_are_seeds_that_have_both() -> None:
    base = np.array([1.0, 2, 3, 4, 5, 6, np.nan, 8])
    values = base + np.array([1, 2, 3, 1, 2, 3, 9, np.nan])
    assert compared(values, base) == PairedTest(2 / 64, 6)
    fewer = compared(values[1:], base[1:])
    assert fewer == PairedTest(None, 5, "the smallest p that 5 pairs of seeds can have is 0.0625")
    assert not fewer.is_significant
    assert compared(values[:6], base[:6]).is_significant
    assert compared([np.nan], [1.0]).reason == "no seed has both"
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
    found = holm([PairedTest(p / 64, 9) for p in ps])  # whole 64ths are exact
    assert {i for i, one in enumerate(found) if one.p * 64 <= level} == rejected(ps, level)


def test_holm_does_not_count_what_was_not_tested() -> None:
    none = PairedTest(None, 3, "too few")
    found = holm([none, PairedTest(0.02, 9), none, PairedTest(0.03, 9)])
    assert found == [none, PairedTest(0.04, 9), none, PairedTest(0.04, 9)]
