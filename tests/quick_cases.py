"""Cases of which the quick run takes some, and the whole run all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any

import pytest
import tiny_decoders
import tiny_encoders
from hypothesis import settings

FAMILIES = frozenset((*tiny_encoders.FAMILIES, *tiny_decoders.FAMILIES))
AT_ONCE = 3
"""How many families of models a test tries in the quick run; the next test takes the next ones."""
EXAMPLES = 25
"""What hypothesis draws in the quick run where a test names no number; the whole run draws 100."""


def examples(number: int) -> int:
    """Return the number of examples of a test: all in the whole run, some in the quick one."""
    return number * settings().max_examples // 100


def first_quick(cases: Iterable[Any]) -> list[Any]:
    """Return cases for `parametrize`; all behind the first are slow."""
    first, *others = cases
    return [
        first,
        *(
            pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
            for case in others
        ),
    ]


def each_once(combinations: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[bool]:
    """Say which combinations are taken for each value of some names to occur.

    Of all other names every combination is taken, and these names' values in turn. If the others
    have too few combinations for that it is an error: take the first case then, or all.
    """
    values = {name: list(dict.fromkeys(str(case[name]) for case in combinations)) for name in names}
    seen: dict[tuple[str, ...], int] = {}
    taken = []
    for combination in combinations:
        others = tuple(str(value) for name, value in combination.items() if name not in values)
        turn = seen.setdefault(others, len(seen))
        hits = []
        for name, all_values in values.items():
            hits.append(str(combination[name]) == all_values[turn % len(all_values)])
            turn //= len(all_values)
        taken.append(all(hits))
    for name, all_values in values.items():
        occurring = {str(case[name]) for case in compress(combinations, taken)}
        if missing := set(all_values) - occurring:
            raise ValueError(f"each_once: {name} never is {', '.join(sorted(missing))}")
    return taken


def families_of(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the family of models of each case of a test, of a test over many families."""
    for name in cases[0]:
        families = [str(case[name]) for case in cases]
        if len(set(families)) > AT_ONCE and FAMILIES.issuperset(families):
            return families
    return []


def some_families(families: Sequence[str], turn: int) -> list[bool]:
    """Say which cases are taken: those of the families whose turn it is."""
    names = list(dict.fromkeys(families))
    first = turn * AT_ONCE
    taken = {names[number % len(names)] for number in range(first, first + AT_ONCE)}
    return [family in taken for family in families]
