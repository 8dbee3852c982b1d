"""The rows of many models brought together: means over seeds, and what goes with what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wordbias.correlation import Correlation, correlation
from wordbias.results import Row

ERROR = "mab-error"
QUALITY = ("similarity", "analogy")
_VARIANTS = {"gipe": "setting", "sembias": "set", "weat": "set"}
"""Measures that an embedding has several values of, and what tells these apart."""


def over_seeds(rows: Sequence[Row]) -> list[Row]:
    """Average the rows of one embedding over its models."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        key = (row.subject, row.measure, *(row.details.get(k) for k in ("set", "setting", "group")))
        groups.setdefault(key, []).append(row)
    return [_mean(found) for found in groups.values()]


def intrinsic(rows: Sequence[Row]) -> list[Row]:
    """Return the rows about bias in vectors: not those about models, nor about quality."""
    other = ("mab", "snli", *QUALITY)
    return [row for row in rows if row.measure.split("-")[0] not in other]


def settings(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return the marked sets, and the kinds of words in them, that have a value, in order."""
    found = (row.details for row in rows if row.measure == ERROR and row.value is not None)
    return list(dict.fromkeys((one["set"], one["setting"]) for one in found))


def error_of(rows: Sequence[Row]) -> dict[str, float]:
    """Return E of each embedding, averaged over seeds: of the nouns (Table 6), the first setting.

    Of an attribute that has no nouns it is E of the names.
    """
    averaged = [row for row in rows if row.measure == ERROR and "seeds" in row.details]
    first = settings(averaged)[:1]
    return {
        row.subject: row.value
        for row in averaged
        if row.value is not None and (row.details["set"], row.details["setting"]) in first
    }


def correlations_with_error(rows: Sequence[Row]) -> list[Row]:
    """Correlate E with every measure over the embeddings that have both (Pearson, Table 5)."""
    error = error_of(rows)
    columns: dict[str, dict[str, float]] = {}
    for row in intrinsic(rows):
        variant = row.details.get(_VARIANTS.get(row.measure.split("-")[0], ""))
        name = f"{row.measure} ({variant})" if variant else row.measure
        columns.setdefault(name, {})[row.subject] = np.nan if row.value is None else row.value
    e = ("E", np.array(list(error.values())))
    found = (
        correlation((name, np.array([values.get(s, np.nan) for s in error])), e, "pearson")
        for name, values in columns.items()
    )
    return [_correlation_row(one) for one in found]


def _correlation_row(found: Correlation) -> Row:
    because = {"reason": found.reason} if found.reason else {}
    details = {"x": found.x, "y": "E", "n": found.n, "p": found.p, "neutral": 0.0, **because}
    return Row(f"{found.x} – E", "correlation", found.r, {**details, "method": "pearson"})


def _mean(rows: Sequence[Row]) -> Row:
    kept = ("attribute", "set", "setting", "group", "n", "neutral", "better", "reason")
    details = {key: rows[0].details[key] for key in kept if key in rows[0].details}
    if rows[0].value is None:  # for want of words, which all seeds lack alike
        none = {**details, "seeds": len(rows), "spread": None}
        return Row(rows[0].subject, rows[0].measure, None, none)
    values = np.array([row.value for row in rows], float)
    spread = float(values.std(ddof=1)) if len(values) > 1 else None
    more = {"seeds": len(values), "spread": spread}
    return Row(rows[0].subject, rows[0].measure, float(values.mean()), {**details, **more})
