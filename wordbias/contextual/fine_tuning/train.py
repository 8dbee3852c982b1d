"""AdamW as encoders are fine-tuned with it: matrices alone decay, long gradients are cut.

How a model is fine-tuned: settings, rounds, learning rate, order of the pairs.

What a fine-tuning trains: parameters, their losses and score, and the optimizer.

Fine-tuning: an encoder and its head, or the head alone, on labelled pairs of sentences.

Logits of labelled pairs: by whole passes, or from what the encoder put out once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordbias.checkpoints import State
from wordbias.contextual.families import base_of, logits_of
from wordbias.contextual.fine_tuning.distributed import ALONE, Processes
from wordbias.contextual.fine_tuning.heads import Headed, encoder_parameters
from wordbias.contextual.labelled_pairs import LabelledPairs
from wordbias.contextual.tokenising import TokenisedPairs, Tokens, batches
from wordbias.devices import threads
from wordbias.errors import Interrupted, WordbiasError
from wordbias.progress import progress
from wordbias.training import TrainingState, train


def adamw(
    parameters: Sequence[Tensor],
    rate: float,
    decay: float,
    *,
    clip: float | None = None,
    flat_decay: float = 0.0,
    first: Callable[[Sequence[Tensor]], None] | None = None,
) -> torch.optim.Optimizer:
    """Make an optimizer.

    Parameters
    ----------
    decay, flat_decay
        Weight decay of matrices, and of biases and norms.
    clip
        Norm that gradients are cut to before each step.
    first
        Done with the parameters before that, such as averaging over processes.
    """
    groups = [
        {"params": [one for one in parameters if one.ndim > 1], "weight_decay": decay},
        {"params": [one for one in parameters if one.ndim < 2], "weight_decay": flat_decay},
    ]
    optimizer = torch.optim.AdamW(groups, lr=rate, fused=True)

    def before(*_: Any) -> None:
        if first is not None:
            first(parameters)
        if clip is not None:
            nn.utils.clip_grad_norm_(parameters, clip)

    optimizer.register_step_pre_hook(before)
    return optimizer


Places = NDArray[np.intp]
_POOL = 50
"""Batches whose pairs are sorted by length together."""


@dataclass(frozen=True)
class Recipe:
    """How a model is fine-tuned.

    Attributes
    ----------
    head_only
        Leave the encoder as it is; what it puts out is computed once.
    rate
        The highest learning rate of AdamW; it rises linearly over the share `warmup` of all steps,
        and falls linearly to zero.
    decay
        Weight decay, of matrices alone.
    clip
        Norm that gradients are cut to.
    every
        Steps, about, after which dev is measured and a checkpoint written.
    """

    epochs: int = 3
    batch: int = 32
    rate: float = 2e-5
    warmup: float = 0.06
    decay: float = 0.01
    clip: float = 1.0
    every: int = 1000
    head_only: bool = False
    half: bool = False
    seed: int = 0

    def with_changes(self, **changes: Any) -> Recipe:
        """Return a recipe with what is not None changed.

        Raises
        ------
        WordbiasError
            If there is no such setting.
        """
        known = {one.name for one in fields(self)}
        if unknown := set(changes) - known:
            raise WordbiasError(f"no setting {unknown.pop()!r}; there are {', '.join(known)}")
        return replace(self, **{key: value for key, value in changes.items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings."""
        return asdict(self)


WHOLE = Recipe()
HEAD_ONLY = Recipe(epochs=10, rate=1e-3, head_only=True)


@dataclass(frozen=True)
class Rounds:
    """A training in parts of equally many steps.

    Attributes
    ----------
    batches
        Of an epoch.
    rounds
        How often dev is measured in all.
    steps
        Of a round.
    """

    batches: int
    rounds: int
    steps: int

    @classmethod
    def of(cls, pairs: int, recipe: Recipe) -> Rounds:
        """Divide a training; where it does not divide, a few more steps are made."""
        batches = -(-pairs // recipe.batch)
        total = batches * recipe.epochs
        rounds = max(recipe.epochs, round(total / recipe.every))
        return cls(batches, rounds, -(-total // rounds))

    @property
    def total(self) -> int:
        """All steps."""
        return self.rounds * self.steps


def schedule(step: int, total: int, recipe: Recipe) -> float:
    """Return the share of the learning rate at a step, from 0: up to 1, then down to 0."""
    warm = max(1, round(recipe.warmup * total))
    if step < warm:
        return (step + 1) / warm
    return (total - step) / max(1, total - warm)


def bucketed(lengths: Places, size: int, rng: np.random.Generator) -> list[Places]:
    """Divide texts at random into batches of like length.

    Parameters
    ----------
    lengths
        Of the texts, shape ``(n,)``.
    size
        Of a batch; one is smaller where it does not divide `n`.

    Returns
    -------
    list
        Places of the texts, each in one batch, the batches in random order.
    """
    order = rng.permutation(len(lengths))
    found: list[Places] = []
    for start in range(0, len(order), size * _POOL):
        pool = order[start : start + size * _POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        found += [pool[i : i + size] for i in range(0, len(pool), size)]
    return [found[i] for i in rng.permutation(len(found))]


_READ = 4096
"""Tokens that are read at a time where no gradient is wanted."""


class Reader:
    """Logits of pairs, by whole passes."""

    model: Any
    texts: TokenisedPairs
    device: str
    lengths: NDArray[np.intp]

    def __init__(
        self, model: Any, texts: TokenisedPairs, device: str, processes: Processes = ALONE
    ) -> None:
        self.model, self.texts, self.device = model, texts, device
        self.lengths = np.array([len(one["input_ids"]) for one in texts.tokens])

    def inputs(self, rows: Places) -> tuple[Places, dict[str, Tensor]]:
        """Return the rows in the order in which they are read, and the model's inputs."""
        tokens: list[Tokens] = [self.texts.tokens[i] for i in rows]
        ((order, inputs),) = batches(tokens, len(tokens), self.texts.padding)
        return rows[order], {name: x.to(self.device) for name, x in inputs.items()}

    def logits(self, rows: Places) -> tuple[Places, Tensor]:
        """Return rows in some order, and their logits."""
        order, inputs = self.inputs(rows)
        found: Tensor = self.model(**inputs).logits
        return order, found


class Cached(Reader):
    """Logits of pairs whose last layer at position 0 was computed once, shape ``(n, d)``."""

    first: Tensor

    def __init__(
        self, model: Any, texts: TokenisedPairs, device: str, processes: Processes = ALONE
    ) -> None:
        super().__init__(model, texts, device)
        first = torch.zeros(len(texts.tokens), model.config.hidden_size)
        own = texts.batches[processes.rank :: processes.count]
        model.eval()
        with torch.inference_mode(), progress("encoding", sum(map(len, own)), "pair") as bar:
            for rows in own:
                order, inputs = self.inputs(rows)
                first[order] = base_of(model)(**inputs)[0][:, 0].float().cpu()
                bar.update(len(rows))
        self.first = processes.summed(first)

    def logits(self, rows: Places) -> tuple[Places, Tensor]:
        """Return the rows, and their logits."""
        return rows, logits_of(self.model, self.first[rows].to(self.device))


@dataclass(frozen=True, eq=False)
class Part:
    """Pairs with the outputs they should have; equal pairs are read as one."""

    reader: Reader
    places: Places
    targets: Tensor

    @classmethod
    def of(
        cls,
        kind: type[Reader],
        headed: Headed,
        data: LabelledPairs,
        processes: Processes = ALONE,
    ) -> Part:
        """Tokenise pairs for a model."""
        texts = TokenisedPairs.of(headed, data.pairs, truncate=True, budget=_READ)
        targets = torch.tensor(headed.places)[torch.from_numpy(data.labels)]
        return cls(kind(headed.model, texts, headed.device, processes), texts.places, targets)

    def logits(self, rows: Places) -> tuple[Tensor, Tensor]:
        """Return logits and targets of some pairs, shapes ``(B, C)`` and ``(B,)``."""
        found, logits = self.reader.logits(self.places[rows])
        order = _matching(self.places[rows], found)
        return logits, self.targets[rows[order]].to(logits.device)


def _matching(wanted: Places, found: Places) -> Places:
    """Return an order in which `wanted` is `found`."""
    order = np.empty(len(wanted), np.intp)
    order[np.argsort(found, kind="stable")] = np.argsort(wanted, kind="stable")
    return order


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
    checkpoint: Path | None = None,
    log: Path | None = None,
    about: dict[str, Any] | None = None,
    processes: Processes = ALONE,
) -> Tuned:
    """Train a model in place.

    Parameters
    ----------
    headed
        The model, where it computes.
    data, dev
        What it is trained on, and what chooses its best parameters.
    checkpoint
        File that is written after each round, and resumed from if it exists. It is not removed.
    log
        File that gets a line of JSON each round.
    about
        What a checkpoint must agree in.
    processes
        That train the model together, this one among them: each reads a batch of the recipe's
        size at every step, as one process would with a batch of them all, and each ends with the
        same parameters. The first writes checkpoint and log.

    Raises
    ------
    WordbiasError
        If the loss is no number, or the checkpoint is of another training.
    """
    recipe = replace(recipe, batch=recipe.batch * processes.count)
    rounds = Rounds.of(len(data), recipe)
    if checkpoint is not None:
        processes.check_same(checkpoint.exists(), str(checkpoint))
    torch.set_num_threads(max(1, threads() // processes.local))
    device = headed.device
    with torch.random.fork_rng(devices=[device] if device.startswith("cuda") else []):
        reader = Cached if recipe.head_only else Reader
        parts = [Part.of(reader, headed, one, processes) for one in (data, dev)]
        trained = Trained(headed.model, recipe.head_only)
        optimizer = optimizer_of(trained, recipe, processes)
        task = Task(trained, optimizer, parts[0], parts[1], recipe, rounds, processes)
        state = _trained(trained, optimizer, task, checkpoint, log, about)
    trained.load_state_dict(state.best)
    headed.model.eval()
    return Tuned(float(state.score[0]), int(state.epoch[0]), rounds)


def _trained(
    model: Trained,
    optimizer: torch.optim.Optimizer,
    task: Task,
    checkpoint: Path | None,
    log: Path | None,
    about: dict[str, Any] | None,
) -> TrainingState:
    first = task.processes.first
    try:
        return train(
            model,
            optimizer,
            task,
            epochs=task.rounds.rounds,
            checkpoint=checkpoint,
            writes=first,
            logs=[log] if log is not None and first else [],
            about=about,
            what="fine-tuning",
        )
    except KeyboardInterrupt:
        if checkpoint is None:
            raise
        raise Interrupted("the same call goes on after what dev was measured on last") from None
