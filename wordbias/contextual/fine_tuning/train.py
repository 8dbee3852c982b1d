"""Training of an encoder with a head, or of the head only, on labelled pairs of sentences."""

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
from wordbias.contextual.fine_tuning.distributed import SINGLE, Processes
from wordbias.contextual.fine_tuning.heads import Headed, encoder_parameters
from wordbias.contextual.labelled_pairs import LabelledPairs
from wordbias.contextual.tokenising import TokenisedPairs, Tokens, batches
from wordbias.devices import threads
from wordbias.errors import Interrupted, WordbiasError
from wordbias.progress import progress
from wordbias.training import train

Places = NDArray[np.intp]
_POOL = 50
"""Number of batches whose pairs are sorted by length together."""
_READ = 4096
"""Number of tokens in a batch that needs no gradient."""


@dataclass(frozen=True)
class Recipe:
    """Settings of fine-tuning.

    Attributes
    ----------
    rate
        Highest learning rate of AdamW; it rises linearly over the share `warmup` of all steps, then
        falls linearly to zero.
    decay
        Weight decay, of matrices only.
    clip
        Norm to which gradients are clipped.
    every
        Approximate number of steps between evaluations on dev, after which a checkpoint is written.
    head_only
        Freeze the encoder; its outputs are computed once.
    half
        Use bfloat16 in matrix products.
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
        """Return a recipe with other settings; None leaves a setting as it is.

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
class Tuned:
    """Result of fine-tuning; the model has its best parameters.

    Attributes
    ----------
    accuracy
        Accuracy of the best parameters on dev.
    round
        Number of their round, from 1.
    rounds
        Division of the training into rounds.
    """

    accuracy: float
    round: int
    rounds: Rounds


def train_model(
    headed: Headed,
    data: LabelledPairs,
    dev: LabelledPairs,
    recipe: Recipe,
    *,
    checkpoint: Path | None = None,
    log: Path | None = None,
    about: dict[str, Any] | None = None,
    processes: Processes = SINGLE,
) -> Tuned:
    """Train a model in place.

    Parameters
    ----------
    headed
        The model on its device.
    data, dev
        Training data, and the data that choose the best parameters.
    checkpoint
        File that is written after each round, and resumed from if it exists. It is not removed.
    log
        File that gets a line of JSON each round.
    about
        Identity of the training, which must be that of the checkpoint.
    processes
        Processes that train the model together: at every step each reads a batch of the recipe's
        size, as one process would read a batch of them all, and all end with the same parameters.
        The first writes checkpoint and log.

    Raises
    ------
    WordbiasError
        If the loss is not finite, or the checkpoint is of another training.
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
        try:
            state = train(
                trained,
                optimizer,
                task,
                epochs=rounds.rounds,
                checkpoint=checkpoint,
                writes=processes.first,
                logs=[log] if log is not None and processes.first else [],
                about=about,
                what="fine-tuning",
            )
        except KeyboardInterrupt:
            if checkpoint is None:
                raise
            raise Interrupted("the same call goes on after what dev was measured on last") from None
    trained.load_state_dict(state.best)
    headed.model.eval()
    return Tuned(float(state.score[0]), int(state.epoch[0]), rounds)


# Optimizer, rounds and order of the pairs


@dataclass(frozen=True)
class Rounds:
    """Division of a training into rounds of equally many steps, each with an evaluation on dev.

    Attributes
    ----------
    batches
        Number of batches in an epoch.
    rounds
        Number of rounds.
    steps
        Number of steps in a round.
    """

    batches: int
    rounds: int
    steps: int

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


def schedule(step: int, total: int, recipe: Recipe) -> float:
    """Return the factor of the learning rate at a step: up to 1 in the warm-up, then down to 0."""
    warm = max(1, round(recipe.warmup * total))
    if step < warm:
        return (step + 1) / warm
    return (total - step) / max(1, total - warm)


def bucketed(lengths: Places, size: int, rng: np.random.Generator) -> list[Places]:
    """Divide texts at random into batches of like length.

    Parameters
    ----------
    lengths
        Lengths of the texts, shape ``(n,)``.
    size
        Size of a batch; one is smaller if it does not divide `n`.

    Returns
    -------
    list
        Indices of the texts in each batch, the batches in random order.
    """
    order = rng.permutation(len(lengths))
    found: list[Places] = []
    for start in range(0, len(order), size * _POOL):
        pool = order[start : start + size * _POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        found += [pool[i : i + size] for i in range(0, len(pool), size)]
    return [found[i] for i in rng.permutation(len(found))]


def adamw(
    parameters: Sequence[Tensor],
    rate: float,
    decay: float,
    *,
    clip: float | None = None,
    flat_decay: float = 0.0,
    first: Callable[[Sequence[Tensor]], None] | None = None,
) -> torch.optim.Optimizer:
    """Return AdamW as encoders are fine-tuned with it, with gradient clipping.

    Parameters
    ----------
    decay, flat_decay
        Weight decay of matrices, and of biases and norms.
    clip
        Norm to which gradients are clipped before each step.
    first
        Function of the parameters that is called before, such as averaging over processes.
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


def optimizer_of(
    trained: Trained, recipe: Recipe, processes: Processes = SINGLE
) -> torch.optim.Optimizer:
    """Return AdamW that averages gradients over the processes before it clips them."""
    average = processes.average if processes.count > 1 else None
    parameters = list(trained.parts.values())
    return adamw(parameters, recipe.rate, recipe.decay, clip=recipe.clip, first=average)


# The model, its batches and their loss


class Trained(nn.Module):
    """A model as a stack of one model, whose state has the trained parameters only."""

    parts: dict[str, nn.Parameter]

    def __init__(self, model: nn.Module, head_only: bool) -> None:
        super().__init__()
        self.model = model
        fixed = {id(one) for one in encoder_parameters(model)} if head_only else set()
        self.parts = {name: one for name, one in model.named_parameters() if id(one) not in fixed}

    def train(self, mode: bool = True) -> Trained:
        """Switch dropout on or off."""
        self.model.train(mode)
        return self

    def state_dict(self, *_: Any, **__: Any) -> State:  # type: ignore[override]
        """Return the trained parameters, shape ``(1, …)`` each."""
        return {name: one.detach()[None] for name, one in self.parts.items()}

    def load_state_dict(self, state: Any, *_: Any, **__: Any) -> None:  # type: ignore[override]
        """Set the trained parameters."""
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
                current, order = pass_, self._order(pass_)
            for group in self.optimizer.param_groups:
                group["lr"] = self.recipe.rate * schedule(step, self.rounds.total, self.recipe)
            rows, weight = self.processes.share(order[place])
            with self._casting():
                logits, targets = self.data.logits(rows)
            loss = weight * nn.functional.cross_entropy(logits.float(), targets)
            yield self.processes.mean_loss(loss)[None]

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
        """Seed torch for a round, differently in each process, which reads other rows."""
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


class Reader:
    """Logits of pairs by passes through the whole model."""

    model: Any
    texts: TokenisedPairs
    device: str
    lengths: NDArray[np.intp]

    def __init__(
        self, model: Any, texts: TokenisedPairs, device: str, processes: Processes = SINGLE
    ) -> None:
        self.model, self.texts, self.device = model, texts, device
        self.lengths = np.array([len(one["input_ids"]) for one in texts.tokens])

    def inputs(self, rows: Places) -> tuple[Places, dict[str, Tensor]]:
        """Return the rows in the order of the batch, and the model's inputs."""
        tokens: list[Tokens] = [self.texts.tokens[i] for i in rows]
        ((order, inputs),) = batches(tokens, len(tokens), self.texts.padding)
        return rows[order], {name: x.to(self.device) for name, x in inputs.items()}

    def logits(self, rows: Places) -> tuple[Places, Tensor]:
        """Return the rows in the order of the batch, and their logits."""
        order, inputs = self.inputs(rows)
        found: Tensor = self.model(**inputs).logits
        return order, found


class Cached(Reader):
    """Logits of pairs from the last layer at position 0, computed once, shape ``(n, d)``."""

    first: Tensor

    def __init__(
        self, model: Any, texts: TokenisedPairs, device: str, processes: Processes = SINGLE
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
    """Pairs with their target outputs; equal pairs are read once."""

    reader: Reader
    places: Places
    targets: Tensor

    @classmethod
    def of(
        cls,
        kind: type[Reader],
        headed: Headed,
        data: LabelledPairs,
        processes: Processes = SINGLE,
    ) -> Part:
        """Tokenise pairs for a model."""
        texts = TokenisedPairs.of(headed, data.pairs, truncate=True, budget=_READ)
        targets = torch.tensor(headed.places)[torch.from_numpy(data.labels)]
        return cls(kind(headed.model, texts, headed.device, processes), texts.places, targets)

    def logits(self, rows: Places) -> tuple[Tensor, Tensor]:
        """Return logits and targets of some pairs, shapes ``(B, C)`` and ``(B,)``."""
        found, logits = self.reader.logits(self.places[rows])
        order = np.empty(len(rows), np.intp)  # of `rows`, as the reader returned them
        order[np.argsort(found, kind="stable")] = np.argsort(self.places[rows], kind="stable")
        return logits, self.targets[rows[order]].to(logits.device)
