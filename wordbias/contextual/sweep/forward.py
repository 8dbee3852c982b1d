"""One pass, the outputs of all models of a plan.

The layers below every intervention: run once, and stopped where the settings part.

Removals one after another, by one thread: what they are applied to here is small.

Several threads would wait for each other longer than they compute, on a busy machine above all.

The last layer where only position 0 of its output is read.

There is one query, so that keys and values of the tokens are not needed: with q the query of a
head, k_t = W_k h_t + b_k and a the attention over tokens t,

    q · k_t = (W_kᵀ q) · h_t + q · b_k,        Σ_t a_t v_t = W_v (Σ_t a_t h_t) + b_v,

and q · b_k, the same for all t, does not change a. A removal P at the tokens that come in, a
symmetric map, moves to where there is one vector a head: x · (P h_t) = (P x) · h_t, and
Σ_t a_t P h_t = P Σ_t a_t h_t. So any number of removals cost one product with the same tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from wordbias.contextual.families import (
    Family,
    base_of,
    check_head,
    family_of,
    final_of,
    head_count,
    layer_count,
    module_at,
    sentence_of,
)
from wordbias.contextual.hooks import Calls, Intervention, Removal, applied, changing
from wordbias.contextual.sites import Place, Site, locate
from wordbias.contextual.sweep.plan import CLS, SENTENCE, TOKENS, Plan, Steps
from wordbias.devices import torch_threads


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


Chain = Sequence[Removal]


def removed(x: Tensor, chain: Chain) -> Tensor:
    """Apply the removals of a chain in their order to `x`, shape ``(…, d)``."""
    for removal in chain:
        x = removal(x)
    return x


def removed_each(parts: Iterable[Tensor], chains: Sequence[Chain]) -> list[Tensor]:
    """Apply to each tensor its own chain."""
    with torch_threads():
        return [removed(x, chain) for x, chain in zip(parts, chains, strict=True)]


def quick_family(model: Any) -> Family | None:
    """Return the family of a model whose last layer can be computed at position 0 alone, or None.

    It cannot where the family's record does not say how it goes on, or where this model's scores
    depend on more than its queries and keys, or a layer is several.
    """
    config, family = model.config, family_of(model)
    plain = getattr(config, "position_embedding_type", "absolute") in ("absolute", None)
    inner = getattr(config, "inner_group_num", 1) == 1
    causal = getattr(config, "is_decoder", False)
    return family if family.finish is not None and plain and inner and not causal else None


def rows_alone(
    model: Any,
    family: Family,
    last: Call,
    hidden: Tensor,
    mask: Tensor,
    chains: Sequence[Chain],
) -> Tensor:
    """Return what the last layer puts out at position 0.

    Parameters
    ----------
    family
        What `quick_family` says of the model.
    last
        How the layer is called.
    hidden
        What comes in, shape ``(B, T, d)``.
    mask
        1 for tokens, 0 for padding, shape ``(B, T)``.
    chains
        V sequences of removals at `hidden`.

    Returns
    -------
    Tensor
        Shape ``(V, B, d)``.
    """
    parts = [last.layer.get_submodule(path) for path in family.parts]
    query, key, value = parts
    heads, (batch, _, d) = head_count(model), hidden.shape
    size = query.out_features // heads
    x = torch.stack(removed_each([hidden[:, 0]] * len(chains), chains))  # (V, B, d)
    q = query(x).view(len(chains), batch, heads, size) / size**0.5
    u = torch.einsum("vbhs,hsd->vbhd", q, _by_head(key, heads))
    u = torch.stack(removed_each(u, [chain[::-1] for chain in chains]), 1)  # (B, V, heads, d)
    scores = u.flatten(1, 2) @ hidden.transpose(1, 2)  # (B, V · heads, T)
    scores = scores + _bias(family, last, mask, len(chains), scores.dtype)
    gathered = (scores.softmax(-1) @ hidden).view(batch, len(chains), heads, d).transpose(0, 1)
    gathered = torch.stack(removed_each(gathered, chains))
    context = torch.einsum("vbhd,hsd->vbhs", gathered, _by_head(value, heads)).flatten(2)
    context = context if value.bias is None else context + value.bias
    assert family.finish is not None
    return family.finish(last.layer, context.flatten(0, 1), x.flatten(0, 1)).view(x.shape)


def rows_of_whole(last: Call, hidden: Tensor, chains: Sequence[Chain]) -> Tensor:
    """Return the same as `rows_alone` by running the layer once a chain."""
    return torch.stack([last.again(removed(hidden, chain))[:, 0] for chain in chains])


def _by_head(linear: nn.Linear, heads: int) -> Tensor:
    return linear.weight.view(heads, -1, linear.in_features)


def _bias(family: Family, last: Call, mask: Tensor, copies: int, dtype: torch.dtype) -> Tensor:
    """Return what is added to the scores, of a shape that fits ``(B, V · heads, T)``."""
    padding = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    padding = padding.masked_fill(mask == 0, -torch.inf)[:, None]
    if not family.bias:
        return padding
    own: Tensor = last.argument(family.bias)[:, :, 0]  # (B, heads, T)
    return padding + own.repeat(1, copies, 1)


Inputs = Mapping[str, Tensor]


class Forward:
    """A model that computes every model of a plan in one pass.

    Parameters
    ----------
    model
        Of transformers, with a head that reads position 0 alone.
    plan
        Made for as many layers as it has.

    Raises
    ------
    WordbiasError
        If it has another head, lacks a site, or a subspace does not fit it.
    """

    model: Any
    plan: Plan
    attention: list[Attention]
    removals: list[list[list[Removal]]]
    quick: Family | None
    shares: bool

    def __init__(self, model: Any, plan: Plan) -> None:
        check_head(model)
        self.model, self.plan = model, plan
        attention, *rest = plan.stages
        self.attention = [Attention(model, steps) for steps in attention.steps]
        self.removals = [[_removals(model, steps) for steps in stage.steps] for stage in rest]
        self.quick = quick_family(model)
        self.shares = can_enter(model)

    def __call__(self, inputs: Inputs) -> Tensor:
        """Return the logits of each model, shape ``(models, B, C)``.

        Parameters
        ----------
        inputs
            Of the model, with an `attention_mask`, shape ``(B, T)`` each, padded on the right.
        """
        if not self.shares:
            return one_by_one(self.model, self.plan, inputs)
        before, last = enter(self.model, inputs)
        tokens = self.plan.stages[TOKENS]
        rows: list[Tensor] = [torch.empty(0)] * len(tokens)
        for i, attention in enumerate(self.attention):
            places = tokens.children(i)
            chains = [self.removals[TOKENS - 1][place] for place in places]
            found = self._rows(last, attention(before, last), inputs["attention_mask"], chains)
            for place, row in zip(places, found, strict=True):
                rows[place] = row
        rows = self._next(rows, CLS)
        read = list(sentence_of(self.model, torch.cat(rows)).chunk(len(rows)))
        logits: Tensor = final_of(self.model)(torch.stack(self._next(read, SENTENCE)))
        return logits[list(self.plan.leaves)]

    def _rows(self, last: Call, hidden: Tensor, mask: Tensor, chains: Sequence[Chain]) -> Tensor:
        if self.quick is None:
            return rows_of_whole(last, hidden, chains)
        return rows_alone(self.model, self.quick, last, hidden, mask, chains)

    def _next(self, states: Sequence[Tensor], stage: int) -> list[Tensor]:
        """Return the states of a stage from those of the one before, ``(B, d)`` each."""
        parents = self.plan.stages[stage].parents
        return removed_each([states[parent] for parent in parents], self.removals[stage - 1])


def one_by_one(model: Any, plan: Plan, inputs: Inputs) -> Tensor:
    """Return what `Forward` does by a whole pass for each model, with hooks."""
    outputs = []
    for i in range(len(plan.names)):
        with applied(model, plan.steps_of(i)):
            outputs.append(model(**inputs).logits)
    return torch.stack(outputs)


def _removals(model: Any, steps: Steps) -> list[Removal]:
    for step in steps:
        step.within(model)
    return [Removal(step.subspace, step.hard) for step in steps]
