"""Training of decomposable attention: models stacked on a GPU, one process each on a CPU."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from wordbias.devices import find_device, limited_threads, native_threads, threads, torch_threads
from wordbias.errors import Interrupted, WordbiasError
from wordbias.nli.files import Model
from wordbias.nli.jobs import Job
from wordbias.nli.lexicon import Encoded, Ints
from wordbias.nli.model import SPARE, DecomposableAttention, Rows, Side
from wordbias.nli.recipes import Recipe
from wordbias.progress import Bar, progress
from wordbias.store import difference
from wordbias.training import TrainingState, checkpoint_about, train
from wordbias.workers import Workers

_DEV_BATCH = 512
_REFRESH = 1.0
"""Seconds between two looks at the progress of other processes."""
_LOST = "the same call resumes after the last whole epoch"


class Setup(NamedTuple):
    """Pairs and settings that all jobs of a call share."""

    train: Encoded
    dev: Encoded
    recipe: Recipe
    half: bool
    kept: int = 0


def train_all(
    jobs: Sequence[Job],
    train_pairs: Encoded,
    dev_pairs: Encoded,
    recipe: Recipe,
    *,
    device: str | None = None,
    half: bool = False,
    kept: int = 0,
    workers: Workers | None = None,
    finished: Callable[[Job], object] = lambda _: None,
) -> None:
    """Train every job that is not done, and write the models; resume an interrupted training."""
    # A GPU trains the models stacked as one; a CPU trains each with one thread in a process of its
    # own, which is faster there. Parameters stay in float32 if `half`. `kept` is the number of last
    # epochs whose models are kept beside the best one. On a cluster all workers must see the folder
    # of the outputs. `finished` is called here with each job.
    chosen = find_device(device)
    left = stacks(jobs)
    for job in (job for stack in left for job in stack):
        job.output.parent.mkdir(parents=True, exist_ok=True)
    setup, workers = Setup(train_pairs, dev_pairs, recipe, half, kept), workers or Workers()
    unwritten = [job for stack in left for job in stack if not job.is_done()]
    at_once = min(workers.jobs or threads(), len(unwritten))
    try:
        if workers.backend != "loky":
            _train_on_cluster(unwritten, setup, workers, finished)
        elif chosen.type == "cpu" and at_once > 1:
            _train_in_processes(unwritten, setup, Workers(at_once), finished)
        elif chosen.type == "cpu":
            for job in unwritten:
                with torch_threads(native_threads()):
                    train_stacked([job], setup, chosen)
                finished(job)
        else:
            for stack in left:
                train_stacked(stack, setup, chosen)
                for job in stack:
                    finished(job)
    except KeyboardInterrupt:
        raise Interrupted(_LOST) from None


def stacks(jobs: Sequence[Job]) -> list[list[Job]]:
    """Divide the jobs that are left into stacks; each stack is trained as one."""
    # A checkpoint holds all models of a stack, and training resumes with exactly these: with those
    # that are done, if a process was killed while it wrote one model after the other, and without
    # those that are new in this call. A checkpoint whose models are all done is removed.
    left = [job for job in jobs if not job.is_done()]
    resumed: list[list[Job]] = []
    for job in jobs:
        stack = _jobs_in(job.checkpoint, jobs)
        if any(member in left for member in stack):
            resumed.append(stack)
            left = [other for other in left if other not in stack]
        elif stack:
            job.checkpoint.unlink(missing_ok=True)
    return [*resumed, *([left] if left else [])]


def _jobs_in(checkpoint: Path, jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs whose models a checkpoint holds, in order; none if it holds others too."""
    about = checkpoint_about(checkpoint) if checkpoint.exists() else None
    models = about.get("model") if isinstance(about, dict) else None
    if not isinstance(models, list):
        return []
    held_jobs: list[Job] = []
    for model in models:
        same = next((job for job in jobs if difference(model, dict(job.about)) is None), None)
        if same is None:
            return []
        held_jobs.append(same)
    return held_jobs


def train_stacked(
    jobs: Sequence[Job], setup: Setup, device: torch.device, bar: Bar | None = None
) -> None:
    """Train models stacked on a device, from their checkpoint if there is one, and write them."""
    recipe, seeds = setup.recipe, [job.seed for job in jobs]
    tables = torch.from_numpy(np.stack([job.vectors for job in jobs])).to(device)
    model = DecomposableAttention(
        tables.shape[2],
        recipe.hidden,
        intra=recipe.intra,
        dropout=recipe.dropout,
        models=len(jobs),
    )
    initialise(model, recipe, seeds)
    model.to(device)

    def keep(epoch: int, going: list[int]) -> None:
        """Write the models of an epoch, and remove those that are no longer among the last."""
        for k in going:
            weights = {name: x[k].cpu().numpy() for name, x in model.state_dict().items()}
            about = {**jobs[k].about, "epoch": epoch}
            snapshot = Model(weights, tables.shape[2], recipe.hidden, recipe.intra, about=about)
            snapshot.save(jobs[k].epoch_file(epoch))
            jobs[k].epoch_file(epoch - setup.kept).unlink(missing_ok=True)

    state = train(
        model,
        make_optimizer(model, recipe),
        NLITask(model, tables, setup.train, setup.dev, recipe, seeds, setup.half),
        epochs=recipe.epochs,
        patience=recipe.patience,
        checkpoint=jobs[0].checkpoint,
        logs=[job.log for job in jobs],
        about={"model": [dict(job.about) for job in jobs], "device": device.type},
        after_epoch=keep if setup.kept else None,
        what=f"training {len(jobs)} models" if len(jobs) > 1 else "training",
        bar=bar,
    )
    for k, job in enumerate(jobs):
        _write_best(state, k, job, recipe, device)
    jobs[0].checkpoint.unlink(missing_ok=True)


def _write_best(
    state: TrainingState, k: int, job: Job, recipe: Recipe, device: torch.device
) -> None:
    """Write the best epoch of model `k`."""
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


class NLITask:
    """Losses and dev accuracy of K models on the same pairs, for `wordbias.training.train`."""

    # Each model has vectors, (K, v, d), a seed and an order of batches of its own.

    model: DecomposableAttention
    tables: Tensor
    train: Encoded
    dev: Encoded
    recipe: Recipe
    seeds: tuple[int, ...]
    half: bool
    device: torch.device
    first: Tensor
    moved: dict[int, tuple[Encoded, Tokens]]

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
        self.moved = {}

    def steps(self) -> int:
        """Return the number of batches of an epoch."""
        return -(-len(self.train) // self.recipe.batch)

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Yield the mean negative log-likelihood of every batch, shape ``(K,)``."""
        drawn = {seed: self.train.order(self.recipe.batch, seed, epoch) for seed in set(self.seeds)}
        generators = [generator(self.device, seed, epoch) for seed in self.seeds]
        for batches in zip(*(drawn[seed] for seed in self.seeds), strict=True):
            log_probs = self.predict(self.train, batches, generators)  # (K, B, 3)
            labels = np.stack([self.train.labels[rows] for rows in batches])
            wanted = moved(labels, self.device)[..., None]  # (K, B, 1)
            yield -log_probs.gather(-1, wanted).mean((1, 2))

    def score(self) -> Tensor:
        """Return the accuracy on dev, shape ``(K,)``."""
        return self.accuracy(self.dev)

    def accuracy(self, pairs: Encoded) -> Tensor:
        """Return the accuracy on any pairs, shape ``(K,)``, in float64: a share of whole pairs."""
        right = torch.zeros(len(self.seeds), dtype=torch.int64, device=self.device)
        for rows in pairs.in_order_of_length(_DEV_BATCH):
            predicted = self.predict(pairs, [rows] * len(self.seeds)).argmax(-1)  # (K, B)
            right += (predicted == moved(pairs.labels[rows], self.device)).sum(1)
        return right.cpu().double() / len(pairs)

    def predict(
        self, pairs: Encoded, batches: Sequence[Ints], generators: Sequence[Generator] = ()
    ) -> Tensor:
        """Compute log-probabilities of each model's batch, shape ``(K, B, 3)``."""
        chosen = np.stack(batches)  # (K, B)
        words, rows = self._tokens(pairs).rows(pairs.premise[chosen], pairs.hypothesis[chosen])
        return self.model.classify_rows(self._project(words), rows, generators)

    def _tokens(self, pairs: Encoded) -> Tokens:
        """Return the sentences of pairs as tensors, which are moved to a GPU once."""
        if id(pairs) not in self.moved:
            self.moved[id(pairs)] = pairs, Tokens.of(pairs, self.device)
        return self.moved[id(pairs)][1]

    def _project(self, words: Tensor) -> Tensor:
        """Look up words, shape (K, N), in the models' tables and project them: (K, N, h)."""
        # One model on a CPU projects each distinct word of the batch once, in its parameters' type:
        # bfloat16 would sum up the gradients of a word's occurrences too coarsely. A GPU would be
        # waited for.
        dtype = torch.bfloat16 if self.half else self.tables.dtype
        if self.device.type == "cpu" and len(self.tables) == 1:
            distinct, place = torch.unique(words[0], return_inverse=True)
            distinct = F.pad(distinct, (0, -len(distinct) % SPARE))  # few sizes, as in `Rows`
            projected = self.model.project(F.embedding(distinct, self.tables[0])[None])
            return F.embedding(place, projected[0])[None].to(dtype)
        numbers = words + self.first[:, None]  # (K, N)
        vectors = F.embedding(numbers, self.tables.flatten(0, 1))
        projections: Tensor = self.model.project(vectors.to(dtype))
        return projections


class Tokens(NamedTuple):
    """Distinct sentences on a device, as `wordbias.nli.lexicon.Sentences` has them on the host."""

    flat: Tensor  # all tokens, and the offset and the number of tokens of each sentence
    start: Tensor
    length: Tensor
    # the numbers of tokens on the host: a batch can be cut without waiting for a GPU
    lengths: Ints

    @classmethod
    def of(cls, pairs: Encoded, device: torch.device) -> Tokens:
        """Move the sentences of pairs."""
        own = pairs.sentences
        flat, start, length = (moved(x, device) for x in (own.flat, own.start, own.length))
        return cls(flat, start, length, own.length)

    def rows(self, premises: Ints, hypotheses: Ints) -> tuple[Tensor, Rows]:
        """Return the tokens of pairs of sentences, shape (K, N), and how they stand in rows."""
        sides = [moved(side, self.flat.device) for side in (premises, hypotheses)]  # (K, B)
        lengths = [self.length[side] for side in sides]
        rows = Rows.of(lengths, [self.lengths[side] for side in (premises, hypotheses)])
        p, q = (
            self._words(side, there)
            for side, there in zip(sides, (rows.premise, rows.hypothesis), strict=True)
        )
        return rows.packed(p, q)[..., 0].long(), rows

    def _words(self, sentences: Tensor, side: Side) -> Tensor:
        """Return the tokens of sentences, (K, B) → (K, B, L, 1); at padding any token."""
        place = torch.arange(side.shape[2], device=sentences.device)
        place = self.start[sentences][..., None] + place
        return self.flat[place if side.mask is None else place.mul_(side.mask)][..., None]


def moved(values: NDArray[Any], device: torch.device) -> Tensor:
    """Return an array as a tensor on a device; a GPU copies it while the host goes on."""
    # A tensor shares the memory of its array; one that is read-only is copied.
    tensor = torch.from_numpy(np.require(values, requirements="W"))
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def generator(device: torch.device, seed: int, epoch: int) -> Generator:
    """Return a generator for dropout that depends on a model's seed and the epoch only."""
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
    parameters = list(model.parameters())
    on_cpu = all(parameter.device.type == "cpu" for parameter in parameters)
    optimizer: torch.optim.Optimizer = kinds[recipe.optimizer](
        parameters,
        lr=recipe.rate,
        weight_decay=recipe.weight_decay,
        fused=on_cpu or None,  # one pass over each parameter; elsewhere torch's own choice
    )
    return optimizer


# Jobs in processes of their own: steps are counted in a shared file, losses read from the logs.


def _train_in_processes(
    jobs: Sequence[Job], setup: Setup, workers: Workers, finished: Callable[[Job], object]
) -> None:
    done = sum(epochs_logged(job.log) for job in jobs if job.checkpoint.exists())
    batches = -(-len(setup.train) // setup.recipe.batch)
    total = (len(jobs) * setup.recipe.epochs - done) * batches  # at most
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # for Windows: mapped
        steps = Path(folder) / "steps"
        np.zeros(len(jobs), np.int64).tofile(steps)
        with shared_progress(steps, [job.log for job in jobs], total):
            numbered, shared = list(enumerate(jobs)), (setup, steps)
            ended = workers.unordered(_train_counted, numbered, shared=shared, lost=_LOST)
            with closing(ended):
                for i, _ in ended:
                    with limited_threads():  # the others have the cores
                        finished(jobs[i])


def _train_counted(setup: Setup, steps: Path, numbered: tuple[int, Job]) -> None:
    i, job = numbered
    _train_one(setup, job, SharedCounter(steps, i))


def _train_one(setup: Setup, job: Job, bar: Bar | None = None) -> None:
    torch.set_num_threads(native_threads())
    train_stacked([job], setup, torch.device("cpu"), bar)


def _train_on_cluster(
    jobs: Sequence[Job], setup: Setup, workers: Workers, finished: Callable[[Job], object]
) -> None:
    ended = workers.unordered(_train_one, jobs, shared=(setup,), lost=_LOST)
    with progress(f"training {len(jobs)} models", len(jobs), "model") as bar, closing(ended):
        for i, _ in ended:
            bar.update(1)
            if jobs[i].output.exists():  # a shared folder may show it later
                finished(jobs[i])
    missing = [job.output for job in jobs if not job.output.exists()]
    if missing:
        raise WordbiasError(
            f"{missing[0]}: was trained, but is not here: the cluster's workers see another "
            "folder; name an output that all machines share"
        )


class SharedCounter:
    """A progress bar that another process can read: item `i` of a file of int64."""

    steps: np.memmap[Any, np.dtype[np.int64]]

    def __init__(self, file: Path, i: int) -> None:
        self.steps = np.memmap(file, np.int64, "r+")
        self.i = i

    def update(self, n: int = 1) -> None:
        """Advance by `n` steps."""
        self.steps[self.i] += n

    def set_postfix_str(self, s: str) -> None:
        """Do nothing: losses are read from the logs."""


@contextmanager
def shared_progress(file: Path, logs: Sequence[Path], total: int) -> Iterator[None]:
    """Show one bar for other processes: the sum of the counters in a file, and the last losses."""
    over = Event()
    with progress(f"training {len(logs)} models", total, "step") as bar:
        thread = Thread(target=_refresh, args=(bar, file, logs, over), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _refresh(bar: Bar, file: Path, logs: Sequence[Path], over: Event) -> None:
    steps, before = np.memmap(file, np.int64, "r"), 0
    while not over.wait(_REFRESH):
        now = int(steps.sum())
        entries = [json.loads(lines[-1]) for log in logs if (lines := _whole_lines(log))]
        if entries:
            loss, dev = (np.mean([entry[key] for entry in entries]) for key in ("loss", "dev"))
            bar.set_postfix_str(f"loss {loss:.3f}, dev {dev:.4f}")
        bar.update(now - before)
        before = now


def epochs_logged(log: Path) -> int:
    """Count the epochs in a log."""
    return len(_whole_lines(log))


def _whole_lines(log: Path) -> list[str]:
    """Read the lines that are complete: another process may be writing."""
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return text.split("\n")[:-1]
