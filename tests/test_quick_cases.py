"""Which cases the quick run takes."""

from __future__ import annotations

from itertools import product

import pytest
from quick_cases import each_once, families_of, some_families


def test_every_value_occurs_and_no_more_combinations_than_of_the_others() -> None:
    values = {"family": "abcde", "hard": (True, False), "layer": (3, 4)}
    combinations = [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]
    quick = each_once(combinations, ["hard", "layer"])
    assert [tuple(row.values()) for row, take in zip(combinations, quick, strict=True) if take] == [
        ("a", True, 3), ("b", False, 3), ("c", True, 4), ("d", False, 4), ("e", True, 3),
    ]  # fmt: skip
    assert all(each_once(combinations, []))


def test_values_that_would_be_left_out_are_refused() -> None:
    combinations = [{"family": family, "hard": hard} for family in "abc" for hard in (True, False)]
    with pytest.raises(ValueError, match="family never is c"):
        each_once(combinations, ["family"])


def test_each_family_has_its_turn() -> None:
    tests = [[{"family": name} for name in ("bert", "gpt2", "llama", "gte")] for _ in range(3)]
    quick = [some_families(families_of(cases), turn) for turn, cases in enumerate(tests)]
    assert quick == [
        [True, True, True, False],
        [True, True, False, True],
        [True, False, True, True],
    ]


def test_other_values_and_few_families_are_all_taken() -> None:
    assert not families_of([{"family": name} for name in ("bert", "gpt2", "llama")])
    assert not families_of([{"family": name} for name in ("bert", "gpt2", "llama", "gipe")])
