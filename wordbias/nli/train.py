"""Training decomposable attention: what the training loop needs to know of NLI.

Several models trained as one, and each written to its file.

Models for several embeddings and seeds: stacked on a GPU, as processes on a CPU.

Progress of trainings that run in other processes: steps counted in a file, losses from logs.

One model to train: from what, to which file, and whether that is done.
"""

from __future__ import annotations

import json
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from wordbias.checkpoints import checkpoint_about, difference
from wordbias.devices import find_device, threads, torch_threads
from wordbias.errors import Interrupted, WordbiasError
from wordbias.nli.files import Model
from wordbias.nli.lexicon import Encoded, Ints, Padded
from wordbias.nli.model import DecomposableAttention
from wordbias.nli.recipes import Recipe
from wordbias.progress import Bar, progress
from wordbias.training import TrainingState, train
from wordbias.workers import Workers

_DEV_BATCH = 512


class NLITask:
    """K models on the same pairs, each with vectors, a seed and an order of its own.

    Parameters
    ----------
    model
        Stacked, K models.
    tables
        Vectors of the lexicon's tokens for each model, shape ``(K, v, d)``.
    train, dev
        Pairs, encoded by the lexicon.
    recipe
        Its batch size is used.
    seeds
        K seeds: of order and dropout.
    half
        Compute in bfloat16 where that loses little.
    """

    model: DecomposableAttention
    tables: Tensor
    train: Encoded
    dev: Encoded
    recipe: Recipe
    seeds: tuple[int, ...]
    half: bool
    device: torch.device
    first: Tensor

    def __init__(
        self,
        model: DecomposableAttention,
        tables: Tensor,
        train: Encoded,
        dev: Encoded,
        recipe: Recipe,
        seeds: Sequence[int],
        half: bool = False,
    ) -> None:
        self.model, self.tables, self.train, self.dev = model, tables, train, dev
        self.recipe, self.seeds, self.half = recipe, tuple(seeds), half
        self.device = tables.device
        self.first = torch.arange(len(tables), device=self.device) * tables.shape[1]

    def steps(self) -> int:
        """Return the batches of an epoch."""
        return -(-len(self.train) // self.recipe.batch)

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Yield the mean negative log-likelihood of every batch, shape ``(K,)``."""
        drawn = {seed: self.train.order(self.recipe.batch, seed, epoch) for seed in set(self.seeds)}
        generators = [generator(self.device, seed, epoch) for seed in self.seeds]
        for batches in zip(*(drawn[seed] for seed in self.seeds), strict=True):
            found = self.predict(self.train, batches, generators)  # (K, B, 3)
            labels = torch.from_numpy(np.stack([self.train.labels[rows] for rows in batches]))
            wanted = labels.to(self.device)[..., None]  # (K, B, 1)
            yield -found.gather(-1, wanted).mean((1, 2))

    def score(self) -> Tensor:
        """Return the accuracy on dev, shape ``(K,)``."""
        return self.accuracy(self.dev)

    def accuracy(self, pairs: Encoded) -> Tensor:
        """Return the accuracy on any pairs, shape ``(K,)``, in float64: a share of whole pairs."""
        right = torch.zeros(len(self.seeds), dtype=torch.int64, device=self.device)
        for rows in pairs.in_order_of_length(_DEV_BATCH):
            found = self.predict(pairs, [rows] * len(self.seeds)).argmax(-1)  # (K, B)
            right += (found == torch.from_numpy(pairs.labels[rows]).to(self.device)).sum(1)
        return right.cpu().double() / len(pairs)

    def predict(
        self, pairs: Encoded, batches: Sequence[Ints], generators: Sequence[Generator] = ()
    ) -> Tensor:
        """Compute log-probabilities of each model's batch, shape ``(K, B, 3)``."""
        sides = [
            together([pairs.sentences.pad(side[rows]) for rows in batches])
            for side in (pairs.premise, pairs.hypothesis)
        ]
        (p, real_p), (q, real_q) = (self._embed(*side) for side in sides)
        with self._precision():
            found: Tensor = self.model(p, q, real_p, real_q, generators)
        return found

    def _embed(self, ids: NDArray[np.int32], real: NDArray[np.bool_]) -> tuple[Tensor, Tensor]:
        """Look up vectors, shape (K, B, L, d), in all models' tables at once."""
        numbers = torch.from_numpy(ids).to(self.device) + self.first[:, None, None]  # (K, B, L)
        vectors = F.embedding(numbers, self.tables.flatten(0, 1))
        return vectors, torch.from_numpy(real).to(self.device)

    def _precision(self) -> AbstractContextManager[object]:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.half)


def together(padded: Sequence[Padded]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Stack the batches of several models, padded to the longest, shapes ``(K, B, L)``."""
    if len(padded) == 1:
        return padded[0].ids[None], padded[0].real[None]
    length = max(one.ids.shape[1] for one in padded)
    ids, real = (
        np.stack([np.pad(x, ((0, 0), (0, length - x.shape[1]))) for x in side])
        for side in zip(*padded, strict=True)
    )
    return ids, real


def generator(device: torch.device, seed: int, epoch: int) -> Generator:
    """Make a generator that depends on a model's seed and the epoch only."""
    drawn = np.random.default_rng([seed, epoch, 1]).integers(2**62)
    return Generator(device).manual_seed(int(drawn))


def initialise(model: nn.Module, recipe: Recipe, seeds: Sequence[int]) -> None:
    """Draw the parameters of stacked models, each from its own seed."""
    with torch.no_grad():
        for k, seed in enumerate(seeds):
            source = Generator().manual_seed(seed)
            for name, parameter in model.named_parameters():
                parameter[k] = _drawn(name, parameter[k], recipe, source)


def _drawn(name: str, like: Tensor, recipe: Recipe, source: Generator) -> Tensor:
    if recipe.initial == "normal":
        return torch.empty(like.shape).normal_(0, 0.01, generator=source)
    if not name.endswith("weight"):
        return torch.zeros(like.shape)
    bound = (6 / sum(like.shape)) ** 0.5
    return torch.empty(like.shape).uniform_(-bound, bound, generator=source)


def make_optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Make the recipe's optimizer."""
    kinds = {"adagrad": torch.optim.Adagrad, "adam": torch.optim.Adam}
    made: torch.optim.Optimizer = kinds[recipe.optimizer](
        model.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay
    )
    return made


_EVERY = 1.0


class Counter:
    """A progress bar that another process can read: one number of a file of int64."""

    steps: np.memmap[Any, np.dtype[np.int64]]

    def __init__(self, file: Path, i: int) -> None:
        self.steps = np.memmap(file, np.int64, "r+")
        self.i = i

    def update(self, n: int = 1) -> None:
        """Advance by `n` steps."""
        self.steps[self.i] += n

    def set_postfix_str(self, s: str) -> None:
        """Say nothing: losses are read from the logs."""


@contextmanager
def watched(file: Path, logs: Sequence[Path], total: int) -> Iterator[None]:
    """Show the sum of all counters in a file, and what stands last in the logs."""
    over = Event()
    with progress(f"training {len(logs)} models", total, "step") as bar:
        watcher = Thread(target=_watch, args=(bar, file, logs, over), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def log_length(log: Path) -> int:
    """Count the epochs in a log."""
    return len(_lines(log))


def _watch(bar: Bar, file: Path, logs: Sequence[Path], over: Event) -> None:
    steps, seen = np.memmap(file, np.int64, "r"), 0
    while not over.wait(_EVERY):
        now = int(steps.sum())
        bar.set_postfix_str(_last(logs))
        bar.update(now - seen)
        seen = now


def _last(logs: Sequence[Path]) -> str:
    """Average the last whole lines of the logs."""
    entries = [json.loads(lines[-1]) for log in logs if (lines := _lines(log))]
    if not entries:
        return ""
    loss, dev = (np.mean([entry[key] for entry in entries]) for key in ("loss", "dev"))
    return f"loss {loss:.3f}, dev {dev:.4f}"


def _lines(log: Path) -> list[str]:
    """Read the lines that are complete: another process may be writing."""
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return text.split("\n")[:-1]


@dataclass(frozen=True, eq=False)
class Job:
    """One model to train.

    Attributes
    ----------
    vectors
        Of the lexicon's tokens, shape ``(v, d)``.
    seed
        Of initial parameters, order and dropout.
    output
        File for the model; its log and checkpoint lie beside it.
    about
        What is to be known of the model afterwards; two jobs with equal ones are the same job.
    """

    vectors: NDArray[np.float32]
    seed: int
    output: Path
    about: Mapping[str, Any]

    @property
    def log(self) -> Path:
        """One line of JSON an epoch."""
        return self.output.with_name(f"{self.output.name}.log.jsonl")

    @property
    def checkpoint(self) -> Path:
        """The file that an interrupted training is resumed from."""
        return self.output.with_name(f"{self.output.name}.checkpoint")

    def is_done(self) -> bool:
        """Whether the output is there.

        Raises
        ------
        WordbiasError
            If there is another file, or a model trained otherwise: it is not overwritten.
        """
        if not self.output.exists():
            return False
        try:
            known = Model.load(self.output).about
        except WordbiasError as error:
            raise WordbiasError(f"{error} (remove this file, or name another output)") from None
        different = difference({key: known.get(key) for key in self.about}, dict(self.about))
        if different is None:
            return True
        raise WordbiasError(
            f"{self.output}: holds a model that was trained otherwise: its {different}; remove it, "
            "or name another output"
        )


def stacks(jobs: Sequence[Job]) -> list[list[Job]]:
    """Divide the jobs that are left into those that can be trained as one.

    A checkpoint holds all models of a stack, so that training resumes with just these: also with
    those that are done, where a process was killed while it wrote one model after the other, and
    without those that are new in this call. A checkpoint whose models are all done is removed.

    Raises
    ------
    WordbiasError
        As `Job.is_done` does.
    """
    left = [job for job in jobs if not job.is_done()]
    found: list[list[Job]] = []
    for job in jobs:
        stack = _held(job.checkpoint, jobs)
        if any(one in left for one in stack):
            found.append(stack)
            left = [one for one in left if one not in stack]
        elif stack:
            job.checkpoint.unlink(missing_ok=True)
    return [*found, *([left] if left else [])]


def _held(checkpoint: Path, jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs whose models a checkpoint holds, in order; none if it holds others too."""
    about = checkpoint_about(checkpoint) if checkpoint.exists() else None
    models = about.get("model") if isinstance(about, dict) else None
    if not isinstance(models, list):
        return []
    found = [next((job for job in jobs if _same(job, one)), None) for one in models]
    kept = [job for job in found if job is not None]
    return kept if len(kept) == len(found) else []


def _same(job: Job, about: Any) -> bool:
    return difference(about, dict(job.about)) is None


class Setup(NamedTuple):
    """What all jobs share: the pairs, and how models are trained on them."""

    train: Encoded
    dev: Encoded
    recipe: Recipe
    half: bool


def train_stacked(
    jobs: Sequence[Job], data: Setup, device: torch.device, bar: Bar | None = None
) -> None:
    """Train models stacked on a device, from their checkpoint if there is one, and write them."""
    recipe, seeds = data.recipe, [job.seed for job in jobs]
    tables = torch.from_numpy(np.stack([job.vectors for job in jobs])).to(device)
    model = _initial(tables.shape[2], recipe, seeds).to(device)
    state = train(
        model,
        make_optimizer(model, recipe),
        NLITask(model, tables, data.train, data.dev, recipe, seeds, data.half),
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
        process of its own, which is faster there. See `wordbias.devices.find_device`.
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
    data = Setup(train_pairs, dev_pairs, recipe, half)
    try:
        _train(left, data, chosen, workers or Workers())
    except KeyboardInterrupt:
        raise Interrupted(_LOST) from None


def _train(
    left: Sequence[Sequence[Job]], data: Setup, device: torch.device, workers: Workers
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


def _train_apart(jobs: Sequence[Job], data: Setup, workers: Workers) -> None:
    with tempfile.TemporaryDirectory() as folder:
        steps = Path(folder) / "steps"
        np.zeros(len(jobs), np.int64).tofile(steps)
        with watched(steps, [job.log for job in jobs], _remaining(jobs, data)):
            numbered, shared = list(enumerate(jobs)), (data, steps)
            deque(workers.unordered(_counting, numbered, shared=shared, lost=_LOST), maxlen=0)


def _counting(data: Setup, steps: Path, numbered: tuple[int, Job]) -> None:
    place, job = numbered
    _alone(data, job, Counter(steps, place))


def _train_on_cluster(jobs: Sequence[Job], data: Setup, workers: Workers) -> None:
    workers.results(_alone, jobs, f"training {len(jobs)} models", shared=(data,), unit="model")
    missing = [job.output for job in jobs if not job.output.exists()]
    if missing:
        raise WordbiasError(
            f"{missing[0]}: was trained, but is not here: the cluster's workers see another "
            "folder; name an output that all machines share"
        )


def _alone(data: Setup, job: Job, bar: Bar | None = None) -> None:
    torch.set_num_threads(threads())
    train_stacked([job], data, torch.device("cpu"), bar)


def _remaining(jobs: Sequence[Job], data: Setup) -> int:
    """Count the steps that are left, at most."""
    done = sum(log_length(job.log) for job in jobs if job.checkpoint.exists())
    batches = -(-len(data.train) // data.recipe.batch)
    return (len(jobs) * data.recipe.epochs - done) * batches
