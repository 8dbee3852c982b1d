"""One pass, the outputs of all models of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from wordbias.contextual.families import Family
from wordbias.contextual.heads import check_head, final_of, sentence_of
from wordbias.contextual.interventions import Removal, applied
from wordbias.contextual.sweep.last_layer import (
    quick_family,
    rows_alone,
    rows_of_whole,
)
from wordbias.contextual.sweep.plan import CLS, SENTENCE, TOKENS, Plan, Steps
from wordbias.contextual.sweep.prefix import Attention, Call, can_enter, enter
from wordbias.contextual.sweep.removing import Chain, removed_each

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
