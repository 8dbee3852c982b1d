"""Blocks: nested, in order, and with whole groups."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wordbias.errors import WordbiasError
from wordbias.probes.mdl import FRACTIONS, block_ends, check_fractions, grouped, needed, nested

PUBLISHED = FRACTIONS["published"]


def test_the_published_ends() -> None:
    assert block_ends(1000, PUBLISHED) == (20, 30, 44, 65, 95, 140, 210, 310, 457, 676, 1000)
    assert block_ends(8000, FRACTIONS["voita"])[:5] == (8, 16, 32, 64, 128)


@given(st.integers(100, 50_000))
def test_ends_are_whole_parts(n: int) -> None:
    ends = block_ends(n, PUBLISHED)
    for end, thousandths in zip(
        ends, (20, 30, 44, 65, 95, 140, 210, 310, 457, 676, 1000), strict=True
    ):
        assert end == thousandths * n // 1000


@pytest.mark.parametrize(("name", "least"), [("published", 100), ("voita", 2000)])
def test_how_many_are_needed(name: str, least: int) -> None:
    assert needed(FRACTIONS[name]) == least
    block_ends(least, FRACTIONS[name])
    with pytest.raises(WordbiasError, match=f"{least - 1:,} examples are too few.*need {least:,}"):
        block_ends(least - 1, FRACTIONS[name])


@pytest.mark.parametrize("shares", [(), (1.0,), (0.5, 0.9), (0.5, 0.5, 1), (0, 1), (-1, 1), (2, 1)])
def test_fractions_that_are_none(shares: tuple[float, ...]) -> None:
    with pytest.raises(WordbiasError, match="rising from above 0 to 1"):
        check_fractions(shares)


@given(st.integers(100, 20_000))
def test_a_probe_is_tested_on_what_follows_what_it_saw(n: int) -> None:
    ends = block_ends(n, PUBLISHED)
    schedule = nested(ends)
    for i, (t, dev, test) in enumerate(
        zip(schedule.train, schedule.dev, schedule.test, strict=True)
    ):
        assert 0 < t == dev[0] < dev[1] == ends[i] == test[0] < test[1] == ends[i + 1]
        assert dev[1] - dev[0] == max(1, ends[i] // 10)
    assert sum(b - a for a, b in schedule.test) + ends[0] == n


def test_an_external_dev_set_leaves_all_that_was_sent_to_learn_from() -> None:
    schedule = nested((10, 20, 40), (40, 47))
    assert schedule.train == (10, 20)
    assert set(schedule.dev) == {(40, 47)}


@given(st.lists(st.integers(1, 60), min_size=2, max_size=60), st.booleans())
def test_no_group_is_ever_split(sizes: list[int], external: bool) -> None:
    n = sum(sizes)
    assume(n >= 100)
    stops = set(np.cumsum(sizes).tolist())
    dev = (n, n + 5) if external else None
    schedule = grouped(block_ends(n, PUBLISHED), sizes, dev)
    for t, watched, test in zip(schedule.train, schedule.dev, schedule.test, strict=True):
        assert set(test) <= stops
        assert 0 < t <= test[0]
        if external:
            assert (t, watched) == (test[0], dev)
            continue
        assert watched[0] == t
        assert watched[1] == test[0]
        assert watched[0] < watched[1]
        inside = [stop for stop in stops if stop < test[0]]
        assert t in stops or not inside, "only a single group is split for dev"
    assert schedule.test[-1][1] == n
    assert all(a[1] == b[0] for a, b in pairwise(schedule.test))


def test_groups_larger_than_blocks_make_fewer_blocks() -> None:
    schedule = grouped(block_ends(300, PUBLISHED), [100, 100, 100])
    assert schedule.test == ((100, 200), (200, 300))
    assert schedule.train == (90, 100)
    assert schedule.dev == ((90, 100), (100, 200))


def test_a_last_group_that_would_swallow_every_end() -> None:
    assert grouped((5, 10), [1, 9]).test == ((1, 10),)


def test_one_group_is_none() -> None:
    with pytest.raises(WordbiasError, match="two at least"):
        grouped((5, 10), [10])


def test_shares_too_small_to_count_are_refused_at_once() -> None:
    with pytest.raises(WordbiasError, match=r"by 0\.000001 or more"):
        check_fractions((1e-11, 1))
    with pytest.raises(WordbiasError, match=r"by 0\.000001 or more"):
        check_fractions((0.1, 0.1 + 1e-9, 1))
    assert needed((1e-6, 1)) == 2_000_000
