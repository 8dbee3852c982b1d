"""What a fine-tuning trains: parameters, their losses and score, and the optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from wordbias.checkpoints import State
from wordbias.contextual.fine_tuning.heads import encoder_parameters
from wordbias.contextual.fine_tuning.optimising import adamw
from wordbias.contextual.fine_tuning.reading import Part, Places
from wordbias.contextual.fine_tuning.recipe import Recipe, Rounds, bucketed, schedule
from wordbias.contextual.fine_tuning.several import ALONE, Processes
from wordbias.errors import WordbiasError


class Trained(nn.Module):
    """A model as the one of a stack of models; only what is trained belongs to its state."""

    parts: dict[str, nn.Parameter]

    def __init__(self, model: nn.Module, head_only: bool) -> None:
        super().__init__()
        self.model = model
        fixed = {id(one) for one in encoder_parameters(model)} if head_only else set()
        self.parts = {name: one for name, one in model.named_parameters() if id(one) not in fixed}

    def train(self, mode: bool = True) -> Trained:
        """Let the model drop out, or not."""
        self.model.train(mode)
        return self

    def state_dict(self, *_: Any, **__: Any) -> State:  # type: ignore[override]
        """Return what is trained, shape ``(1, …)`` each."""
        return {name: one.detach()[None] for name, one in self.parts.items()}

    def load_state_dict(self, state: Any, *_: Any, **__: Any) -> None:  # type: ignore[override]
        """Give what is trained other values."""
        with torch.no_grad():
            for name, one in self.parts.items():
                one.copy_(state[name][0])


class Task:
    """Cross entropy on batches of like length, accuracy on dev."""

    optimizer: torch.optim.Optimizer
    data: Part
    dev: Part
    recipe: Recipe
    rounds: Rounds
    processes: Processes
    device: torch.device

    def __init__(
        self,
        trained: Trained,
        optimizer: torch.optim.Optimizer,
        data: Part,
        dev: Part,
        recipe: Recipe,
        rounds: Rounds,
        processes: Processes,
    ) -> None:
        self.optimizer, self.data, self.dev = optimizer, data, dev
        self.recipe, self.rounds, self.processes = recipe, rounds, processes
        self.device = next(iter(trained.parts.values())).device

    def steps(self) -> int:
        """Return the batches of a round."""
        return self.rounds.steps

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Yield the loss of each batch of a round, shape ``(1,)``."""
        self._draw_dropout(epoch)
        order: list[Places] = []
        current = -1
        for step in range(epoch * self.rounds.steps, (epoch + 1) * self.rounds.steps):
            pass_, place = divmod(step, self.rounds.batches)
            if pass_ != current:
                current, order = pass_, self._order(pass_)
            for group in self.optimizer.param_groups:
                group["lr"] = self.recipe.rate * schedule(step, self.rounds.total, self.recipe)
            rows, weight = self.processes.share(order[place])
            with self._casting():
                logits, targets = self.data.logits(rows)
            loss = weight * nn.functional.cross_entropy(logits.float(), targets)
            yield self.processes.told(loss)[None]

    def score(self) -> Tensor:
        """Return the accuracy on dev, shape ``(1,)``."""
        right = lost = 0
        order = np.argsort(self.dev.reader.lengths[self.dev.places], kind="stable")
        own = order[self.processes.rank :: self.processes.count]
        size = 2 * self.recipe.batch // self.processes.count
        for start in range(0, len(own), size):
            with self._casting():
                logits, targets = self.dev.logits(own[start : start + size])
            right += int((logits.argmax(-1) == targets).sum())
            lost += int(not bool(logits.isfinite().all()))
        right, lost = self.processes.summed(torch.tensor([right, lost])).tolist()
        if lost:
            raise WordbiasError(
                "training diverged: on dev the model answers with no numbers; lower the "
                "learning rate"
            )
        return torch.tensor([right / len(order)], dtype=torch.float64)

    def _draw_dropout(self, epoch: int) -> None:
        """Seed torch for a round, in each process otherwise: they read different rows."""
        own = [self.processes.rank] * (not self.processes.first)
        sequence = np.random.SeedSequence([self.recipe.seed, epoch, *own])
        torch.manual_seed(int(sequence.generate_state(1)[0]))

    def _order(self, epoch: int) -> list[Places]:
        lengths = self.data.reader.lengths[self.data.places]
        rng = np.random.default_rng([self.recipe.seed, epoch])
        return bucketed(lengths, self.recipe.batch, rng)

    def _casting(self) -> AbstractContextManager[Any]:
        kind = self.device.type
        return torch.autocast(kind, dtype=torch.bfloat16, enabled=self.recipe.half)


def optimizer_of(
    trained: Trained, recipe: Recipe, processes: Processes = ALONE
) -> torch.optim.Optimizer:
    """Make AdamW that averages gradients over the processes before it cuts them."""
    average = processes.average if processes.count > 1 else None
    parameters = list(trained.parts.values())
    return adamw(parameters, recipe.rate, recipe.decay, clip=recipe.clip, first=average)
