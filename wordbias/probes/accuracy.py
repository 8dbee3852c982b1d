"""Probing accuracy on held-out examples, beside that of the majority and of a control task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import Column
from wordbias.draws import by_wilson
from wordbias.errors import WordbiasError
from wordbias.labelled import Labelled
from wordbias.measures.registry import ideal
from wordbias.probes.mdl import ACCURACY, CONTROL, TASK, selectivity_row, spread_row
from wordbias.probes.train import DEV_SHARE, Job, Recipe, Result, Schedule, make_jobs, train_jobs
from wordbias.results import Row
from wordbias.splits import DEV, TEST, TRAIN, parts_of

Integers = NDArray[np.intp]

SHARES = (0.8, 0.1)
"""Shares of each class for training and for dev; the rest is tested."""


@dataclass(frozen=True)
class Probed:
    """Results of a probe on held-out examples."""

    tested: Result
    # accuracy of always predicting the class that is most frequent among the training examples
    majority: float
    control: Result | None = None  # result on a control task, if there was one
    layer: int = 0
    seed: int = 0

    @property
    def selectivity(self) -> float | None:
        """Accuracy on the labels minus accuracy on the control task (Hewitt and Liang 2019)."""
        return None if self.control is None else self.tested.accuracy - self.control.accuracy


def probe_accuracy(
    examples: Labelled,
    *,
    seeds: Sequence[int] = (0,),
    recipe: Recipe | None = None,
    split: Column | None = None,
    types: Integers | None = None,
    control: bool = True,
    device: str | None = None,
) -> list[Probed]:
    """Train a probe on each layer under each seed and test it on held-out examples."""
    # By default eight, one and one in ten of each class are for training, dev and test. Without dev
    # examples a tenth of the training ones serve.
    plans = [divided(examples.label.codes, seed, split) for seed in seeds]
    jobs = make_jobs(examples, seeds, plans, types=types, control=control)
    k, recipe = len(examples.label.classes), recipe or Recipe()
    tested = train_jobs(examples.vectors, jobs, k, recipe, device=device, name=examples.name)
    step = 2 if control else 1
    return [
        Probed(
            tested[i][0],
            majority(jobs[i]),
            tested[i + 1][0] if control else None,
            examples.layers[jobs[i].layer],
            jobs[i].seed,
        )
        for i in range(0, len(jobs), step)
    ]


def divided(labels: Integers, seed: int, split: Column | None = None) -> tuple[Integers, Schedule]:
    """Return an order, training examples first, then dev, then test, and its schedule."""
    rng = np.random.default_rng(seed)
    parts = _stratified(labels, rng) if split is None else _by_column(split, rng)
    sizes = [len(part) for part in parts]
    for name, size in zip(("train", "dev", "test"), sizes, strict=True):
        if not size:
            raise WordbiasError(
                f"{len(labels):,} examples leave none to {name}; give more, or a split of your own"
                if split is None
                else f"split: none of {len(labels):,} examples is for {name}; name another column"
            )
    t, d, _ = np.cumsum(sizes).tolist()
    return np.concatenate(parts), Schedule((t,), ((t, d),), ((d, len(labels)),))


def _stratified(labels: Integers, rng: np.random.Generator) -> list[Integers]:
    parts: list[list[Integers]] = [[], [], []]
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        cuts = np.round(np.cumsum(SHARES) * len(members)).astype(int)
        for part, piece in zip(parts, np.split(members, cuts), strict=True):
            part.append(piece)
    return [rng.permutation(np.concatenate(part)) for part in parts]


def _by_column(split: Column, rng: np.random.Generator) -> list[Integers]:
    parts = parts_of("--split", split)
    Labelled(None, len(parts), name="--split").refuse_blank("part", parts == 0, "name them")
    train, dev, test = (
        rng.permutation(np.flatnonzero(parts == part)) for part in (TRAIN, DEV, TEST)
    )
    if not len(dev):
        cut = len(train) - len(train) // DEV_SHARE
        train, dev = train[:cut], train[cut:]
    return [train, dev, test]


def majority(job: Job) -> float:
    """Return the accuracy of the training examples' most frequent class on the test examples."""
    (start, end), size = job.schedule.test[0], job.schedule.train[0]
    labels = job.labels[job.order]
    return float((labels[start:end] == np.bincount(labels[:size]).argmax()).mean())


def accuracy_rows(
    examples: Labelled, probed: Sequence[Probed], *, one_layer: bool = False
) -> list[Row]:
    """Return the rows of probing accuracy, layer by layer, with Wilson's interval of one test."""
    # That of several seeds is not narrower, because their tests share examples.
    rows = []
    for layer in dict.fromkeys(probe.layer for probe in probed):
        chosen = [probe for probe in probed if probe.layer == layer]
        about = {} if one_layer else {"layer": layer}
        sets = {TASK: [probe.tested for probe in chosen]}
        sets[CONTROL] = [probe.control for probe in chosen if probe.control is not None]
        seeds = [probe.seed for probe in chosen]
        for which, tested in sets.items():
            if not tested:
                continue
            n, accuracies = tested[0].n, [test.accuracy for test in tested]
            neutral = float(np.mean([probe.majority for probe in chosen]))
            details = {**about, "set": which, "seeds": seeds, "n": n}
            k = len(examples.label.classes)
            details |= {**ideal(ACCURACY, neutral), "classes": k}
            details |= by_wilson(float(np.mean(accuracies)), n, "examples")
            rows.append(spread_row(examples, ACCURACY, accuracies, details))
        if sets[CONTROL]:
            gained = [probe.selectivity or 0.0 for probe in chosen]
            rows.append(selectivity_row(examples, gained, seeds, chosen[0].tested.n, about))
    return rows
