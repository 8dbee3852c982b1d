"""The jobs of a call: every layer under every seed, with the labels and with a control task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordbias.probes.control import control_labels
from wordbias.probes.examples import Examples
from wordbias.probes.schedule import Job, Schedule

Integers = NDArray[np.intp]


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
        See `wordbias.probes.control.control_labels`.
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
