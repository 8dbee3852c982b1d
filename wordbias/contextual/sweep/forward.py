"""One pass of a model that returns the logits of every model of a plan.

The plan is a tree of the interventions of many models, each computed once.

The layers below all interventions run once, up to the last layer. If only position 0 of its output
is read, it has one query and needs no keys and values of the tokens: with q the query of a head,
k_t = W_k h_t + b_k and a the attention over tokens t,

    q · k_t = (W_kᵀ q) · h_t + q · b_k,        Σ_t a_t v_t = W_v (Σ_t a_t h_t) + b_v,

and q · b_k, the same for all t, does not change a. A removal P at the incoming tokens, a symmetric
map, moves to where there is one vector a head: x · (P h_t) = (P x) · h_t, and
Σ_t a_t P h_t = P Σ_t a_t h_t. So any number of removals cost one product with the same tokens.

Where a head reads the last token, or the mean of all, the last layer is run whole for each removal
below it. A removal behind the last layer, an affine map, then changes what is read of it: the mean
of changed vectors is the changed mean.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from wordbias.devices import torch_threads
from wordbias.errors import WordbiasError
from wordbias.models.families import (
    FIRST,
    PARTS,
    Family,
    base_of,
    family_of,
    final_of,
    head_count,
    is_decoder,
    layer_count,
    module_at,
    read_by_head,
    sentence_of,
    text_head_of,
    texts_of,
)
from wordbias.models.hooks import Calls, Intervention, Removal, applied, changing, recording
from wordbias.models.sites import Place, Site, locate_layer

Steps = tuple[Intervention, ...]
_Key = tuple[Site, bytes]
Inputs = Mapping[str, Tensor]
Chain = Sequence[Removal]
"""Removals, one applied after another."""
ATTENTION, TOKENS, READ, SENTENCE = range(4)
"""Indices of the stages, in the order of a forward pass."""


@dataclass(frozen=True, eq=False)
class Stage:
    """The distinct states of the models at one place."""

    # for each state its parent, an index into the states of the stage before
    parents: tuple[int, ...]
    # for each state the interventions that make it of its parent; possibly none
    steps: tuple[Steps, ...]

    def __len__(self) -> int:
        return len(self.parents)

    def children(self, parent: int) -> tuple[int, ...]:
        """Return the indices of the states with a parent."""
        return tuple(i for i, own_parent in enumerate(self.parents) if own_parent == parent)


@dataclass(frozen=True, eq=False)
class Plan:
    """A tree of interventions in the last two of a model's layers.

    Notes
    -----
    Of the 74 published settings, the model as it is and one more baseline, 2 differ in the
    attention, 9 have reached the last layer, 37 its end and 76 the final linear map.
    """

    names: tuple[str, ...]
    # attention of the last layer but one; tokens behind it; what the head reads behind the last
    # layer; the sentence's vector
    stages: tuple[Stage, Stage, Stage, Stage]
    leaves: tuple[int, ...]  # for each model an index into the states of the last stage

    def steps_of(self, model: int) -> Steps:
        """Return the interventions of a model, by its index in `names`."""
        steps: Steps = ()
        place = self.leaves[model]
        for stage in reversed(self.stages):
            steps = stage.steps[place] + steps
            place = stage.parents[place]
        return steps

    @classmethod
    def of(cls, models: Mapping[str, Sequence[Intervention]], read: Site) -> Plan:
        """Plan the interventions of several models."""
        split = [_split(steps, read) for steps in models.values()]
        places = [0] * len(split)
        stages = []
        for k in range(len(_places(read))):
            known: dict[tuple[int, tuple[_Key, ...]], int] = {}
            chosen: list[tuple[int, Steps]] = []
            for i, steps in enumerate(split):
                key = (places[i], tuple(map(_key, steps[k])))
                if key not in known:
                    known[key] = len(chosen)
                    chosen.append((places[i], steps[k]))
                places[i] = known[key]
            stages.append(Stage(*(tuple(part) for part in zip(*chosen, strict=True))))
        first, second, third, last = stages
        return cls(tuple(models), (first, second, third, last), tuple(places))


def _places(read: Site) -> tuple[tuple[Site, ...], ...]:
    """Return the sites of each stage."""
    below = (read.layer or 1) - 1
    return (
        tuple(Site(part, below) for part in PARTS) if below else (),
        (Site("tokens", below),) if below else (),
        (read,),
        (Site("sentence"),),
    )


def _split(steps: Sequence[Intervention], read: Site) -> tuple[Steps, ...]:
    places, layers = _places(read), read.layer or 1
    for step in steps:
        site = step.site.counted(layers)
        if not any(site in stage for stage in places):
            known = ", ".join(str(site) for stage in places for site in stage)
            raise WordbiasError(f"site {step.site}: a sweep shares computation up to {known} alone")
    return tuple(
        tuple(step for step in steps if step.site.counted(layers) in stage) for stage in places
    )


def _key(step: Intervention) -> _Key:
    return step.site, hashlib.sha256(step.content).digest()


class Forward:
    """A model that computes every model of a plan in one pass."""

    model: Any
    plan: Plan
    attention: list[Attention]
    removals: list[list[list[Removal]]]
    quick: Family | None
    shares: bool

    def __init__(self, model: Any, plan: Plan) -> None:
        text_head_of(model)  # refuses other heads
        self.model, self.plan = model, plan
        attention, *rest = plan.stages
        self.attention = [Attention(model, steps) for steps in attention.steps]
        known: dict[_Key, Removal] = {}
        self.removals = [
            [_removals(model, steps, known) for steps in stage.steps] for stage in rest
        ]
        self.quick = quick_family(model)
        self.shares = can_enter(model)

    def __call__(self, inputs: Inputs, models: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        """Return all logits, (models, B, labels), and some models' final inputs, (k, B, d)."""
        # Inputs have shape (B, T) and are padded on the right.
        if not self.shares:
            return one_by_one(self.model, self.plan, inputs, models)
        before, last = enter(self.model, inputs)
        tokens = self.plan.stages[TOKENS]
        rows: list[Tensor] = [torch.empty(0)] * len(tokens)
        for i, attention in enumerate(self.attention):
            places = tokens.children(i)
            chains = [self.removals[TOKENS - 1][place] for place in places]
            hidden = attention(before, last)
            if self.quick is None:
                last_rows = self._whole_last_layer(inputs, last, hidden, chains)
            else:
                mask = inputs["attention_mask"]
                last_rows = first_of_last_layer(self.model, self.quick, last, hidden, mask, chains)
            for place, row in zip(places, last_rows, strict=True):
                rows[place] = row
        rows = self._next(rows, READ)
        sentences = list(sentence_of(self.model, torch.cat(rows)).chunk(len(rows)))
        states = torch.stack(self._next(sentences, SENTENCE))
        leaves = list(self.plan.leaves)
        logits: Tensor = final_of(self.model)(states)
        return logits[leaves], states[[leaves[i] for i in models]]

    def _whole_last_layer(
        self, inputs: Inputs, last: Call, hidden: Tensor, chains: Sequence[Chain]
    ) -> Tensor:
        """Return what is read of the last layer, run whole for each chain, ``(V, B, d)``."""
        whole = (last.rerun(removed(hidden, chain)) for chain in chains)
        return torch.stack([texts_of(self.model, x, inputs) for x in whole])

    def _next(self, states: Sequence[Tensor], stage: int) -> list[Tensor]:
        """Return the states of a stage from those of the one before, ``(B, d)`` each."""
        parents = self.plan.stages[stage].parents
        return removed_each([states[parent] for parent in parents], self.removals[stage - 1])


def one_by_one(
    model: Any, plan: Plan, inputs: Inputs, models: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Return the same as `Forward` by a whole pass with hooks for each model."""
    sentence, logits, vectors = Site("sentence"), list[Tensor](), list[Tensor]()
    for i in range(len(plan.names)):
        with applied(model, plan.steps_of(i)), recording(model, [sentence]) as values:
            logits.append(model(**inputs).logits)
            x = values[sentence]
            vectors.append(texts_of(model, x, inputs) if x.ndim > 2 else x)
    return torch.stack(logits), torch.stack(vectors)[list(models)]


def _removals(model: Any, steps: Steps, known: dict[_Key, Removal]) -> list[Removal]:
    """Return the removals of a state; equal ones share their arrays."""
    for step in steps:
        step.within(model)  # refuses what does not fit
    return [known.setdefault(_key(step), step.removal()) for step in steps]


def removed(x: Tensor, chain: Chain) -> Tensor:
    """Apply the removals of a chain in their order to `x`, shape ``(…, d)``."""
    for removal in chain:
        x = removal(x)
    return x


def removed_each(parts: Iterable[Tensor], chains: Sequence[Chain]) -> list[Tensor]:
    """Apply to each tensor its own chain, in one thread."""
    # The tensors are small: several threads would wait for each other longer than they compute.
    with torch_threads():
        return [removed(x, chain) for x, chain in zip(parts, chains, strict=True)]


# The layers below all interventions


@dataclass(frozen=True, eq=False)
class Call:
    """A recorded call of a layer, which can be repeated with other hidden states."""

    layer: Any = field(repr=False)
    # arguments of the call; the first are the hidden states, shape `(B, T, d)`
    args: tuple[Any, ...] = field(repr=False)
    kwargs: Mapping[str, Any] = field(repr=False)
    # module after the layer, through which its output goes; None if there is none
    norm: Any = field(default=None, repr=False)

    @property
    def hidden(self) -> Tensor:
        """The incoming hidden states."""
        states: Tensor = self.args[0]
        return states

    def rerun(self, hidden: Tensor) -> Tensor:
        """Return the layer's output for other hidden states."""
        out = self.layer(hidden, *self.args[1:], **self.kwargs)
        states: Tensor = out[0] if isinstance(out, tuple) else out
        return states if self.norm is None else self.norm(states)

    def argument(self, name: str) -> Any:
        """Return an argument by its name in the layer's signature; None if it was not passed."""
        bound = signature(self.layer.forward).bind(*self.args, **self.kwargs)
        return bound.arguments.get(name)


class _Entered(Exception):
    """Ends a pass when the last layer is called."""


def can_enter(model: Any) -> bool:
    """Return whether the output of the last layer but one is the input of the last one."""
    # In DeBERTa-v2 a convolution may be between the first layer and the second.
    mixed = family_of(model).mixed
    between = mixed and module_at(base_of(model), mixed) is not None
    return not (between and layer_count(model) == 2)


def enter(model: Any, inputs: Inputs) -> tuple[Call, Call]:
    """Run a model up to its last layer; return the calls of its last two layers."""
    recorded: list[Call] = []
    last = layer_count(model)

    def record(layer: int, calls: Calls) -> Any:
        def hook(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not calls.meant():
                return
            if not args:
                kwargs = dict(kwargs)
                args = (kwargs.pop("hidden_states"),)
            behind = family_of(model).last if layer == last else ""
            norm = base_of(model).get_submodule(behind) if behind else None
            recorded.append(Call(module, args, kwargs, norm))
            if layer == last:
                raise _Entered

        return hook

    with ExitStack() as stack:
        for layer in (last - 1, last):
            place = locate_layer(model, Site("tokens", layer))
            hook = record(layer, Calls(place, stack))
            handle = place.module.register_forward_pre_hook(hook, with_kwargs=True)
            stack.callback(handle.remove)
        with suppress(_Entered):
            model(**inputs, **({"use_cache": False} if is_decoder(model) else {}))
    before_last, at_last = recorded
    return before_last, at_last


class Attention:
    """The last layer but one, with interventions in its attention."""

    changes: list[tuple[Place, Removal]]

    def __init__(self, model: Any, steps: Sequence[Intervention]) -> None:
        self.changes = [
            (
                replace(step.within(model), call=None, rewinds=None),
                step.removal(),
            )
            for step in steps
        ]

    def __call__(self, before: Call, last: Call) -> Tensor:
        """Return the input of the last layer, shape ``(B, T, d)``."""
        if not self.changes:
            return last.hidden
        with changing(self.changes):
            return before.rerun(before.hidden)


# The last layer


def quick_family(model: Any) -> Family | None:
    """Return the family of a model whose last layer can be computed at position 0 only, or None."""
    # It cannot be if the head reads other tokens, the family has no `finish`, the model's attention
    # scores depend on more than its queries and keys, or a layer consists of several.
    config, family = model.config, family_of(model)
    plain = getattr(config, "position_embedding_type", "absolute") in ("absolute", None)
    inner = getattr(config, "inner_group_num", 1) == 1
    causal = getattr(config, "is_decoder", False)
    first = read_by_head(model) == FIRST and not causal
    return family if family.finish is not None and plain and inner and first else None


def first_of_last_layer(
    model: Any,
    family: Family,
    last: Call,
    hidden: Tensor,
    mask: Tensor,
    chains: Sequence[Chain],
) -> Tensor:
    """Return the output of the last layer at position 0, computed there only, (V, B, d)."""
    # `hidden` is the layer's input, (B, T, d); there are V `chains` of removals at it.
    query, key, value = (last.layer.get_submodule(path) for path in family.parts)
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


def _by_head(linear: nn.Linear, heads: int) -> Tensor:
    return linear.weight.view(heads, -1, linear.in_features)


def _bias(family: Family, last: Call, mask: Tensor, copies: int, dtype: torch.dtype) -> Tensor:
    """Return the term added to the scores, of a shape that broadcasts to ``(B, V · heads, T)``."""
    padding = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    padding = padding.masked_fill(mask == 0, -torch.inf)[:, None]
    if not family.bias:
        return padding
    own: Tensor = last.argument(family.bias)[:, :, 0]  # (B, heads, T)
    return padding + own.repeat(1, copies, 1)
