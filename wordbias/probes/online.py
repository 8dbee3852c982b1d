"""MDL online codes: how few bits send the labels to someone who has the vectors.

Online codes of every layer under every seed, each a job of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import aligned
from wordbias.errors import WordbiasError
from wordbias.probes.codelength import OnlineCode
from wordbias.probes.inputs import Examples
from wordbias.probes.schedule import (
    FRACTIONS,
    Recipe,
    Schedule,
    Stretch,
    block_ends,
    grouped,
    make_jobs,
    nested,
)
from wordbias.probes.train import train_jobs
from wordbias.workers import Workers

Integers = NDArray[np.intp]


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


def codes_apart(
    examples: Examples, workers: Workers, *, seeds: Sequence[int] = (0,), **settings: Any
) -> list[Coded]:
    """Return what `wordbias.probes.online.online_codes` does, and do it where `workers` says.

    Parameters
    ----------
    settings
        Those of `online_codes`. The codes are the same bit by bit wherever the jobs are done; and
        but for the last bits of float32 those that one process computes, where probes share matrix
        products.
    """
    if workers.in_process:
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
