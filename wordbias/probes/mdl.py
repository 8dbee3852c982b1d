"""MDL online codes: how few bits send the labels to someone who has the vectors.

In bits, as Voita and Titov (2020, eq. 3) define it:

    L_online = t1 · log2 K + Σ_i -log2 p_{probe of the blocks up to i}(block i + 1)

The code published with it, and with Orgad et al. (2022), adds the cross-entropies in nats to the
first block in bits: a probe that knows nothing then reads 1.43 (at t1 = 2 %) instead of 1. Bits
are the default; the published figure stands beside them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import aligned
from wordbias.errors import WordbiasError
from wordbias.probes.inputs import Examples
from wordbias.probes.jobs import DEV_SHARE, Recipe, Result, Schedule, Stretch, make_jobs
from wordbias.probes.train import train_jobs
from wordbias.workers import Workers

Integers = NDArray[np.intp]

FRACTIONS: dict[str, tuple[float, ...]] = {
    "published": (0.02, 0.03, 0.044, 0.065, 0.095, 0.14, 0.21, 0.31, 0.457, 0.676, 1.0),
    "voita": (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0),
}
"""Where blocks end: Orgad et al. (2022), whose ratio is about 1.475, and Voita and Titov (2020)."""
LEAST = 1e-6
"""The least share of the examples that a block may have."""

LN2 = math.log(2)


@dataclass(frozen=True)
class OnlineCode:
    """Labels of `n` examples, sent block by block.

    Attributes
    ----------
    classes
        How many classes the labels have.
    first
        Examples of the first block, t1.
    blocks
        How each probe did on the block behind those that it learned from.
    layer, seed
        Of the representations, and of the order and the first weights.
    """

    classes: int
    first: int
    blocks: tuple[Result, ...]
    layer: int = 0
    seed: int = 0

    @property
    def n(self) -> int:
        """Examples sent."""
        return self.first + sum(block.n for block in self.blocks)

    @property
    def nats(self) -> float:
        """Cross-entropy of all blocks but the first, summed."""
        return sum(block.loss for block in self.blocks)

    @property
    def uniform(self) -> float:
        """Bits without a model."""
        return uniform_codelength(self.n, self.classes)

    @property
    def codelength(self) -> float:
        """Bits of the online code."""
        return online_codelength(self.first, self.classes, self.nats)

    @property
    def compression(self) -> float:
        """Uniform by online codelength, both in bits; 1 says that nothing can be read off."""
        return self.uniform / self.codelength

    @property
    def compression_as_published(self) -> float:
        """Uniform codelength in bits by the sum of bits and nats."""
        return self.uniform / published_codelength(self.first, self.classes, self.nats)

    @property
    def accuracy(self) -> float:
        """Accuracy on the last block of the probe that learned from all before."""
        return self.blocks[-1].accuracy

    def bits(self) -> NDArray[np.float64]:
        """Return the bits that each block took, the first too, shape ``(B + 1,)``."""
        first = self.first * math.log2(self.classes)
        return np.array([first, *(block.loss / LN2 for block in self.blocks)])

    def ends(self) -> NDArray[np.intp]:
        """Return where the blocks end, shape ``(B + 1,)``."""
        return np.cumsum([self.first, *(block.n for block in self.blocks)])


@dataclass(frozen=True)
class Coded:
    """The code of the labels, and that of a control task if there was one."""

    code: OnlineCode
    control: OnlineCode | None = None

    @property
    def selectivity(self) -> float | None:
        """Accuracy on the labels less that on the control task (Hewitt and Liang 2019)."""
        return None if self.control is None else self.code.accuracy - self.control.accuracy


def online_code(
    x: ArrayLike,
    y: ArrayLike,
    *,
    seed: int = 0,
    fractions: str | Sequence[float] = "published",
    recipe: Recipe | None = None,
    groups: ArrayLike | None = None,
    dev: ArrayLike | None = None,
    device: str | None = None,
) -> OnlineCode:
    """Code labels online, given vectors (Voita and Titov 2020; Orgad et al. 2022).

    The examples are sent in a random order, block by block; each block under a fresh probe that
    has learned from the blocks before.

    Parameters
    ----------
    x
        Vectors, shape ``(n, d)``; stays as it is.
    y
        Labels, shape ``(n,)``; the number of classes is that of the different ones.
    seed
        Of the order and the probes' first weights.
    fractions
        Where the blocks end: a name in `FRACTIONS`, or shares that rise to 1.
    recipe
        The probe and its training, as published by default.
    groups
        A group for each example, such as its profession. Groups then arrive one after another,
        in a random order, and no group is split between learning and testing.
    dev
        Places in `x` of examples that every probe is watched on, as in the released code; they
        are not sent. By default the last tenth of what was already sent serves, because a
        receiver does not have anything else.
    device
        Of an MLP probe.

    Raises
    ------
    WordbiasError
        If vectors and labels do not fit, there are fewer than two classes, or fewer examples than
        the blocks need.

    References
    ----------
    Voita and Titov, Information-Theoretic Probing with Minimum Description Length, 2020.
    """
    examples = Examples.of(np.asarray(x), y)
    if len(examples.layers) != 1:
        raise WordbiasError(f"x: expected shape (n, d), found {examples.vectors.shape}")
    (found,) = online_codes(
        examples,
        seeds=[seed],
        fractions=fractions,
        recipe=recipe,
        groups=None if groups is None else np.unique(groups, return_inverse=True)[1],
        dev=None if dev is None else np.asarray(dev, np.intp),
        control=False,
        device=device,
    )
    return found.code


def online_codes(
    examples: Examples,
    *,
    seeds: Sequence[int] = (0,),
    fractions: str | Sequence[float] = "published",
    recipe: Recipe | None = None,
    groups: Integers | None = None,
    dev: Integers | None = None,
    types: Integers | None = None,
    control: bool = True,
    device: str | None = None,
) -> list[Coded]:
    """Code the labels of several layers under several seeds, all probes trained together.

    Parameters
    ----------
    examples
        Vectors and labels.
    seeds
        Each has an order and first weights of its own, which all layers share.
    groups, types
        A code for each example, shape ``(n,)``; see `online_code` and
        `wordbias.probes.inputs.control_labels`.
    control
        Whether to code a control task too.

    Returns
    -------
    list of Coded
        Layer by layer, in each seed by seed.
    """
    recipe = recipe or Recipe()
    _check_classes(examples, dev)
    plan = [_arranged(examples, seed, _shares(fractions), groups, dev) for seed in seeds]
    jobs = make_jobs(examples, seeds, plan, types=types, control=control)
    k = len(examples.classes)
    tested = train_jobs(examples.vectors, jobs, k, recipe, device=device, what=examples.name)
    codes = [
        OnlineCode(k, job.schedule.test[0][0], tuple(row), examples.layers[job.layer], job.seed)
        for job, row in zip(jobs, tested, strict=True)
    ]
    if not control:
        return [Coded(code) for code in codes]
    return [Coded(*pair) for pair in zip(codes[::2], codes[1::2], strict=True)]


def _shares(fractions: str | Sequence[float]) -> Sequence[float]:
    if not isinstance(fractions, str):
        return fractions
    if fractions not in FRACTIONS:
        raise WordbiasError(f"fractions {fractions!r}: expected {', '.join(FRACTIONS)} or shares")
    return FRACTIONS[fractions]


def _arranged(
    examples: Examples,
    seed: int,
    fractions: Sequence[float],
    groups: Integers | None,
    dev: Integers | None,
) -> tuple[Integers, Schedule]:
    """Return an order of the examples, those of dev behind the others, and its schedule."""
    rng = np.random.default_rng(seed)
    sent = rng.permutation(_sent(len(examples), dev))
    stretch: Stretch | None = None if dev is None else (len(sent), len(sent) + len(dev))
    behind = np.array([], np.intp) if dev is None else dev
    ends = block_ends(len(sent), fractions)
    if groups is None:
        return np.concatenate([sent, behind]), nested(ends, stretch)
    numbers, sizes = np.unique(groups[sent], return_counts=True)
    arrival = rng.permutation(len(numbers))
    rank = np.argsort(arrival)  # the inverse of a permutation
    place = np.searchsorted(numbers, groups[sent])
    sent = sent[np.argsort(rank[place], kind="stable")]
    return np.concatenate([sent, behind]), grouped(ends, sizes[arrival].tolist(), stretch)


def _check_classes(examples: Examples, dev: Integers | None) -> None:
    sent = np.unique(examples.labels[_sent(len(examples), dev)])
    if len(sent) == 1:
        raise WordbiasError(
            f"{examples.name}: outside of the dev set all labels are "
            f"{examples.classes[sent[0]]!r}; name another dev set"
        )


def _sent(n: int, dev: Integers | None) -> Integers:
    """Return the examples that are sent: those outside of dev."""
    if dev is None:
        return np.arange(n)
    if not len(dev) or len(np.unique(dev)) < len(dev) or dev.min() < 0 or dev.max() >= n:
        raise WordbiasError(
            f"the dev set: expected some of {n:,} examples, each once; found {len(dev):,} places"
        )
    return np.setdiff1d(np.arange(n), dev)


def online_codes_in_processes(
    examples: Examples, workers: Workers, *, seeds: Sequence[int] = (0,), **settings: Any
) -> list[Coded]:
    """Return what `wordbias.probes.mdl.online_codes` does, and do it where `workers` says.

    Parameters
    ----------
    settings
        Those of `online_codes`. The codes are the same bit by bit wherever the jobs are done; and
        but for the last bits of float32 those that one process computes, where probes share matrix
        products.
    """
    if workers.here:
        return online_codes(examples, seeds=seeds, **settings)
    code = partial(_code, **settings)
    jobs = [(place, seed) for place in range(len(examples.layers)) for seed in seeds]
    found = workers.results(code, jobs, examples.name, shared=(examples,), unit="code")
    return [coded for codes in found for coded in codes]


def _code(examples: Examples, job: tuple[int, int], **settings: Any) -> list[Coded]:
    place, seed = job
    vectors = aligned(examples.vectors[place : place + 1])
    one = replace(
        examples,
        vectors=vectors,
        layers=examples.layers[place : place + 1],
    )
    return online_codes(one, seeds=[seed], **settings)


# blocks


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


# codelengths


def uniform_codelength(n: int, k: int) -> float:
    """Return the bits that `n` labels of `k` classes take without a model."""
    return n * math.log2(k)


def online_codelength(t1: int, k: int, nats: float) -> float:
    """Return the bits of the online code.

    Parameters
    ----------
    t1
        Examples of the first block, sent without a model.
    k
        How many classes there are.
    nats
        Cross-entropy of all other blocks, summed.
    """
    return t1 * math.log2(k) + nats / LN2


def published_codelength(t1: int, k: int, nats: float) -> float:
    """Return what the published code calls the online codelength: bits plus nats."""
    return t1 * math.log2(k) + nats


def to_bits(published: float, f1: float) -> float:
    """Convert a compression as published into one of bits.

    Parameters
    ----------
    published
        Uniform codelength in bits by a codelength that adds nats to bits.
    f1
        Share of the first block, as it is in the data: t1 / n.
    """
    return 1 / (f1 + (1 / published - f1) / LN2)


def to_published(bits: float, f1: float) -> float:
    """Undo `to_bits`."""
    return 1 / (f1 + (1 / bits - f1) * LN2)
