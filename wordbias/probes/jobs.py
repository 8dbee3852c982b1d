"""Training jobs of probes: recipe, schedule of training, dev and test examples, and result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.probes.inputs import Examples, control_labels

PROBES = ("linear", "mlp")
DEV_SHARE = 10
"""One in ten of the examples for training is a dev example, where no dev set is given."""
Stretch = tuple[int, int]
Integers = NDArray[np.intp]


@dataclass(frozen=True)
class Recipe:
    """Settings of training a probe; the defaults are those of Orgad et al. (2022).

    Attributes
    ----------
    probe
        ``linear``, or ``mlp``: half as many hidden units as dimensions, tanh.
    epochs
        Maximum number of epochs.
    batch
        Examples in a batch; the batches keep their order in every epoch. The loss of a batch is
        the sum of those of its examples.
    rate, decay
        Learning rate and weight decay of AdamW; its other settings are torch's defaults.
    patience, tolerance
        Early stopping: training ends when the loss on dev, summed, in nats, has not fallen by
        `tolerance` in more than `patience` epochs.
    last
        Use a probe's last weights instead of its best on dev, as the released code does: it keeps
        a reference to the live weights, which go on changing. Wrong, and off by default.
    """

    probe: str = "linear"
    epochs: int = 50
    batch: int = 16
    rate: float = 1e-3
    decay: float = 0.01
    patience: int = 4
    tolerance: float = 1e-3
    last: bool = False

    def __post_init__(self) -> None:
        if self.probe not in PROBES:
            raise WordbiasError(f"probe {self.probe!r}: expected one of {', '.join(PROBES)}")
        if self.epochs < 1 or self.batch < 1:
            raise WordbiasError(
                f"{self.epochs} epochs in batches of {self.batch}: expected at least 1 of each"
            )
        if not 0 < self.rate <= 1:
            raise WordbiasError(f"rate {self.rate}: expected a number above 0 and at most 1")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary."""
        return asdict(self)


@dataclass(frozen=True)
class Schedule:
    """Training, dev and test examples of each of `B` probes, as places in an order of the examples.

    Attributes
    ----------
    train
        Number of training examples of each probe, from the beginning of the order.
    dev, test
        Beginning and end of the dev and of the test examples of each probe.
    """

    train: tuple[int, ...]
    dev: tuple[Stretch, ...]
    test: tuple[Stretch, ...]


@dataclass(frozen=True, eq=False)
class Job:
    """The probes of one layer, one order of the examples and one schedule.

    Attributes
    ----------
    layer
        Place of the layer among the vectors.
    labels
        Codes 0 to K - 1, shape ``(n,)``.
    order
        Order of the examples, shape ``(n,)``; those of an external dev set come last.
    schedule
        Training, dev and test examples of each probe.
    seed
        Seed of the probes' initial weights.
    """

    layer: int
    labels: Integers
    order: Integers
    schedule: Schedule
    seed: int


@dataclass(frozen=True)
class Result:
    """Result of one probe on its test examples.

    Attributes
    ----------
    loss
        Cross-entropy, summed, in nats.
    right, n
        Number of correct predictions, and of test examples.
    epochs
        Number of epochs of training.
    best
        Epoch whose weights were tested.
    """

    loss: float
    right: int
    n: int
    epochs: int
    best: int

    @property
    def accuracy(self) -> float:
        """Share of correct predictions."""
        return self.right / self.n


def make_jobs(
    examples: Examples,
    seeds: Sequence[int],
    plans: Sequence[tuple[Integers, Schedule]],
    *,
    types: Integers | None = None,
    control: bool = True,
) -> list[Job]:
    """Return the jobs of all layers and seeds: layer by layer, in each seed by seed.

    Parameters
    ----------
    examples
        Vectors and labels.
    seeds
        Seeds of initial weights and control labels, which all layers share.
    plans
        Order and schedule of each seed.
    types
        Code of each example's type; see `wordbias.probes.inputs.control_labels`.
    control
        Follow each job by one of the control task.
    """
    labels = [[examples.labels] * len(seeds)]
    if control:
        labels.append([control_labels(examples.labels, types, seed) for seed in seeds])
    return [
        Job(layer, which[i], order, schedule, seed)
        for layer in range(len(examples.layers))
        for i, (seed, (order, schedule)) in enumerate(zip(seeds, plans, strict=True))
        for which in labels
    ]
