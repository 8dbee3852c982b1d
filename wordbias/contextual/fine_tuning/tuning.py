"""Fine-tuning: an encoder and its head, or the head alone, on labelled pairs of sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from wordbias.checkpoints import State
from wordbias.contextual.fine_tuning.heads import Headed, encoder_parameters
from wordbias.contextual.fine_tuning.pairs import LabelledPairs
from wordbias.contextual.fine_tuning.reading import Cached, Part, Places, Reader
from wordbias.contextual.fine_tuning.recipe import Recipe, Rounds, bucketed, schedule
from wordbias.course import Course
from wordbias.errors import Interrupted, WordbiasError
from wordbias.threads import threads
from wordbias.training import train


@dataclass(frozen=True)
class Tuned:
    """What fine-tuning found; the model has its best parameters.

    Attributes
    ----------
    accuracy
        On dev, of these.
    round
        In which they were reached, from 1.
    rounds
        How the training was divided.
    """

    accuracy: float
    round: int
    rounds: Rounds


def fine_tune(
    headed: Headed,
    data: LabelledPairs,
    dev: LabelledPairs,
    recipe: Recipe,
    *,
    device: str,
    checkpoint: Path | None = None,
    log: Path | None = None,
    about: dict[str, Any] | None = None,
) -> Tuned:
    """Train a model in place.

    Parameters
    ----------
    headed
        The model, on `device`.
    data, dev
        What it is trained on, and what chooses its best parameters.
    checkpoint
        File that is written after each round, and gone on from if it is there. It is left there.
    log
        File that gets a line of JSON each round.
    about
        What a checkpoint must agree in.

    Raises
    ------
    WordbiasError
        If the loss is no number, or the checkpoint is of another training.
    """
    rounds = Rounds.of(len(data), recipe)
    torch.set_num_threads(threads())
    with torch.random.fork_rng():
        reader = Cached if recipe.head_only else Reader
        parts = [Part.of(reader, headed, one, device) for one in (data, dev)]
        trained = _Trained(headed.model, recipe.head_only)
        optimizer = _optimizer(trained, recipe)
        task = _Task(trained, optimizer, parts[0], parts[1], recipe, rounds)
        try:
            course = train(
                trained,
                optimizer,
                task,
                epochs=rounds.rounds,
                checkpoint=checkpoint,
                logs=[] if log is None else [log],
                about=about,
                what="fine-tuning",
            )
        except KeyboardInterrupt:
            raise Interrupted("the same call goes on after what dev was measured on last") from None
    trained.load_state_dict(course.best)
    headed.model.eval()
    return _tuned(course, rounds)


def _tuned(course: Course, rounds: Rounds) -> Tuned:
    return Tuned(float(course.score[0]), int(course.epoch[0]), rounds)


class _Trained(nn.Module):
    """A model as the one of a stack of models; only what is trained belongs to its state."""

    def __init__(self, model: nn.Module, head_only: bool) -> None:
        super().__init__()
        self.model = model
        fixed = {id(one) for one in encoder_parameters(model)} if head_only else set()
        self.parts = {name: one for name, one in model.named_parameters() if id(one) not in fixed}

    def train(self, mode: bool = True) -> _Trained:
        self.model.train(mode)
        return self

    def state_dict(self, *_: Any, **__: Any) -> State:  # type: ignore[override]
        return {name: one.detach()[None] for name, one in self.parts.items()}

    def load_state_dict(self, state: Any, *_: Any, **__: Any) -> None:  # type: ignore[override]
        with torch.no_grad():
            for name, one in self.parts.items():
                one.copy_(state[name][0])


class _Task:
    """Cross entropy on batches of like length, accuracy on dev."""

    def __init__(
        self,
        trained: _Trained,
        optimizer: torch.optim.Optimizer,
        data: Part,
        dev: Part,
        recipe: Recipe,
        rounds: Rounds,
    ) -> None:
        self.optimizer, self.data, self.dev = optimizer, data, dev
        self.recipe, self.rounds = recipe, rounds
        self.device = next(iter(trained.parts.values())).device

    def steps(self) -> int:
        """Return the batches of a round."""
        return self.rounds.steps

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Yield the loss of each batch of a round, shape ``(1,)``."""
        torch.manual_seed(
            int(np.random.SeedSequence([self.recipe.seed, epoch]).generate_state(1)[0])
        )
        order: list[Places] = []
        current = -1
        for step in range(epoch * self.rounds.steps, (epoch + 1) * self.rounds.steps):
            pass_, place = divmod(step, self.rounds.batches)
            if pass_ != current:
                current, order = pass_, self._order(pass_)
            for group in self.optimizer.param_groups:
                group["lr"] = self.recipe.rate * schedule(step, self.rounds.total, self.recipe)
            with self._casting():
                logits, targets = self.data.logits(order[place])
            yield nn.functional.cross_entropy(logits.float(), targets)[None]

    def score(self) -> Tensor:
        """Return the accuracy on dev, shape ``(1,)``."""
        right, n = 0, len(self.dev.targets)
        order = np.argsort(self.dev.reader.lengths[self.dev.places], kind="stable")
        for start in range(0, n, 2 * self.recipe.batch):
            with self._casting():
                logits, targets = self.dev.logits(order[start : start + 2 * self.recipe.batch])
            if not bool(logits.isfinite().all()):
                raise WordbiasError(
                    "training diverged: on dev the model answers with no numbers; lower the "
                    "learning rate"
                )
            right += int((logits.argmax(-1) == targets).sum())
        return torch.tensor([right / n], dtype=torch.float64)

    def _order(self, epoch: int) -> list[Places]:
        lengths = self.data.reader.lengths[self.data.places]
        rng = np.random.default_rng([self.recipe.seed, epoch])
        return bucketed(lengths, self.recipe.batch, rng)

    def _casting(self) -> AbstractContextManager[Any]:
        kind = self.device.type
        return torch.autocast(kind, dtype=torch.bfloat16, enabled=self.recipe.half)


def _optimizer(trained: _Trained, recipe: Recipe) -> torch.optim.Optimizer:
    """Make AdamW that cuts gradients before each step."""
    every = list(trained.parts.values())
    groups = [
        {"params": [one for one in every if one.ndim > 1], "weight_decay": recipe.decay},
        {"params": [one for one in every if one.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=recipe.rate, fused=True)
    optimizer.register_step_pre_hook(_clipping(every, recipe.clip))
    return optimizer


def _clipping(parameters: Sequence[Tensor], norm: float) -> Any:
    def hook(*_: Any) -> None:
        nn.utils.clip_grad_norm_(parameters, norm)

    return hook
