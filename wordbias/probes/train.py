"""Training of many probes at once: jobs, common batches, early stopping, best weights, tests.

Blocks are prefixes of one order and batches keep their order: at step t of an epoch every block's
probe reads the same batch, and one matrix product serves them all. A block whose epoch is shorter
waits for the largest. Columns of probes are sorted by the size of their blocks and rows by that of
their largest block still trained: the probes that take part in a step are a corner of the stack, a
view. Stopped probes are left out once their whole row or column has stopped.

This is not the loop of `wordbias.training`: the same code trains in numpy and in torch without
autograd, the stack shrinks while it trains, and seconds of training need no checkpoint.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import blas_threads, find_device, threads, torch_threads
from wordbias.errors import WordbiasError, need
from wordbias.labelled import Labelled
from wordbias.probes.inputs import control_labels
from wordbias.probes.linear import LinearProbes
from wordbias.progress import progress

PROBES = ("linear", "mlp")
DEV_SHARE = 10
"""One in ten of the examples for training is a dev example, where no dev set is given."""
Stretch = tuple[int, int]
Integers = NDArray[np.intp]
Floats = NDArray[np.float64]
Vectors = NDArray[np.floating[Any]]
Share = tuple[list[int], list[int] | None]
"""Places of the jobs of a stack, and their blocks; None is all blocks."""

ROWS = 8
"""Jobs of a stack: enough for numpy's calls to be worth it, few enough for the cache of a core."""
_TILE = 1 << 21  # numbers of examples that are scored at once


@dataclass(frozen=True)
class Recipe:
    """Settings of training a probe; the defaults are those of Orgad et al. (2022)."""

    probe: str = "linear"  # `linear`, or `mlp`: half as many hidden units as dimensions, tanh
    epochs: int = 50
    # examples in a batch; the batches keep their order in every epoch. The loss of a batch is the
    # sum of those of its examples.
    batch: int = 16
    # learning rate and weight decay of AdamW; its other settings are torch's defaults
    rate: float = 1e-3
    decay: float = 0.01
    # early stopping: training ends when the loss on dev, summed, in nats, has not fallen by
    # `tolerance` in more than `patience` epochs
    patience: int = 4
    tolerance: float = 1e-3
    # use a probe's last weights instead of its best on dev, as the released code does: it keeps a
    # reference to the live weights, which go on changing. Wrong, and off by default.
    last: bool = False

    def __post_init__(self) -> None:
        if self.probe not in PROBES:
            raise WordbiasError(f"probe {self.probe!r}: expected one of {', '.join(PROBES)}")
        if self.epochs < 1 or self.batch < 1:
            raise WordbiasError(
                f"{self.epochs} epochs in batches of {self.batch}: expected at least 1 of each"
            )
        if not 0 < self.rate <= 1:
            raise WordbiasError(f"lr {self.rate}: expected a number above 0 and at most 1")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary."""
        return asdict(self)


@dataclass(frozen=True)
class Schedule:
    """Training, dev and test examples of each of `B` probes, as places in an order."""

    # number of training examples of each probe, from the beginning of the order
    train: tuple[int, ...]
    dev: tuple[Stretch, ...]  # beginning and end of the dev and of the test examples of each probe
    test: tuple[Stretch, ...]


@dataclass(frozen=True, eq=False)
class Job:
    """The probes of one layer, one order of the examples and one schedule."""

    layer: int  # place of the layer among the vectors
    labels: Integers  # codes 0 to K - 1, shape `(n,)`
    order: Integers  # order of the examples, shape `(n,)`; those of an external dev set come last
    schedule: Schedule
    seed: int


@dataclass(frozen=True)
class Result:
    """Result of one probe on its test examples."""

    loss: float  # cross-entropy, summed, in nats
    right: int  # number of correct predictions, and of test examples
    n: int
    epochs: int
    best: int  # epoch whose weights were tested

    @property
    def accuracy(self) -> float:
        """Share of correct predictions."""
        return self.right / self.n


def make_jobs(
    examples: Labelled,
    seeds: Sequence[int],
    plans: Sequence[tuple[Integers, Schedule]],
    *,
    types: Integers | None = None,
    control: bool = True,
) -> list[Job]:
    """Return the jobs of all layers and seeds: layer by layer, in each seed by seed."""
    labels = [[examples.label.codes] * len(seeds)]
    if control:
        labels.append([control_labels(examples.label.codes, types, seed) for seed in seeds])
    return [
        Job(layer, which[i], order, schedule, seed)
        for layer in range(len(examples.layers))
        for i, (seed, (order, schedule)) in enumerate(zip(seeds, plans, strict=True))
        for which in labels
    ]


# Training


class Probes(Protocol):
    """Stack of probes; see `wordbias.probes.linear.LinearProbes`."""

    def step(self, rows: Integers, y: Integers, inside: NDArray[np.bool_], steps: Integers) -> None:
        """Take one step with the first rows and columns."""

    def scores(self, rows: Integers, column: int, *, kept: bool = False) -> NDArray[np.float32]:
        """Score examples with one column of probes."""

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Keep a copy of the weights of some probes."""

    def arrange(self, rows: Integers, columns: Integers) -> None:
        """Select rows and columns to go on with."""


Make = Callable[[NDArray[Any], Sequence[int], Sequence[int], int, Recipe], Probes]


def train_jobs(
    vectors: Vectors,
    jobs: Sequence[Job],
    classes: int,
    recipe: Recipe,
    *,
    device: str | None = None,
    name: str = "probing",
) -> list[list[Result]]:
    """Train and test every probe of every job, whatever the number of threads."""
    make: Make = LinearProbes
    one_by_one = False
    bounded: AbstractContextManager[None] = nullcontext()
    if recipe.probe == "mlp":
        mlp = need("wordbias.probes.mlp", extra="torch", purpose="An MLP probe")
        on = find_device(device)
        make, bounded = partial(mlp.MlpProbes, device=on), torch_threads()
        one_by_one = on.type == "cpu"  # where one wide probe already fills the cache
    shares = list(_one_by_one(jobs) if one_by_one else _stacked(jobs))
    by_block: list[dict[int, Result]] = [{} for _ in jobs]
    stop = threading.Event()
    total = sum(len(job.schedule.train) for job in jobs)
    with bounded, blas_threads(1), progress(name, total, "probe") as bar:

        def work(share: Share) -> None:
            members, blocks = share
            stack = Stack(make, vectors, [jobs[i] for i in members], classes, recipe, blocks)
            stack.train(bar.update, stop)
            for i, tested in zip(members, stack.test(), strict=True):
                by_block[i].update(tested)

        _in_threads(work, shares, stop)
    return [[row[block] for block in sorted(row)] for row in by_block]


def _one_by_one(jobs: Sequence[Job]) -> Iterator[Share]:
    """Make a stack of every probe, the large ones first, so that no thread waits long."""
    sizes = [(-n, i, b) for i, job in enumerate(jobs) for b, n in enumerate(job.schedule.train)]
    yield from (([i], [b]) for _, i, b in sorted(sizes))


def _stacked(jobs: Sequence[Job]) -> Iterator[Share]:
    """Make stacks of jobs of one schedule."""
    alike: dict[Any, list[int]] = {}
    for i, job in enumerate(jobs):
        alike.setdefault(job.schedule, []).append(i)
    for members in alike.values():
        count = -(-len(members) // ROWS)
        count += count % 2 if count > 1 else 0  # even, for machines of two cores and more
        yield from ((part.tolist(), None) for part in np.array_split(members, count))


def _in_threads(
    work: Callable[[Share], None], shares: Sequence[Share], stop: threading.Event
) -> None:
    """Train the stacks in threads; an error in one stops them all soon."""
    pool = ThreadPoolExecutor(min(threads(), len(shares)))
    try:
        done, _ = wait([pool.submit(work, share) for share in shares], None, FIRST_EXCEPTION)
        for future in done:
            future.result()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


class StoppedError(Exception):
    """Another thread has failed or was interrupted."""


class Stack:
    """Probes of jobs with equal schedules, trained together: a row a job, a column a block."""

    examples: NDArray[np.intp]
    labels: NDArray[np.intp]
    sizes: NDArray[np.intp]
    blocks: NDArray[np.intp]
    rows: Integers
    columns: Integers
    probes: Probes
    recipe: Recipe
    dim: int
    state: EarlyStopping

    def __init__(
        self,
        make: Make,
        vectors: NDArray[np.floating[Any]],
        jobs: Sequence[Job],
        classes: int,
        recipe: Recipe,
        blocks: Sequence[int] | None = None,
    ) -> None:
        n = vectors.shape[1]
        self.schedule: Schedule = jobs[0].schedule
        self.examples = np.array([job.order + n * job.layer for job in jobs])
        self.labels = np.array([job.labels[job.order] for job in jobs])
        self.sizes = np.array(self.schedule.train)
        chosen = np.arange(len(self.sizes)) if blocks is None else np.array(blocks)
        self.blocks = chosen[np.argsort(-self.sizes[chosen], kind="stable")]
        self.columns, self.rows = self.blocks, np.arange(len(jobs))
        flat = vectors.reshape(-1, vectors.shape[2])
        seeds = [job.seed for job in jobs]
        self.probes = make(flat, seeds, self.blocks.tolist(), classes, recipe)
        self.recipe, self.dim = recipe, vectors.shape[2]
        self.state = EarlyStopping.begin((len(jobs), len(self.sizes)))
        self.state.going[:] = np.isin(np.arange(len(self.sizes)), self.blocks)

    def train(self, finished: Callable[[int], object], stop: threading.Event) -> None:
        """Train until every probe has stopped; `finished` gets the number that stopped."""
        for epoch in range(self.recipe.epochs):
            if stop.is_set():
                raise StoppedError
            before = self.state.going.sum()
            self._epoch(epoch)
            loss = np.stack([self._dev_loss(j) for j in range(len(self.columns))], axis=1)
            self.probes.keep(self.state.judge(np.ix_(self.rows, self.columns), loss, self.recipe))
            finished(int(before - self.state.going.sum()))
            if not self.state.going.any():
                return
            self._arrange()
        finished(int(self.state.going.sum()))

    def _epoch(self, epoch: int) -> None:
        sizes, batch = self.sizes[self.columns], self.recipe.batch
        reach = self._reach()
        batches = -(-sizes // batch)
        for t in range(int(-(-reach.max() // batch))):
            start = t * batch
            s, b = int((reach > start).sum()), int((sizes > start).sum())
            places = np.arange(start, min(start + batch, int(sizes[0])))
            rows = self.rows[:s, None]
            inside = places[:, None] < sizes[:b]
            steps = epoch * batches[:b] + t + 1
            self.probes.step(self.examples[rows, places], self.labels[rows, places], inside, steps)

    def _reach(self) -> Integers:
        """Return the size of each row's largest block that is still trained."""
        going = self.state.going[np.ix_(self.rows, self.columns)]
        reach: Integers = np.where(going, self.sizes[self.columns], 0).max(1)
        return reach

    def _arrange(self) -> None:
        """Leave out rows and columns that have stopped; sort rows by their largest block."""
        going = self.state.going[np.ix_(self.rows, self.columns)]
        reach = self._reach()
        rows = np.argsort(-reach, kind="stable")[: int((reach > 0).sum())]
        columns = np.flatnonzero(going.any(0))
        if len(columns) < len(self.columns) or not np.array_equal(rows, np.arange(len(reach))):
            self.probes.arrange(rows, columns)
            self.rows, self.columns = self.rows[rows], self.columns[columns]

    def _dev_loss(self, j: int) -> Floats:
        """Return the summed loss on dev of one column of the present probes, in nats."""
        loss = np.zeros(len(self.rows))
        for rows, y in self._tiles(self.rows, self.schedule.dev[self.columns[j]]):
            loss += cross_entropy(self.probes.scores(rows, j), y).sum(1)
        return loss

    def test(self) -> list[dict[int, Result]]:
        """Test the weights that were kept; return a result by block number for each job."""
        tested = [self._tested(j, block) for j, block in enumerate(self.blocks.tolist())]
        return [
            dict(zip(self.blocks.tolist(), row, strict=True)) for row in zip(*tested, strict=True)
        ]

    def _tested(self, column: int, block: int) -> list[Result]:
        every = np.arange(len(self.examples))
        loss, right = np.zeros(len(every)), np.zeros(len(every), np.intp)
        start, end = self.schedule.test[block]
        for rows, y in self._tiles(every, (start, end)):
            z = self.probes.scores(rows, column, kept=True)
            loss += cross_entropy(z, y).sum(1)
            right += (z.argmax(-1) == y).sum(1)
        epochs, best = self.state.epochs[:, block], self.state.best[:, block]
        counted = zip(loss, right, epochs, best, strict=True)
        return [Result(float(x), int(k), end - start, int(e), int(b)) for x, k, e, b in counted]

    def _tiles(self, rows: Integers, where: Stretch) -> Iterator[tuple[Integers, Integers]]:
        """Yield the examples of a stretch and their labels, in tiles that are scored at once."""
        # Their number does not depend on the stack: sums of losses are the same to the last bit.
        size = max(1, _TILE // (self.dim * ROWS))
        for start in range(*where, size):
            part = slice(start, min(start + size, where[1]))
            yield self.examples[rows, part], self.labels[rows, part]


@dataclass
class EarlyStopping:
    """Early stopping of each probe apart from the others; each array has the shape ``(S, B)``."""

    going: NDArray[np.bool_]  # mask of the probes that are still trained
    lowest: Floats
    waited: Integers  # epochs since the lowest loss
    epochs: Integers  # number of epochs of training, and the epoch whose weights are kept
    best: Integers

    @classmethod
    def begin(cls, shape: tuple[int, int]) -> EarlyStopping:
        """Begin with all probes in training."""

        def zeros() -> Integers:
            return np.zeros(shape, np.intp)

        return cls(np.ones(shape, bool), np.full(shape, np.inf), zeros(), zeros(), zeros())

    def judge(self, at: Any, loss: Floats, recipe: Recipe) -> NDArray[np.bool_]:
        """Compare an epoch's losses on dev with the lowest; return a mask of weights to keep."""
        going = self.going[at]
        self.epochs[at] += going
        better = going & (loss < self.lowest[at] - recipe.tolerance)
        self.lowest[at] = np.where(better, loss, self.lowest[at])
        self.waited[at] = np.where(better, 0, self.waited[at] + going)
        self.going[at] = going & (self.waited[at] <= recipe.patience)
        mask: NDArray[np.bool_] = going if recipe.last else better
        self.best[at] = np.where(mask, self.epochs[at], self.best[at])
        return mask


def cross_entropy(z: NDArray[np.floating[Any]], y: Integers) -> Floats:
    """Return -ln softmax(z)[y] in nats for every example, of scores (…, K) and classes (…)."""
    z = z.astype(np.float64)
    z -= z.max(-1, keepdims=True)
    chosen = np.take_along_axis(z, y[..., None], -1)[..., 0]
    losses: Floats = np.log(np.exp(z).sum(-1)) - chosen
    return losses
