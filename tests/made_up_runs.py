"""Rows of the experiment as its jobs give them, with values that a test decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wordbias.results import Row
from wordbias.retraining.results import ACCURATE, GAPS, Metric

PUBLISHED = {  # Orgad et al. (2022), Tables 3 and 4: accuracy, then the gaps; means over ten seeds
    "before": {
        "none": (0.861, 0.763, 2.391, 0.591, 0.075, -0.880, 3.621, 0.009, 0.327, 9.451),
        "oversample": (0.852, 0.729, 2.145, 0.491, 0.085, -0.855, 3.401, 0.008, 0.305, 8.324),
        "subsample": (0.861, 0.319, 1.598, 0.087, 0.030, -0.299, 1.549, 0.001, 0.204, 1.218),
        "scrub": (0.851, 0.704, 2.019, 0.552, 0.057, -0.815, 2.590, 0.005, 0.296, 4.930),
    },
    "after": {
        "none": (0.859, 0.777, 2.482, 0.596, 0.073, -0.877, 3.710, 0.009, 0.334, 9.701),
        "oversample": (0.856, 0.813, 2.593, 0.603, 0.068, -0.891, 3.996, 0.010, 0.328, 10.908),
        "subsample": (0.853, 0.704, 2.164, 0.602, 0.081, -0.889, 3.555, 0.009, 0.300, 8.370),
        "scrub": (0.854, 0.714, 1.989, 0.536, 0.059, -0.817, 2.703, 0.005, 0.274, 5.239),
    },
}
PUBLISHED_COMPRESSION = {"none": 4.121, "oversample": 8.522, "subsample": 3.568, "scrub": 1.699}


def row(
    subject: str,
    measure: str,
    value: float | None,
    seed: int,
    *,
    stage: str = "representation",
    view: str = "own",
    part: str = "all",
    **other: Any,
) -> Row:
    details = {"stage": stage, "view": view, "seed": seed, "set": part, "n": 100}
    details |= {"neutral": 0, "better": "lower", **other}
    return Row(subject, measure, value, details)


def published_rows() -> list[Row]:
    """Return the published means, as of one seed."""
    rows = [row(name, "compression", value, 0) for name, value in PUBLISHED_COMPRESSION.items()]
    for stage, by_strategy in PUBLISHED.items():
        for name, values in by_strategy.items():
            rows += [
                row(name, metric.measure, value, 0, stage=stage, part=metric.set)
                for metric, value in zip((ACCURATE, *GAPS), values, strict=True)
            ]
    return rows


def gap_rows(
    metric: Metric, stage: str, values: Mapping[str, Sequence[float | None]], **other: Any
) -> Iterator[Row]:
    """Yield rows of one metric by strategy, a value a seed."""
    for name, of_seeds in values.items():
        for seed, value in enumerate(of_seeds):
            yield row(name, metric.measure, value, seed, stage=stage, part=metric.set, **other)


def compression_rows(values: Mapping[str, Sequence[float | None]], **other: Any) -> Iterator[Row]:
    for name, of_seeds in values.items():
        for seed, value in enumerate(of_seeds):
            yield row(name, "compression", value, seed, **other)
