"""What a projection costs: similarities and neighbours of sentences that are about no person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.probes.estimates import Estimate
from wordbias.results import Row
from wordbias.statistics import SAMPLES, resampled_cells, spearman, weighted_spearman

ORDER, MOVED, NEIGHBOURS = (
    "sentence-order-kept",
    "sentence-similarity-moved",
    "sentence-neighbours-kept",
)
NEAREST = 5
"""Number of nearest sentences that are compared."""
Array = NDArray[np.float64]


def kept_rows(
    subject: str,
    before: Array,
    after: Array,
    about: Mapping[str, Any],
    *,
    pool: tuple[Array, Array] | None = None,
    seed: int = 0,
) -> list[Row]:
    """Compare the cosines of all pairs of sentences before and after, and nearest sentences."""
    # All are unit vectors. In the bootstrap a pair is drawn as often as both of its sentences.
    n = len(before)
    i, j = np.triu_indices(n, 1)
    old, new = (np.einsum("nd,nd->n", x[i], x[j]) for x in (before, after))
    drawn = resampled_cells(np.ones(n, np.intp), np.random.default_rng(seed), SAMPLES)
    times: Array = drawn.astype(np.float64)
    weights = times[:, i] * times[:, j]
    moved = np.abs(new - old)
    order = Estimate(spearman(old, new), weighted_spearman(old, new, weights), "sentences")
    mean = Estimate(float(moved.mean()), weights @ moved / weights.sum(axis=1), "sentences")
    stayed = _neighbours_kept(before, after, pool)
    near = Estimate(float(stayed.mean()), times @ stayed / n, "sentences")
    return [
        order.row(subject, ORDER, {**about, "n": len(i)}),
        mean.row(subject, MOVED, {**about, "n": len(i)}),
        near.row(subject, NEIGHBOURS, {**about, "n": n, "k": NEAREST}),
    ]


def _neighbours_kept(before: Array, after: Array, pool: tuple[Array, Array] | None) -> Array:
    """Return the share of its nearest sentences that each sentence keeps, shape ``(n,)``."""
    nearest = []
    for x, others in zip((before, after), pool or (before[:0], after[:0]), strict=True):
        cosines = x @ np.concatenate([x, others]).T
        np.fill_diagonal(cosines, -np.inf)
        nearest.append(np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST])
    old, new = nearest
    shared: Array = (old[:, :, None] == new[:, None, :]).any(axis=2).mean(axis=1)
    return shared
