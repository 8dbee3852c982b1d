"""Forward hooks at places: reading what passes there, or putting something else in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from wordbias.contextual.places import Place, locate_all
from wordbias.contextual.sites import Site

Change = Callable[[Any], Any]


class Calls:
    """Count the calls of a module in a pass, and tell the one that is meant."""

    made: int

    def __init__(self, wanted: int | None) -> None:
        self.wanted = wanted
        self.made = 0

    def rewind(self, *_: Any) -> None:
        """Begin a pass."""
        self.made = 0

    def meant(self) -> bool:
        """Count a call and tell whether it is the one."""
        self.made += 1
        return self.wanted is None or self.made - 1 == self.wanted


@contextmanager
def changing(changes: Sequence[tuple[Place, Change]]) -> Iterator[None]:
    """Replace what passes at places by what functions make of it.

    Changes at one place follow each other in their order, and come before every other hook there,
    so that hidden states which transformers collects are the changed ones.
    """
    with ExitStack() as stack:
        for place, change in reversed(changes):  # each is put before those that are there
            calls = _counted(stack, place)
            if place.entering:
                handle = place.module.register_forward_pre_hook(
                    _before(place, calls, change), prepend=True
                )
            else:
                handle = place.module.register_forward_hook(
                    _after(place, calls, change), prepend=True
                )
            stack.callback(handle.remove)
        yield


@contextmanager
def recording(model: Any, wanted: Sequence[Site]) -> Iterator[dict[Site, Any]]:
    """Keep what passes at sites; yields a dictionary that each pass fills anew.

    A tensor is of shape ``(batch, d)`` for the sentence and cls, ``(batch, tokens, d)`` otherwise.
    Where a linear map is applied more than once in a pass (DeBERTa's to positions too), its first
    application is kept: that to the tokens.
    """
    seen: dict[Site, Any] = {}
    with ExitStack() as stack:
        for site, place in zip(wanted, locate_all(model, wanted), strict=True):
            calls = _counted(stack, place)
            rewind = _forget(seen, site)
            stack.callback(model.register_forward_pre_hook(rewind).remove)
            keep = _keep(seen, site)
            if place.entering:
                handle = place.module.register_forward_pre_hook(_before(place, calls, keep))
            else:
                handle = place.module.register_forward_hook(_after(place, calls, keep))
            stack.callback(handle.remove)
        yield seen


def _forget(seen: dict[Site, Any], site: Site) -> Callable[..., None]:
    def hook(*_: Any) -> None:
        seen.pop(site, None)

    return hook


def _keep(seen: dict[Site, Any], site: Site) -> Change:
    def keep(x: Any) -> None:
        seen.setdefault(site, x.detach())

    return keep


def _counted(stack: ExitStack, place: Place) -> Calls:
    calls = Calls(place.call)
    if place.rewinds is not None:
        stack.callback(place.rewinds.register_forward_pre_hook(calls.rewind).remove)
    return calls


def _after(place: Place, calls: Calls, change: Change) -> Callable[..., Any]:
    """Make a hook on the output of a module, which may be a tensor or a tuple with it first."""

    def hook(module: Any, args: Any, output: Any) -> Any:
        if not calls.meant():
            return None
        new = _at(place, output[0] if isinstance(output, tuple) else output, change)
        if new is None or not isinstance(output, tuple):
            return new
        replaced = (new, *output[1:])
        return type(output)._make(replaced) if hasattr(output, "_make") else replaced

    return hook


def _before(place: Place, calls: Calls, change: Change) -> Callable[..., Any]:
    """Make a hook on the first argument of a module."""

    def hook(module: Any, args: Any) -> Any:
        if not calls.meant():
            return None
        new = _at(place, args[0], change)
        return None if new is None else (new, *args[1:])

    return hook


def _at(place: Place, x: Any, change: Change) -> Any:
    """Apply a change to the part of `x` that is meant, in a copy of it."""
    if not place.first:
        return change(x)
    new = change(x[..., 0, :])
    if new is None:
        return None
    copy = x.clone()
    copy[..., 0, :] = new
    return copy
