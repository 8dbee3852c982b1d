"""Several models trained as one, and each written to its file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from wordbias.nli.batches import Encoded
from wordbias.nli.files import Model
from wordbias.nli.jobs import Job
from wordbias.nli.learning import Learning, initialise, make_optimizer
from wordbias.nli.model import DecomposableAttention
from wordbias.nli.recipes import Recipe
from wordbias.progress import Bar
from wordbias.training import TrainingState, train


class Material(NamedTuple):
    """What all jobs share: the pairs, and how models are trained on them."""

    train: Encoded
    dev: Encoded
    recipe: Recipe
    half: bool


def train_stacked(
    jobs: Sequence[Job], data: Material, device: torch.device, bar: Bar | None = None
) -> None:
    """Train models stacked on a device, from their checkpoint if there is one, and write them."""
    recipe, seeds = data.recipe, [job.seed for job in jobs]
    tables = torch.from_numpy(np.stack([job.vectors for job in jobs])).to(device)
    model = _initial(tables.shape[2], recipe, seeds).to(device)
    state = train(
        model,
        make_optimizer(model, recipe),
        Learning(model, tables, data.train, data.dev, recipe, seeds, data.half),
        epochs=recipe.epochs,
        patience=recipe.patience,
        checkpoint=jobs[0].checkpoint,
        logs=[job.log for job in jobs],
        about={"model": [dict(job.about) for job in jobs], "device": device.type},
        what=f"training {len(jobs)} models" if len(jobs) > 1 else "training",
        bar=bar,
    )
    for k, job in enumerate(jobs):
        _write(job, state, k, recipe, device)
    jobs[0].checkpoint.unlink(missing_ok=True)


def _initial(dim: int, recipe: Recipe, seeds: Sequence[int]) -> DecomposableAttention:
    model = DecomposableAttention(
        dim, recipe.hidden, intra=recipe.intra, dropout=recipe.dropout, models=len(seeds)
    )
    initialise(model, recipe, seeds)
    return model


def _write(job: Job, state: TrainingState, k: int, recipe: Recipe, device: torch.device) -> None:
    weights = {name: value[k].numpy() for name, value in state.best.items()}
    about = {
        **job.about,
        "dev_accuracy": float(state.score[k]),
        "best_epoch": int(state.epoch[k]),
        "epochs": int(state.epoch[k] + state.waited[k]),
        "device": device.type,
        "torch": torch.__version__,
    }
    dim = job.vectors.shape[1]
    Model(weights, dim, recipe.hidden, recipe.intra, about=about).save(job.output)
