"""The layers below every intervention: run once, and stopped where the settings part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

from torch import Tensor

from wordbias.contextual.families import base_of, family_of, layer_count, module_at
from wordbias.contextual.hooks import Calls, changing
from wordbias.contextual.interventions import Intervention, Removal
from wordbias.contextual.places import Place, locate
from wordbias.contextual.sites import Site


@dataclass(frozen=True, eq=False)
class Call:
    """A call of a layer, to be made again with other hidden states.

    Attributes
    ----------
    layer
        The module.
    args, kwargs
        What it was called with; the first are the hidden states, shape ``(B, T, d)``.
    """

    layer: Any = field(repr=False)
    args: tuple[Any, ...] = field(repr=False)
    kwargs: Mapping[str, Any] = field(repr=False)

    @property
    def hidden(self) -> Tensor:
        """The hidden states that came in."""
        found: Tensor = self.args[0]
        return found

    def again(self, hidden: Tensor) -> Tensor:
        """Return what the layer makes of other hidden states."""
        out = self.layer(hidden, *self.args[1:], **self.kwargs)
        found: Tensor = out[0] if isinstance(out, tuple) else out
        return found

    def argument(self, name: str) -> Any:
        """Return an argument by the name that the layer gives it; None if it has none."""
        bound = signature(self.layer.forward).bind(*self.args, **self.kwargs)
        return bound.arguments.get(name)


class _Entered(Exception):
    """Ends a pass whose rest is not wanted."""


def can_enter(model: Any) -> bool:
    """Tell whether what the last layer but one puts out enters the last one as it is.

    In DeBERTa-v2 a convolution may stand between the first layer and the second.
    """
    mixed = family_of(model).mixed
    between = mixed and module_at(base_of(model), mixed) is not None
    return not (between and layer_count(model) == 2)


def enter(model: Any, inputs: Mapping[str, Tensor]) -> tuple[Call, Call]:
    """Run a model up to its last layer; return how its last two layers are called.

    Parameters
    ----------
    inputs
        Of the model, by name, shape ``(B, T)`` each.
    """
    layers = layer_count(model)
    with _calls(model, (layers - 1, layers)) as seen:
        try:
            model(**inputs)
        except _Entered:
            before, last = seen
    return before, last


@contextmanager
def _calls(model: Any, layers: Sequence[int]) -> Iterator[list[Call]]:
    """Note the calls of layers, and end the pass when the last of them is called."""
    seen: list[Call] = []
    with ExitStack() as stack:
        for layer in layers:
            place = locate(model, Site("tokens", layer))
            calls = Calls(place.call)
            if place.rewinds is not None:
                stack.callback(place.rewinds.register_forward_pre_hook(calls.rewind).remove)
            note = _noting(seen, calls, layer == layers[-1])
            handle = place.module.register_forward_pre_hook(note, with_kwargs=True)
            stack.callback(handle.remove)
        yield seen


def _noting(seen: list[Call], calls: Calls, last: bool) -> Any:
    def hook(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not calls.meant():
            return
        if not args:
            kwargs = dict(kwargs)
            args = (kwargs.pop("hidden_states"),)
        seen.append(Call(module, args, kwargs))
        if last:
            raise _Entered

    return hook


class Attention:
    """The last layer but one, with interventions in its attention."""

    changes: list[tuple[Place, Removal]]

    def __init__(self, model: Any, steps: Sequence[Intervention]) -> None:
        self.changes = [
            (
                replace(step.within(model), call=None, rewinds=None),
                Removal(step.subspace, step.hard),
            )
            for step in steps
        ]

    def __call__(self, before: Call, last: Call) -> Tensor:
        """Return what enters the last layer, shape ``(B, T, d)``."""
        if not self.changes:
            return last.hidden
        with changing(self.changes):
            return before.again(before.hidden)
