"""From scores to rows: which sentences a model prefers, in StereoSet itself and in CrowS-Pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.stereoset.crows_pairs import DIRECTIONS, CrowsPairs
from wordbias.contextual.stereoset.original import Cluster
from wordbias.contextual.stereoset.scores import (
    Float,
    icat,
    language_score,
    preferred,
    stereotype_score,
)
from wordbias.contextual.stereoset.settings import ALL, Settings
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import percentile_interval, resamples

_DIGITS = 3
"""To which CrowS-Pairs' own metric rounds what it compares."""


def stereoset_rows(
    clusters: Sequence[Cluster],
    scores: Float,
    subject: str,
    task: str,
    settings: Settings | None = None,
) -> list[Row]:
    """Measure ss, lms and icat of StereoSet, for each type of bias and for all.

    Parameters
    ----------
    scores
        Shape ``(n, 3)`` in the order of the labels: only their order within a cluster matters.
    task
        "intersentence" or "intrasentence".
    """
    settings = settings or Settings()
    types = np.array([one.bias_type for one in clusters])
    targets = np.array([one.target for one in clusters])
    subsets = list(dict.fromkeys(types.tolist()))
    rows: list[Row] = []
    for subset in [ALL] * (len(subsets) > 1) + subsets:
        chosen = (types == subset) | (subset == ALL)
        about = {"task": task, "subset": subset, "n": int(chosen.sum())}
        rows += _cat(scores[chosen], targets[chosen], subject, about, settings)
    return rows


def _cat(
    scores: Float,
    targets: np.ndarray[Any, np.dtype[np.str_]],
    subject: str,
    about: dict[str, Any],
    settings: Settings,
) -> Iterator[Row]:
    terms = targets if settings.as_published else None

    def measured(rows: Any) -> tuple[float, float, float]:
        chosen = scores[rows].T
        named = None if terms is None else terms[rows]
        ss = stereotype_score(*chosen[:2], targets=named, ties=settings.ties)
        lms = language_score(*chosen, targets=named, ties=settings.ties)
        return ss, lms, icat(lms, ss)

    rng = np.random.default_rng(settings.seed)
    blocks = resamples(len(scores), rng, settings.samples)
    drawn = np.array([measured(rows) for block in blocks for rows in block])
    about = {**about, "average": "triples" if terms is None else "terms", **settings.seeded()}
    for i, (name, value) in enumerate(
        zip(("ss", "lms", "icat"), measured(slice(None)), strict=True)
    ):
        interval = percentile_interval(drawn[:, i])._asdict()
        yield Row(subject, name, value, {**about, **ideal(name), **interval})


def crows_rows(
    data: CrowsPairs, scores: Float, subject: str, settings: Settings | None = None
) -> list[Row]:
    """Measure how often the more stereotyping sentence is the likelier one: neutral .5.

    Parameters
    ----------
    scores
        Pseudo-log-likelihoods, shape ``(n, 2)``: more, less.

    Returns
    -------
    list of Row
        ``crows`` of all pairs, of each direction and of each type of bias.
    """
    settings = settings or Settings()
    compared = np.round(scores, _DIGITS) if settings.as_published else scores
    better = preferred(compared[:, 0], compared[:, 1], settings.ties)
    rows = []
    for subset, chosen in _subsets(data).items():
        if chosen.any():
            about = {"subset": subset, "n": int(chosen.sum()), **ideal("crows")}
            interval = settings.interval(better[chosen], lambda x: x.mean(-1))
            value = float(better[chosen].mean())
            rows.append(Row(subject, "crows", value, {**about, **interval}))
    return rows


def _subsets(data: CrowsPairs) -> dict[str, NDArray[np.bool_]]:
    direction = np.array([pair.direction for pair in data.pairs])
    bias = np.array([pair.bias_type for pair in data.pairs])
    subsets: dict[str, NDArray[np.bool_]] = {ALL: np.ones(len(bias), bool)}
    subsets |= {one: direction == one for one in DIRECTIONS}
    return subsets | {one: bias == one for one in dict.fromkeys(bias.tolist())}
