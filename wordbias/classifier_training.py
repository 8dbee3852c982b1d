"""Training of a classifier of texts: AdamW with a schedule, batches of texts of like length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordbias.distributed import SINGLE, Processes
from wordbias.errors import WordbiasError
from wordbias.products import products
from wordbias.training import Stack, train

Places = NDArray[np.intp]
ABOUT = "training.json"
"""File in the folder of a trained model that describes its training."""
_POOL = 50
"""Number of batches whose texts are sorted by length together."""


@dataclass(frozen=True)
class Recipe:
    """Settings of the training of a classifier."""

    epochs: int = 3
    batch: int = 32
    # highest learning rate of AdamW; it rises linearly over the share `warmup` of all steps, then
    # falls linearly to zero
    rate: float = 2e-5
    warmup: float = 0.06
    decay: float = 0.01  # weight decay, of matrices only
    clip: float = 1.0  # norm to which gradients are clipped
    # approximate number of steps between evaluations on dev, after which a checkpoint is written
    every: int = 1000
    head_only: bool = False  # freeze the encoder; its outputs are computed once
    half: bool = False  # use bfloat16 in matrix products
    seed: int = 0

    def with_changes(self, **changes: Any) -> Recipe:
        """Return a recipe with other settings; None leaves a setting as it is."""
        known = {setting.name for setting in fields(self)}
        if unknown := set(changes) - known:
            raise WordbiasError(f"no setting {unknown.pop()!r}; there are {', '.join(known)}")
        return replace(self, **{key: value for key, value in changes.items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings."""
        return asdict(self)


class Examples(Protocol):
    """Data that a classifier is trained or evaluated on."""

    @property
    def lengths(self) -> Places:
        """Lengths of the texts, shape ``(n,)``; a batch has similar ones."""

    def batch(self, rows: Places) -> tuple[Tensor, Tensor]:
        """Return logits and classes of some texts, ``(B, C)`` and ``(B,)``, in one order."""


@dataclass(frozen=True)
class Tuned:
    """Result of a training."""

    accuracy: float  # accuracy of the best parameters on dev
    round: int  # number of their round, from 1
    rounds: Rounds  # division of the training into rounds


def train_classifier(
    model: Stack,
    data: Examples,
    dev: Examples,
    recipe: Recipe,
    *,
    plain: bool = False,
    checkpoint: Path | None = None,
    log: Path | None = None,
    about: Mapping[str, Any] | None = None,
    processes: Processes = SINGLE,
    what: str = "training",
) -> Tuned:
    """Train a classifier in place; it ends with the parameters that were best on dev."""
    # The checkpoint is resumed from if it exists, and not removed. Of several processes the first
    # writes it and the log.
    device = model.tensors[0].device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        rounds = Rounds.of(len(data.lengths), recipe)
        optimizer = adamw(model.tensors, recipe, plain=plain, processes=processes)
        state = train(
            model,
            optimizer,
            Task(optimizer, data, dev, recipe, rounds, plain=plain, processes=processes),
            epochs=rounds.rounds,
            checkpoint=checkpoint,
            writes=processes.first,
            logs=[log] if log is not None and processes.first else [],
            about=about,
            what=what,
        )
    model.load_state_dict(state.best)
    model.eval()
    return Tuned(float(state.score[0]), int(state.epoch[0]), rounds)


class Task:
    """Cross entropy on batches of like length, accuracy on dev."""

    optimizer: torch.optim.Optimizer
    data: Examples
    dev: Examples
    recipe: Recipe
    rounds: Rounds
    plain: bool
    processes: Processes

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        data: Examples,
        dev: Examples,
        recipe: Recipe,
        rounds: Rounds,
        *,
        plain: bool = False,
        processes: Processes = SINGLE,
    ) -> None:
        self.optimizer, self.data, self.dev = optimizer, data, dev
        self.recipe, self.rounds = recipe, rounds
        self.plain, self.processes = plain, processes

    def steps(self) -> int:
        """Return the number of steps of a round."""
        return self.rounds.steps

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Yield the loss of each batch of a round, shape ``(1,)``."""
        self._draw_dropout(epoch)
        order: list[Places] = []
        current = -1
        for step in range(epoch * self.rounds.steps, (epoch + 1) * self.rounds.steps):
            pass_, place = divmod(step, self.rounds.batches)
            if pass_ != current:
                current = pass_
                rng = np.random.default_rng([self.recipe.seed, pass_])
                order = bucketed(self.data.lengths, self.recipe.batch, rng)
            if not self.plain:
                share = schedule(step, self.rounds.total, self.recipe.warmup)
                for group in self.optimizer.param_groups:
                    group["lr"] = self.recipe.rate * share
            rows, weight = self.processes.share(order[place])
            with self._products():
                logits, targets = self.data.batch(rows)
            loss = weight * nn.functional.cross_entropy(logits.float(), targets)
            yield self.processes.mean_loss(loss)[None]

    def score(self) -> Tensor:
        """Return the accuracy on dev, shape ``(1,)``."""
        right = lost = 0
        order = np.argsort(self.dev.lengths, kind="stable")
        own = order[self.processes.rank :: self.processes.count]
        size = 2 * self.recipe.batch // self.processes.count
        for start in range(0, len(own), size):
            with self._products():
                logits, targets = self.dev.batch(own[start : start + size])
            right += int((logits.argmax(-1) == targets).sum())
            lost += int(not bool(logits.isfinite().all()))
        right, lost = self.processes.summed(torch.tensor([right, lost])).tolist()
        if lost:
            raise WordbiasError(
                "training diverged: the logits on dev are not finite; lower the learning rate"
            )
        return torch.tensor([right / len(order)], dtype=torch.float64)

    def _draw_dropout(self, epoch: int) -> None:
        """Seed torch for a round, differently in each process, which reads other rows."""
        own = [self.processes.rank] * (not self.processes.first)
        sequence = np.random.SeedSequence([self.recipe.seed, epoch, *own])
        torch.manual_seed(int(sequence.generate_state(1)[0]))

    def _products(self) -> AbstractContextManager[Any]:
        parameter = self.optimizer.param_groups[0]["params"][0]
        return products(parameter.device, half=self.recipe.half)


# Steps of a training: rounds, learning rate, batches, optimizer


@dataclass(frozen=True)
class Rounds:
    """Division of a training into rounds of equally many steps, each with an evaluation on dev."""

    batches: int  # number of batches in an epoch
    rounds: int  # number of rounds
    steps: int  # number of steps in a round

    @classmethod
    def of(cls, pairs: int, recipe: Recipe) -> Rounds:
        """Divide a training; the steps are rounded up to whole rounds."""
        batches = -(-pairs // recipe.batch)
        total = batches * recipe.epochs
        rounds = max(recipe.epochs, round(total / recipe.every))
        return cls(batches, rounds, -(-total // rounds))

    @property
    def total(self) -> int:
        """Number of all steps."""
        return self.rounds * self.steps


def schedule(step: int, total: int, warmup: float) -> float:
    """Return the factor of the learning rate at a step: up to 1 in the warm-up, then down to 0."""
    warm = max(1, round(warmup * total))
    if step < warm:
        return (step + 1) / warm
    return (total - step) / max(1, total - warm)


def bucketed(lengths: Places, size: int, rng: np.random.Generator) -> list[Places]:
    """Return the places of texts in batches of like length, the batches in random order."""
    order = rng.permutation(len(lengths))
    batches: list[Places] = []
    for start in range(0, len(order), size * _POOL):
        pool = order[start : start + size * _POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[i : i + size] for i in range(0, len(pool), size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def decaying(
    parameters: Sequence[Tensor], decay: float, flat_decay: float = 0.0
) -> list[dict[str, Any]]:
    """Return groups of parameters for an optimizer: matrices, and all others, with their decay."""
    return [
        {
            "params": [parameter for parameter in parameters if parameter.ndim > 1],
            "weight_decay": decay,
        },
        {
            "params": [parameter for parameter in parameters if parameter.ndim < 2],
            "weight_decay": flat_decay,
        },
    ]


def adamw(
    parameters: Sequence[Tensor],
    recipe: Recipe,
    *,
    plain: bool = False,
    processes: Processes = SINGLE,
) -> torch.optim.Optimizer:
    """Return AdamW that clips gradients and lets only matrices decay, not biases and norms."""
    # If `plain`, all parameters decay, and gradients are not clipped. Gradients of several
    # processes are averaged before they are clipped.
    flat_decay = recipe.decay if plain else 0.0
    groups = decaying(parameters, recipe.decay, flat_decay)
    optimizer = torch.optim.AdamW(groups, lr=recipe.rate, fused=True)

    def before_step(*_: Any) -> None:
        if processes.count > 1:
            processes.average(parameters)
        if not plain:
            nn.utils.clip_grad_norm_(parameters, recipe.clip)

    optimizer.register_step_pre_hook(before_step)
    return optimizer
