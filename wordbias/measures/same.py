"""SAME: how words lean along the difference of two groups (Schröder, Schulz and Hammer 2022).

The bias of a word is its cosine with the difference of the groups' mean unit vectors. SAME is the
mean size of this cosine; the mean with its sign is the skew, and the standard deviation the
stereotype: the mean square is skew² + stereotype². Direct bias is the first of the three along one
pair of words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import blocks, normalise, rounding
from wordbias.errors import WordbiasError
from wordbias.measures.chance import Key, Null, blocks_of_original
from wordbias.measures.direction import projections_of_unit
from wordbias.measures.panel import Panel
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import resampled_means
from wordbias.subspace import Subspace
from wordbias.wordlists import resolve_groups

Float = NDArray[np.float64]

MEASURES = ("same", "same-skew", "same-stereotype")


def same_of_words(vectors: NDArray[np.float32], difference: Float) -> Float:
    """Return each word's cosine with the difference of two groups, (n,); 0 for a zero vector."""
    parts = (projections_of_unit(x, difference) for x in blocks(vectors))
    return np.concatenate([np.zeros(0), *parts])


def difference_of(first: Float, second: Float, *, noise: float = 0.0) -> Float:
    """Return the difference of the means of two groups of unit vectors, at length one, ``(d,)``."""
    # `noise` is a bound of the rounding error of the vectors that they were computed from.
    try:
        if np.linalg.norm(first.mean(0) - second.mean(0)) > noise:
            return np.asarray(Subspace.from_means([first, second]).basis[0])
    except WordbiasError:
        pass
    raise WordbiasError("the means of the two groups are equal")


def moments(bias: Float) -> Float:
    """Return the size, the bias and its square of every word, on a new last axis of three."""
    return np.stack([np.abs(bias), bias, bias**2], axis=-1)


def of_means(means: Float) -> Float:
    """Return SAME, skew and stereotype of means of `moments`, shape ``(…, 3)``."""
    size, skew, square = np.moveaxis(means, -1, 0)
    return np.stack([size, skew, np.sqrt(np.maximum(square - skew**2, 0))], axis=-1)


def same_rows(panel: Panel) -> list[Row]:
    """Measure SAME along the difference of the groups in the embedding itself."""
    try:
        groups = [
            normalise(panel.embedding.take(group.found).astype(float))
            for group in resolve_groups(panel.attribute, panel.embedding)
        ]
        noise = max(rounding(x.astype(np.float32)) for x in groups)  # as the vectors are stored
        difference = difference_of(*groups, noise=noise)
    except WordbiasError as error:
        return panel.undefined(MEASURES, f"undefined: {error}")
    bias = moments(same_of_words(panel.vectors, difference))
    samples = of_means(resampled_means(bias, panel.rng()))
    return [
        panel.row(
            name,
            float(value),
            drawn,
            n=len(bias),
            **ideal(name),
        )
        for name, value, drawn in zip(MEASURES, of_means(bias.mean(axis=0)), samples.T, strict=True)
    ]


def chance_of_same(panel: Panel, nulls: Sequence[Null]) -> dict[Key, Float]:
    """Measure SAME along the difference of groups that do not differ, one for each null."""
    scores = np.full((len(MEASURES), len(nulls)), np.nan)
    defined = [i for i, null in enumerate(nulls) if null.partition is not None]
    axes = [
        difference_of(*(null.unit_within[rows] for rows in null.partition))
        for null in nulls
        if null.partition is not None
    ]
    if not axes:
        return {}
    along = np.stack(axes, axis=1)
    total = np.zeros((len(axes), 3))
    for block in blocks_of_original(panel):
        total += moments(projections_of_unit(block, along)).sum(axis=0)
    scores[:, defined] = of_means(total / len(panel.vocabulary)).T
    return {(name, ""): values for name, values in zip(MEASURES, scores, strict=True)}
