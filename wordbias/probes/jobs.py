"""Which examples each block's probe learns from, is watched on and is tested on.

A schedule speaks of places in an order of the examples; a job's order says which example stands
where.

How a probe is trained, and how it did.

The jobs of a call: every layer under every seed, with the labels and with a control task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.probes.inputs import Examples, control_labels

DEV_SHARE = 10
"""One in so many of the examples already sent is kept to watch the training on."""
Stretch = tuple[int, int]
Integers = NDArray[np.intp]


@dataclass(frozen=True)
class Schedule:
    """What each of `B` probes does with an order of the examples.

    Attributes
    ----------
    train
        Each learns from the first so many.
    dev, test
        From where to where each is watched, and tested.
    """

    train: tuple[int, ...]
    dev: tuple[Stretch, ...]
    test: tuple[Stretch, ...]


@dataclass(frozen=True, eq=False)
class Job:
    """One order of the examples of one layer, to be coded by one schedule.

    Attributes
    ----------
    layer
        Place of the layer among the vectors.
    labels
        Codes 0 to K - 1, shape ``(n,)``.
    order
        Examples as they are sent, shape ``(n,)``, and behind them those of an external dev set.
    schedule
        What the probes do with them.
    seed
        Of the probes' first weights.
    """

    layer: int
    labels: Integers
    order: Integers
    schedule: Schedule
    seed: int


PROBES = ("linear", "mlp")


@dataclass(frozen=True)
class Recipe:
    """How a probe is trained; the defaults are those of Orgad et al. (2022).

    Attributes
    ----------
    probe
        ``linear``, or ``mlp``: half as many hidden units as dimensions, tanh.
    epochs
        At most.
    batch
        Examples in a batch; the batches keep their order in every epoch. The loss of a batch is
        the sum of those of its examples.
    rate, decay
        Of AdamW; its other settings are torch's defaults.
    patience, tolerance
        A training ends when its loss on dev, summed, in nats, has not fallen by `tolerance` in
        more than `patience` epochs.
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
class Result:
    """How one probe did on the examples it was tested on.

    Attributes
    ----------
    loss
        Their cross-entropy, summed, in nats.
    right, n
        How many it named rightly, of how many.
    epochs
        Epochs it was trained.
    best
        The epoch whose weights were tested.
    """

    loss: float
    right: int
    n: int
    epochs: int
    best: int

    @property
    def accuracy(self) -> float:
        """Share of the examples that it named rightly."""
        return self.right / self.n


def make_jobs(
    examples: Examples,
    seeds: Sequence[int],
    plans: Sequence[tuple[Integers, Schedule]],
    *,
    types: Integers | None = None,
    control: bool = True,
) -> list[Job]:
    """Plan the jobs layer by layer, in each seed by seed.

    Parameters
    ----------
    examples
        Vectors and labels.
    seeds
        Of first weights and control labels, which all layers share.
    plans
        The order and the schedule of each seed.
    types
        See `wordbias.probes.inputs.control_labels`.
    control
        Whether behind each job stands one of the control task.
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
