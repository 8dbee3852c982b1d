"""Where bootstrap samples of a metric lie, and where those of an even-handed classifier would."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordbias.measures.bootstrap import percentile_interval
from wordbias.outcomes.rates import Values


def interval(value: float, samples: Values, *, signed: bool) -> dict[str, Any]:
    """Return the 95 % bootstrap interval of a metric.

    A sum of absolute gaps or of distances is above 0 even where nothing differs, and resampling
    adds as much noise again: its samples lie above the value as the value lies above the truth.
    Therefore such a metric has the basic interval, ``2·value − quantile``, cut off at 0, which
    reckons with that (Davison and Hinkley 1997, §5.2.1), and may lie below the value; a signed one
    has the percentile interval.

    Parameters
    ----------
    samples
        Shape ``(draws,)``; nan where a sample leaves the metric undefined, such as one without
        any example of a class.
    signed
        Whether the metric can be negative, or is not biased upwards.

    Returns
    -------
    dict
        `low`, `high`, and of how many `draws`.
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return {"low": None, "high": None, "draws": 0}
    low, high = percentile_interval(defined)
    if not signed:
        low, high = (max(0.0, 2 * value - end) for end in (high, low))
    return {"low": low, "high": high, "draws": len(defined)}


def expected_alike(value: float, samples: Values) -> dict[str, Any]:
    """Return what a metric would be if groups were treated alike, and how often it is as large.

    Parameters
    ----------
    samples
        Of a classifier that treats groups alike, shape ``(draws,)``; nan where undefined.

    Returns
    -------
    dict
        `alike`, the mean, and `p`, the one-sided Monte Carlo p-value, (1 + how many are at least
        as large) / (1 + how many).
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return {}
    as_large = int((defined >= value * (1 - 1e-12)).sum())
    return {"alike": float(defined.mean()), "p": (1 + as_large) / (1 + len(defined))}
