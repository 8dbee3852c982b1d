"""Rates of a table of counts, by classes, from the sums that the package takes of many tables."""

from __future__ import annotations

import numpy as np

from wordbias.outcomes.confusion import Counts, Values, rates_of


def rates(counts: Counts, *, as_published: bool = False) -> dict[str, Values]:
    """Return the rates of counts of shape ``(…, groups, classes, outcomes)``."""
    k = counts.shape[-2]
    tp = np.diagonal(counts, axis1=-2, axis2=-1)
    called = counts[..., :k].sum(axis=-2)
    return rates_of(tp, counts.sum(axis=-1), called, as_published=as_published)
