"""The descent that encoders and last layers share: rate, order, loss, and accuracy on dev."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordbias.biographies.classifier import Classifier
from wordbias.biographies.recipe import Recipe
from wordbias.contextual.fine_tuning.optimising import adamw
from wordbias.contextual.fine_tuning.recipe import Rounds, bucketed, schedule
from wordbias.errors import WordbiasError
from wordbias.training import TrainingState, train

Places = NDArray[np.intp]


class Examples(Protocol):
    """What a classifier learns from, or is watched on.

    Attributes
    ----------
    lengths
        Of the texts, shape ``(n,)``; those of a batch are alike.
    targets
        Their classes, shape ``(n,)``.
    """

    lengths: Places
    targets: Tensor

    def logits(self, rows: Places) -> Tensor:
        """Return the scores of some of them, shape ``(B, C)``."""


def descend(
    model: Classifier,
    learned: Examples,
    dev: Examples,
    recipe: Recipe,
    *,
    checkpoint: Path | None = None,
    about: Mapping[str, Any] | None = None,
    what: str = "training",
) -> TrainingState:
    """Train a classifier in place; it ends with the parameters that were best on dev.

    Parameters
    ----------
    recipe
        Its seed decides the order of the batches and dropout.
    checkpoint
        Written each time dev is measured, and resumed from if it exists. It is not removed.
    about
        What a checkpoint must agree in.

    Raises
    ------
    WordbiasError
        If there is nothing to learn from or to be watched on, the loss is no number, or the
        checkpoint is of another training.
    """
    for part, name in ((learned, "train on"), (dev, "choose the best epoch by")):
        if not len(part.targets):
            raise WordbiasError(f"no biography is left to {name}; give more, or another strategy")
    with torch.random.fork_rng():
        optimizer = _optimizer(model, recipe)
        rounds = Rounds.of(len(learned.targets), recipe)
        task = Task(optimizer, learned, dev, recipe, rounds)
        state = train(
            model,
            optimizer,
            task,
            epochs=rounds.rounds,
            checkpoint=checkpoint,
            about=about,
            what=what,
        )
    model.load_state_dict(state.best)
    model.eval()
    return state


class Task:
    """Cross entropy on batches, accuracy on dev."""

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        learned: Examples,
        dev: Examples,
        recipe: Recipe,
        rounds: Rounds,
    ) -> None:
        self.optimizer, self.learned, self.dev = optimizer, learned, dev
        self.recipe, self.rounds = recipe, rounds

    def steps(self) -> int:
        """Return the batches of a round."""
        return self.rounds.steps

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Yield the loss of each batch of a round, shape ``(1,)``."""
        seed = np.random.SeedSequence([self.recipe.seed, epoch]).generate_state(1)[0]
        torch.manual_seed(int(seed))
        order: list[Places] = []
        current = -1
        for step in range(epoch * self.rounds.steps, (epoch + 1) * self.rounds.steps):
            pass_, place = divmod(step, self.rounds.batches)
            if pass_ != current:
                current, order = pass_, self._order(pass_)
            if not self.recipe.plain:
                share = schedule(step, self.rounds.total, self.recipe)
                for group in self.optimizer.param_groups:
                    group["lr"] = self.recipe.rate * share
            rows = order[place]
            logits = self.learned.logits(rows)
            targets = self.learned.targets[torch.from_numpy(rows)].to(logits.device)
            yield nn.functional.cross_entropy(logits, targets)[None]

    def score(self) -> Tensor:
        """Return the accuracy on dev, shape ``(1,)``."""
        right, n = 0, len(self.dev.targets)
        order = np.argsort(self.dev.lengths, kind="stable")
        for start in range(0, n, 2 * self.recipe.batch):
            rows = order[start : start + 2 * self.recipe.batch]
            named = self.dev.logits(rows).argmax(-1).cpu()
            right += int((named == self.dev.targets[torch.from_numpy(rows)]).sum())
        return torch.tensor([right / n], dtype=torch.float64)

    def _order(self, epoch: int) -> list[Places]:
        rng = np.random.default_rng([self.recipe.seed, epoch])
        return bucketed(self.learned.lengths, self.recipe.batch, rng)


def _optimizer(model: Classifier, recipe: Recipe) -> torch.optim.Optimizer:
    """Make AdamW; plain, everything decays and no gradient is cut."""
    flat, clip = (recipe.decay, None) if recipe.plain else (0.0, recipe.clip)
    parameters = list(model.parameters())
    return adamw(parameters, recipe.rate, recipe.decay, clip=clip, flat_decay=flat)
