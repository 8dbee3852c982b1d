"""MDL online codes: the number of bits that send the labels to a receiver who has the vectors.

The codelength in bits, as Voita and Titov (2020, eq. 3) define it:

    L_online = t1 · log2 K + Σ_i -log2 p_{probe of the blocks up to i}(block i + 1)

The code published with it, and with Orgad et al. (2022), adds the cross-entropies in nats to the
first block in bits: the compression of a probe that knows nothing is then 1.43 (at t1 = 2 %)
instead of 1. Bits are the default; the published figure is given beside them.

A probe soon learns how frequent the classes are, whatever the vectors say. What the shares of the
classes alone compress is therefore the neutral value (`share_compression`): 1 if they are equal.

The file is long because the order of the examples, the blocks, the code in both units and its rows
are read together: each change of one of them changes the number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import aligned
from wordbias.errors import WordbiasError
from wordbias.labelled import Labelled
from wordbias.measures.registry import ideal
from wordbias.probes.train import (
    DEV_SHARE,
    Recipe,
    Result,
    Schedule,
    Stretch,
    make_jobs,
    train_jobs,
)
from wordbias.results import Row
from wordbias.statistics import majority_share
from wordbias.workers import Workers

Integers = NDArray[np.intp]

TASK, CONTROL = "labels", "control"
COMPRESSION, PUBLISHED = "compression", "compression-as-published"
CODELENGTH, UNIFORM = "codelength", "uniform-codelength"
ACCURACY, SELECTIVITY = "probe-accuracy", "selectivity"

FRACTIONS: dict[str, tuple[float, ...]] = {
    "published": (0.02, 0.03, 0.044, 0.065, 0.095, 0.14, 0.21, 0.31, 0.457, 0.676, 1.0),
    "voita": (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0),
}
"""Ends of blocks: Orgad et al. (2022), whose ratio is about 1.475, and Voita and Titov (2020)."""
LEAST = 1e-6
"""Smallest share of the examples that a block may have."""
LN2 = math.log(2)


@dataclass(frozen=True)
class OnlineCode:
    """Online code of the labels of `n` examples, sent block by block."""

    classes: int
    first: int  # examples of the first block, t1
    # result of each probe on the block that follows its training examples
    blocks: tuple[Result, ...]
    layer: int = 0
    seed: int = 0

    @property
    def n(self) -> int:
        """Number of examples that are sent."""
        return self.first + sum(block.n for block in self.blocks)

    @property
    def nats(self) -> float:
        """Cross-entropy of all blocks but the first, summed."""
        return sum(block.loss for block in self.blocks)

    @property
    def uniform(self) -> float:
        """Bits of a code without a model."""
        return uniform_codelength(self.n, self.classes)

    @property
    def codelength(self) -> float:
        """Bits of the online code."""
        return online_codelength(self.first, self.classes, self.nats)

    @property
    def compression(self) -> float:
        """Uniform by online codelength, both in bits; neutral is that of `share_compression`."""
        return self.uniform / self.codelength

    @property
    def compression_as_published(self) -> float:
        """Uniform codelength in bits by the sum of bits and nats."""
        return self.uniform / published_codelength(self.first, self.classes, self.nats)

    @property
    def accuracy(self) -> float:
        """Accuracy on the last block of the probe that was trained on all other blocks."""
        return self.blocks[-1].accuracy

    def bits(self) -> NDArray[np.float64]:
        """Return the bits of each block, the first too, shape ``(B + 1,)``."""
        first = self.first * math.log2(self.classes)
        return np.array([first, *(block.loss / LN2 for block in self.blocks)])

    def ends(self) -> NDArray[np.intp]:
        """Return where the blocks end, shape ``(B + 1,)``."""
        return np.cumsum([self.first, *(block.n for block in self.blocks)])


@dataclass(frozen=True)
class Coded:
    """Online code of the labels, and of a control task if there was one."""

    code: OnlineCode
    control: OnlineCode | None = None

    @property
    def selectivity(self) -> float | None:
        """Accuracy on the labels minus accuracy on the control task (Hewitt and Liang 2019)."""
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
    """Code labels online, given vectors (Voita and Titov 2020; Orgad et al. 2022)."""
    # The examples are sent in a random order, block by block; each block under a new probe that was
    # trained on the blocks before. Groups are sent one after another, and no group is split between
    # training and test. As in the released code an external dev set may be given, which is not
    # sent. By default the last tenth of the examples already sent is the dev set, because a
    # receiver does not have anything else.
    examples = Labelled.of(np.asarray(x), y)
    if len(examples.layers) != 1:
        raise WordbiasError(f"x: expected shape (n, d), found {examples.vectors.shape}")
    (coded,) = online_codes(
        examples,
        seeds=[seed],
        fractions=fractions,
        recipe=recipe,
        groups=None if groups is None else np.unique(groups, return_inverse=True)[1],
        dev=None if dev is None else np.asarray(dev, np.intp),
        control=False,
        device=device,
    )
    return coded.code


def online_codes(
    examples: Labelled,
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
    """Code the labels of several layers under several seeds, all probes trained together."""
    # Layers share the order and the initial weights of a seed. The codes are layer by layer, in
    # each seed by seed.
    sent = _sent_examples(examples, dev)
    shares = _shares(fractions)
    plans = [_ordered(sent, seed, shares, groups, dev) for seed in seeds]
    jobs = make_jobs(examples, seeds, plans, types=types, control=control)
    k, recipe = len(examples.label.classes), recipe or Recipe()
    tested = train_jobs(examples.vectors, jobs, k, recipe, device=device, name=examples.name)
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


def _sent_examples(examples: Labelled, dev: Integers | None) -> Integers:
    """Return the examples outside of dev; refuse a dev set that is none or leaves one class."""
    n = len(examples)
    if dev is None:
        return np.arange(n)
    if not len(dev) or len(np.unique(dev)) < len(dev) or dev.min() < 0 or dev.max() >= n:
        raise WordbiasError(
            f"the dev set: expected some of {n:,} examples, each once; found {len(dev):,} places"
        )
    sent = np.setdiff1d(np.arange(n), dev)
    classes = np.unique(examples.label.codes[sent])
    if len(classes) == 1:
        raise WordbiasError(
            f"{examples.name}: outside of the dev set all labels are "
            f"{examples.label.classes[classes[0]]!r}; name another dev set"
        )
    return sent


def _ordered(
    examples: Integers,
    seed: int,
    fractions: Sequence[float],
    groups: Integers | None,
    dev: Integers | None,
) -> tuple[Integers, Schedule]:
    """Return an order of the examples, those of dev behind the others, and its schedule."""
    rng = np.random.default_rng(seed)
    sent = rng.permutation(examples)
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


def online_codes_in_processes(
    examples: Labelled, workers: Workers, *, seeds: Sequence[int] = (0,), **settings: Any
) -> list[Coded]:
    """Return what `online_codes` does, computed in several processes or on a cluster."""
    # The codes are the same bit by bit wherever they are computed, and equal to those of one
    # process but for the last bits of float32, as probes share matrix products there.
    if workers.in_process:
        return online_codes(examples, seeds=seeds, **settings)
    code = partial(_code, **settings)
    jobs = [(place, seed) for place in range(len(examples.layers)) for seed in seeds]
    by_job = workers.results(
        code, jobs, examples.name, shared=(replace(examples, columns={}),), unit="code"
    )
    return [coded for codes in by_job for coded in codes]


def _code(examples: Labelled, job: tuple[int, int], **settings: Any) -> list[Coded]:
    """Code one layer under one seed."""
    place, seed = job
    part = slice(place, place + 1)
    of_layer = examples.with_vectors(aligned(examples.vectors[part]), examples.layers[part])
    return online_codes(of_layer, seeds=[seed], **settings)


# blocks


def check_fractions(fractions: Sequence[float]) -> tuple[float, ...]:
    """Return fractions, at least two, that rise from above 0 to 1."""
    shares = tuple(float(fraction) for fraction in fractions)
    rising = all(b - a >= LEAST for a, b in pairwise((0.0, *shares)))
    if len(shares) < 2 or not rising or shares[-1] != 1:
        raise WordbiasError(
            f"fractions {', '.join(f'{x:g}' for x in shares) or '(none)'}: expected at least two, "
            f"rising from above 0 to 1, by {LEAST:f} or more"
        )
    return shares


def block_ends(n: int, fractions: Sequence[float]) -> tuple[int, ...]:
    """Return where blocks end among `n` examples: ``int(fraction * n)``, as published."""
    # A block would be empty, or the first too short for a dev example besides one for training.
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
    """Return the smallest number of examples from which on no block is empty."""
    n = int(2 / fractions[0])  # with fewer, the first block is too short
    while not _usable(_ends(n, fractions)):
        n += 1
    return n


def _ends(n: int, fractions: Sequence[float]) -> tuple[int, ...]:
    # 0.457 * 1000 is 456.99…: a product that is whole up to rounding is meant to be whole
    return tuple(int(fraction * n + 1e-9) for fraction in fractions)


def _usable(ends: Sequence[int]) -> bool:
    return ends[0] >= 2 and all(a < b for a, b in pairwise(ends))


def nested(ends: Sequence[int], dev: Stretch | None = None) -> Schedule:
    """Return a schedule in which each probe is trained on the first blocks, tested on the next."""
    # Without an external dev set, the default because only then is the number a code that a
    # receiver can decode, the last tenth of the examples already sent is the dev set.
    sent = ends[:-1]
    dev_sizes = [0 if dev else max(1, end // DEV_SHARE) for end in sent]
    train = tuple(end - k for end, k in zip(sent, dev_sizes, strict=True))
    own = tuple(zip(train, sent, strict=True))
    return Schedule(train, tuple(dev for _ in sent) if dev else own, tuple(pairwise(ends)))


def grouped(ends: Sequence[int], sizes: Sequence[int], dev: Stretch | None = None) -> Schedule:
    """Move the ends of blocks to ends of groups: no group is ever split."""
    # There are fewer blocks where several would end in the same group. Without an external dev set
    # the last groups that hold a tenth of the part already sent are the dev set; where a block is a
    # single group there is no other choice than its last tenth.
    stops = np.cumsum(sizes)
    if len(stops) < 2:
        raise WordbiasError(
            f"{len(stops)} group of examples: expected two at least, as none is ever split"
        )
    moved = [int(stops[np.searchsorted(stops, end)]) for end in ends]
    inner_ends = [end for end in dict.fromkeys(moved) if end < stops[-1]] or [int(stops[-2])]
    plain = nested([*inner_ends, int(stops[-1])], dev)
    if dev:
        return plain
    train = tuple(_whole(stops, end, t) for end, t in zip(inner_ends, plain.train, strict=True))
    return Schedule(train, tuple(zip(train, inner_ends, strict=True)), plain.test)


def _whole(stops: Integers, end: int, train: int) -> int:
    """Return the end of the last group before `end` that leaves at least the dev share."""
    earlier = stops[stops <= train]
    inside = stops[stops < end]
    if len(earlier):
        return int(earlier[-1])
    return int(inside[0]) if len(inside) else train


# codelengths


def uniform_codelength(n: int, k: int) -> float:
    """Return the bits of `n` labels of `k` classes without a model."""
    return n * math.log2(k)


def online_codelength(t1: int, k: int, nats: float) -> float:
    """Return the bits of the online code of a first block and cross-entropies in nats."""
    return t1 * math.log2(k) + nats / LN2


def published_codelength(t1: int, k: int, nats: float) -> float:
    """Return the online codelength of the published code: bits plus nats."""
    return t1 * math.log2(k) + nats


def share_compression(labels: NDArray[Any], first: float) -> float:
    """Return the compression, in bits, of a code that knows the share of each class alone.

    It is ``log2 K / H`` but for the first block, which is sent without a model: 1 if the classes
    are equally frequent, and nearly 2 for two classes of which one has 11 %.
    """
    counts = np.unique(labels, return_counts=True)[1]
    if len(counts) < 2:
        return 1.0
    shares = counts / counts.sum()
    relative = -float(shares @ np.log2(shares)) / math.log2(len(counts))
    return 1 / (1 - (1 - first) * (1 - min(relative, 1.0)))


def to_published(bits: float, f1: float) -> float:
    """Convert a compression of bits into one as published, which adds nats to bits."""
    return 1 / (f1 + (1 / bits - f1) * LN2)


# Rows: the mean over seeds and its spread


def code_rows(examples: Labelled, coded: Sequence[Coded], *, one_layer: bool = False) -> list[Row]:
    """Return the rows of online codes, layer by layer."""
    rows: list[Row] = []
    for layer in dict.fromkeys(coding.code.layer for coding in coded):
        chosen = [coding for coding in coded if coding.code.layer == layer]
        about = {} if one_layer else {"layer": layer}
        rows += _coded(examples, TASK, [coding.code for coding in chosen], about)
        controls = [coding.control for coding in chosen if coding.control is not None]
        if controls:
            rows += _coded(examples, CONTROL, controls, about)
            gained = [coding.selectivity or 0.0 for coding in chosen]
            seeds = [coding.code.seed for coding in chosen]
            rows.append(selectivity_row(examples, gained, seeds, controls[0].blocks[-1].n, about))
    return rows


def _coded(
    examples: Labelled, which: str, codes: Sequence[OnlineCode], about: dict[str, Any]
) -> Iterator[Row]:
    first, n = codes[0], codes[0].n
    share = float(np.mean([code.first / code.n for code in codes]))
    neutral = share_compression(examples.label.codes, share)
    most = majority_share(examples.label.codes)
    settings: list[tuple[str, Callable[[OnlineCode], float], dict[str, Any]]] = [
        (COMPRESSION, lambda code: code.compression, ideal(COMPRESSION, neutral)),
        (
            PUBLISHED,
            lambda code: code.compression_as_published,
            {**ideal(PUBLISHED, to_published(neutral, share)), "first_share": share},
        ),
        (
            CODELENGTH,
            lambda code: code.codelength,
            {
                "scale": "bits",
                **ideal(CODELENGTH, first.uniform / neutral),
                "block_ends": [code.ends().tolist() for code in codes],
                "block_bits": [code.bits().tolist() for code in codes],
            },
        ),
        (UNIFORM, lambda code: code.uniform, {"scale": "bits", **ideal(UNIFORM)}),
        (ACCURACY, lambda code: code.accuracy, {"n": first.blocks[-1].n, **ideal(ACCURACY, most)}),
    ]
    seeds = [code.seed for code in codes]
    k = len(examples.label.classes)
    shared = {**about, "set": which, "seeds": seeds, "n": n, "classes": k}
    for measure, value, own in settings:
        yield spread_row(examples, measure, [value(code) for code in codes], {**shared, **own})


def selectivity_row(
    examples: Labelled, values: Sequence[float], seeds: Sequence[int], n: int, about: dict[str, Any]
) -> Row:
    """Return a row of the mean selectivity, of `n` test examples each."""
    details = {**about, "seeds": seeds, "n": n, **ideal(SELECTIVITY)}
    return spread_row(examples, SELECTIVITY, values, details)


def spread_row(
    examples: Labelled, measure: str, values: Sequence[float], details: dict[str, Any]
) -> Row:
    """Return a row of the mean; `sd` has ddof 1, and is undefined for a single seed."""
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    spread = {"sd": sd, "min": min(values), "max": max(values), "values": list(values)}
    return Row(examples.name, measure, float(np.mean(values)), {**details, **spread})
