"""The training of many probes as one: common batches, early stopping, best weights, tests.

Blocks are prefixes of one order and batches keep their order, so at step t of an epoch every
block's probe reads the same batch, and one matrix product serves them all. A block whose epoch is
shorter waits for the largest. Columns of probes are sorted by the size of their blocks and rows by
that of their largest block still trained: who takes part in a step is a corner of the stack, a
view. Probes that are done are left out from the next epoch on, once their whole row or column is.

This is not the loop of `wordbias.training`: the same code trains in numpy and in torch without
autograd, the stack shrinks while it trains, and seconds of work need no checkpoint.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wordbias.probes.recipe import Recipe, Result
from wordbias.probes.schedule import Job, Schedule, Stretch
from wordbias.probes.standing import EarlyStopping, cross_entropy

Integers = NDArray[np.intp]
Floats = NDArray[np.float64]

_TILE = 1 << 21  # numbers of examples that are scored at once
ROWS = 8
"""Jobs of a stack: enough for numpy's calls to be worth it, few enough for the cache of a core."""


class Probes(Protocol):
    """A stack of probes, as `wordbias.probes.linear.LinearProbes` describes it."""

    def step(self, rows: Integers, y: Integers, inside: NDArray[np.bool_], steps: Integers) -> None:
        """Take one step with the first rows and columns."""

    def scores(self, rows: Integers, column: int, *, kept: bool = False) -> NDArray[np.float32]:
        """Score examples with one column of probes."""

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Keep a true copy of the weights of these probes."""

    def arrange(self, rows: Integers, columns: Integers) -> None:
        """Go on with these of the present rows and columns."""


Make = Callable[[NDArray[Any], Sequence[int], Sequence[int], int, Recipe], Probes]


class StoppedError(Exception):
    """Another thread has failed or was interrupted."""


class Stack:
    """Jobs of one schedule, coded together.

    Parameters
    ----------
    make
        Makes the probes.
    vectors
        Shape ``(L, n, d)``, C-contiguous or one layer of it.
    jobs
        With equal schedules.
    classes
        How many classes there are.
    recipe
        How the probes are trained.
    blocks
        Which of the schedule's blocks; all of them by default.
    """

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
        """Train until every probe is done; `finished` hears how many were done in each epoch."""
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
        """Leave out what is done, and put the rows with the longest way to go first."""
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
        """Test the weights that were kept: for each job, each block's probe by its number."""
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
        """Yield the examples of a stretch and their labels, as many as are scored at once.

        How many does not depend on the stack: sums of losses are then the same to the last bit.
        """
        room = max(1, _TILE // (self.dim * ROWS))
        for start in range(*where, room):
            part = slice(start, min(start + room, where[1]))
            yield self.examples[rows, part], self.labels[rows, part]
