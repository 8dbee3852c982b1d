"""Online codes of every layer under every seed, each a job of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from wordbias.arrays import aligned
from wordbias.probes.examples import Examples
from wordbias.probes.online import Coded, online_codes
from wordbias.workers import Workers


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
