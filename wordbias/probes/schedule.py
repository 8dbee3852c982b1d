"""Which examples each block's probe learns from, is watched on and is tested on.

A schedule speaks of places in an order of the examples; a job's order says which example stands
where.

How a probe is trained, and how it did.

The jobs of a call: every layer under every seed, with the labels and with a control task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.probes.inputs import Examples, control_labels

FRACTIONS: dict[str, tuple[float, ...]] = {
    "published": (0.02, 0.03, 0.044, 0.065, 0.095, 0.14, 0.21, 0.31, 0.457, 0.676, 1.0),
    "voita": (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0),
}
"""Where blocks end: Orgad et al. (2022), whose ratio is about 1.475, and Voita and Titov (2020)."""
DEV_SHARE = 10
"""One in so many of the examples already sent is kept to watch the training on."""
LEAST = 1e-6
"""The least share of the examples that a block may have."""

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


def check_fractions(fractions: Sequence[float]) -> tuple[float, ...]:
    """Return fractions that rise from above 0 to 1, or refuse them."""
    found = tuple(float(fraction) for fraction in fractions)
    rising = all(b - a >= LEAST for a, b in pairwise((0.0, *found)))
    if len(found) < 2 or not rising or found[-1] != 1:
        raise WordbiasError(
            f"fractions {', '.join(f'{x:g}' for x in found) or '(none)'}: expected at least two, "
            f"rising from above 0 to 1, by {LEAST:f} or more"
        )
    return found


def block_ends(n: int, fractions: Sequence[float]) -> tuple[int, ...]:
    """Return where blocks end among `n` examples: ``int(fraction * n)``, as published.

    Raises
    ------
    WordbiasError
        If a block would be empty, or the first too short to hold a dev example besides one to
        learn from; the message says how many examples the fractions need.
    """
    fractions = check_fractions(fractions)
    ends = _ends(n, fractions)
    if not _usable(ends):
        raise WordbiasError(
            f"{n:,} examples are too few for {len(fractions)} blocks that end at "
            f"{', '.join(f'{100 * f:g}' for f in fractions)} %: they need {needed(fractions):,}; "
            "give more, or --fractions with fewer or larger blocks"
        )
    return ends


def needed(fractions: Sequence[float]) -> int:
    """Return the fewest examples from which on no block is empty."""
    n = int(2 / fractions[0])  # with fewer, the first block is too short
    while not _usable(_ends(n, fractions)):
        n += 1
    return n


def _ends(n: int, fractions: Sequence[float]) -> tuple[int, ...]:
    # 0.457 * 1000 is 456.99…: what is whole up to rounding is meant to be whole
    return tuple(int(fraction * n + 1e-9) for fraction in fractions)


def _usable(ends: Sequence[int]) -> bool:
    return ends[0] >= 2 and all(a < b for a, b in pairwise(ends))


def nested(ends: Sequence[int], dev: Stretch | None = None) -> Schedule:
    """Let each probe learn from all blocks up to one and be tested on the next.

    Parameters
    ----------
    ends
        Where the blocks end.
    dev
        Where the external dev set stands. Without one, which is the default because only then is
        the number a code that a receiver can decode, each probe is watched on the last tenth of
        what was already sent and learns from the rest.
    """
    sent = ends[:-1]
    kept = [0 if dev else max(1, end // DEV_SHARE) for end in sent]
    train = tuple(end - k for end, k in zip(sent, kept, strict=True))
    own = tuple(zip(train, sent, strict=True))
    return Schedule(train, tuple(dev for _ in sent) if dev else own, tuple(pairwise(ends)))


def grouped(ends: Sequence[int], sizes: Sequence[int], dev: Stretch | None = None) -> Schedule:
    """Move the ends of blocks to ends of groups, so that no group is ever split.

    Parameters
    ----------
    ends
        Where the blocks would end.
    sizes
        Examples of each group, in the order in which the groups arrive.
    dev
        Where the external dev set stands. Without one the groups that end the part already sent,
        as many as hold a tenth of it, are watched; where a block is a single group there is no
        other choice than to watch its last tenth.

    Returns
    -------
    Schedule
        With fewer blocks than `ends` where several would end in the same group.

    Raises
    ------
    WordbiasError
        If there are fewer than two groups.
    """
    stops = np.cumsum(sizes)
    if len(stops) < 2:
        raise WordbiasError(
            f"{len(stops)} group of examples: expected two at least, as none is ever split"
        )
    moved = [int(stops[np.searchsorted(stops, end)]) for end in ends]
    kept = [end for end in dict.fromkeys(moved) if end < stops[-1]] or [int(stops[-2])]
    plain = nested([*kept, int(stops[-1])], dev)
    if dev:
        return plain
    train = tuple(_whole(stops, end, t) for end, t in zip(kept, plain.train, strict=True))
    return Schedule(train, tuple(zip(train, kept, strict=True)), plain.test)


def _whole(stops: Integers, end: int, train: int) -> int:
    """Return the end of the last group before `end` that leaves at least the dev share."""
    earlier = stops[stops <= train]
    inside = stops[stops < end]
    if len(earlier):
        return int(earlier[-1])
    return int(inside[0]) if len(inside) else train


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
