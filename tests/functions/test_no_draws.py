"""Numbers of draws below one are refused by every function, and are no silent default."""

from __future__ import annotations

from inspect import isfunction, signature
from typing import Any

import pytest

import wordbias as wb
from wordbias.errors import UsageError

CALLS: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, Any]]] = {
    "measure": (("seed_lists",), (), {}),
    "misp": (("null", "seed_lists"), (), {}),
    "debias": (("null", "seed_lists"), ("missing.txt", "misp"), {}),
    "project": (("null", "seed_lists"), ("missing",), {"output": "a.adapter"}),
    "sweep": (("null", "seed_lists"), ("missing",), {"stereoset": "no", "nli": "no", "snli": "no"}),
    "mab_eval": (("seed_lists",), (), {}),
    "retrieval": (("null", "seed_lists"), ("a", "b"), {"model": "c", "methods": "leace"}),
    "mab_study": (("null", "seed_lists"), ("a",), {"train": "b", "dev": "c", "output": "d"}),
}


def test_every_function_with_such_an_option_is_here() -> None:
    functions = {name: member for name in wb.__all__ if isfunction(member := getattr(wb, name))}
    pairs = {
        (name, option)
        for name, function in functions.items()
        for option in ("null", "seed_lists")
        if option in signature(function).parameters
    }
    assert pairs == {(name, option) for name, (options, *_) in CALLS.items() for option in options}


@pytest.mark.parametrize("count", [0, -1])
@pytest.mark.parametrize(
    ("name", "option"), [(name, option) for name, call in CALLS.items() for option in call[0]]
)
def test_a_number_below_one_is_refused(name: str, option: str, count: int) -> None:
    _, given, more = CALLS[name]
    with pytest.raises(UsageError, match=f"^{option}=: .*whole number from 1 on, got {count}$"):
        getattr(wb, name)(*given, **more, **{option: count})
