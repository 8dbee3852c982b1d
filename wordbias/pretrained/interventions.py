"""Register of the interventions that are applied to models now, which can be paused.

`wordbias.contextual.applied` registers them here, below the encoders that must notice them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary


class Applied:
    """Interventions that are applied to a model now.

    Attributes
    ----------
    sites
        Names of their sites.
    paused
        They are switched off for the moment.
    """

    sites: tuple[str, ...]

    def __init__(self, sites: Sequence[str]) -> None:
        self.sites = tuple(sites)
        self.paused = False


_ACTIVE: WeakKeyDictionary[Any, list[Applied]] = WeakKeyDictionary()


def interventions_in(model: Any) -> list[Applied]:
    """Return the interventions in a model, or in one that it is a part of, the outer block first.

    An encoder is a part of the same model with a head.
    """
    return [
        one
        for whole, applied in _ACTIVE.items()
        if applied and (whole is model or any(part is model for part in whole.modules()))
        for one in applied
    ]


@contextmanager
def intervening(model: Any, sites: Sequence[str]) -> Iterator[Applied]:
    """Register interventions in a model as long as the block lasts."""
    one = Applied(sites)
    _ACTIVE.setdefault(model, []).append(one)
    try:
        yield one
    finally:
        _ACTIVE[model].remove(one)


@contextmanager
def paused(model: Any) -> Iterator[None]:
    """Pause all interventions in a model."""
    active = [one for one in interventions_in(model) if not one.paused]
    for one in active:
        one.paused = True
    try:
        yield
    finally:
        for one in active:
            one.paused = False
