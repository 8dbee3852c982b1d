"""Fine-tuning: an encoder and its head, or the head alone, on labelled pairs of sentences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from wordbias.contextual.fine_tuning.heads import Headed
from wordbias.contextual.fine_tuning.pairs import LabelledPairs
from wordbias.contextual.fine_tuning.reading import Cached, Part, Reader
from wordbias.contextual.fine_tuning.recipe import Recipe, Rounds
from wordbias.contextual.fine_tuning.several import ALONE, Processes
from wordbias.contextual.fine_tuning.task import Task, Trained, optimizer_of
from wordbias.errors import Interrupted
from wordbias.threads import threads
from wordbias.training import TrainingState, train


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
    processes: Processes = ALONE,
) -> Tuned:
    """Train a model in place.

    Parameters
    ----------
    headed
        The model, on `device`.
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
    with torch.random.fork_rng(devices=[device] if device.startswith("cuda") else []):
        reader = Cached if recipe.head_only else Reader
        parts = [Part.of(reader, headed, one, device, processes) for one in (data, dev)]
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
