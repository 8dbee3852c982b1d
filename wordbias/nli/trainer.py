"""Models for several embeddings and seeds: stacked on a GPU, as processes on a CPU."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from wordbias.errors import Interrupted, WordbiasError
from wordbias.nli.batches import Encoded
from wordbias.nli.jobs import Job, stacks
from wordbias.nli.recipes import Recipe
from wordbias.nli.stacked import Material, train_stacked
from wordbias.nli.watching import Counter, log_length, watched
from wordbias.progress import Bar
from wordbias.threads import threads
from wordbias.torch_threads import find_device, torch_threads
from wordbias.workers import Workers

__all__ = ["Job", "train_all"]

_LOST = "the same call goes on after the last whole epoch"


def train_all(
    jobs: Sequence[Job],
    train_pairs: Encoded,
    dev_pairs: Encoded,
    recipe: Recipe,
    *,
    device: str | None = None,
    half: bool = False,
    workers: Workers | None = None,
) -> None:
    """Train every job that is not done, and write the models.

    An interrupted training is resumed from the last whole epoch.

    Parameters
    ----------
    jobs
        With vectors of one dimension, and an output each.
    train_pairs, dev_pairs
        Encoded by the lexicon of the jobs' vectors.
    recipe
        Of all of them.
    device
        ``cuda`` or ``mps`` trains them stacked as one; ``cpu`` trains each with one thread in a
        process of its own, which is faster there. See `wordbias.torch_threads.find_device`.
    half
        Compute in bfloat16; parameters stay in float32.
    workers
        Where they are trained, on CPUs; by default in one process a thread, here. On a cluster all
        workers must see the folder of the outputs.

    Raises
    ------
    WordbiasError
        If an output holds something else, a checkpoint is of another training, there is no such
        device, or training diverges.
    """
    chosen = find_device(device)
    left = stacks(jobs)
    for job in (job for stack in left for job in stack):
        job.output.parent.mkdir(parents=True, exist_ok=True)
    data = Material(train_pairs, dev_pairs, recipe, half)
    try:
        _train(left, data, chosen, workers or Workers())
    except KeyboardInterrupt:
        raise Interrupted(_LOST) from None


def _train(
    left: Sequence[Sequence[Job]], data: Material, device: torch.device, workers: Workers
) -> None:
    jobs = [job for stack in left for job in stack if not job.output.exists()]
    at_once = min(workers.jobs or threads(), len(jobs))
    if workers.backend != "loky":
        _train_on_cluster(jobs, data, workers)
    elif device.type == "cpu" and at_once > 1:
        _train_apart(jobs, data, Workers(at_once))
    elif device.type == "cpu":
        for job in jobs:
            with torch_threads(threads()):
                train_stacked([job], data, device)
    else:
        for stack in left:
            train_stacked(stack, data, device)


def _train_apart(jobs: Sequence[Job], data: Material, workers: Workers) -> None:
    with tempfile.TemporaryDirectory() as folder:
        steps = Path(folder) / "steps"
        np.zeros(len(jobs), np.int64).tofile(steps)
        with watched(steps, [job.log for job in jobs], _remaining(jobs, data)):
            numbered, shared = list(enumerate(jobs)), (data, steps)
            deque(workers.unordered(_counting, numbered, shared=shared, lost=_LOST), maxlen=0)


def _counting(data: Material, steps: Path, numbered: tuple[int, Job]) -> None:
    place, job = numbered
    _alone(data, job, Counter(steps, place))


def _train_on_cluster(jobs: Sequence[Job], data: Material, workers: Workers) -> None:
    workers.results(_alone, jobs, f"training {len(jobs)} models", shared=(data,), unit="model")
    missing = [job.output for job in jobs if not job.output.exists()]
    if missing:
        raise WordbiasError(
            f"{missing[0]}: was trained, but is not here: the cluster's workers see another "
            "folder; name an output that all machines share"
        )


def _alone(data: Material, job: Job, bar: Bar | None = None) -> None:
    torch.set_num_threads(threads())
    train_stacked([job], data, torch.device("cpu"), bar)


def _remaining(jobs: Sequence[Job], data: Material) -> int:
    """Count the steps that are left, at most."""
    done = sum(log_length(job.log) for job in jobs if job.checkpoint.exists())
    batches = -(-len(data.train) // data.recipe.batch)
    return (len(jobs) * data.recipe.epochs - done) * batches
