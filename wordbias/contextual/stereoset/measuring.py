"""From probabilities to rows: stereotype score, Strength and Distance of enhanced StereoSet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wordbias.contextual.stereoset.gsss import GENDERS, Gsss
from wordbias.contextual.stereoset.scores import (
    Float,
    distances,
    extremes,
    preferred,
    strengths,
    tail_mean,
)
from wordbias.contextual.stereoset.settings import ALL, Settings
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.results import Row

SUBSETS = (ALL, *GENDERS)


def gsss_rows(
    gsss: Gsss,
    p: Float,
    subject: str,
    version: str,
    settings: Settings | None = None,
    *,
    subsets: Sequence[str] = SUBSETS,
) -> list[Row]:
    """Measure SS, S and D of all triples, and of those about men and about women.

    Parameters
    ----------
    p
        Probabilities, shape ``(n, 3, 2)``: labels × original, swapped.
    version
        "original" or "repaired": which swaps `p` is of.
    subsets
        Of which triples: some of `SUBSETS`; one that the file has none of is left out.

    Returns
    -------
    list of Row
        ``ss`` (of the original triples; neutral .5), ``strength`` and ``distance`` (neutral 0) and
        ``mean-strength``, the mean s of all triples, with 95 % intervals that draw the triples
        again. Strength and distance are means of a tail, so that chance alone makes them larger
        than 0, and an interval never holds 0: what S says is read beside ``opposite-strength``,
        which is S with the labels exchanged, minus the mean of the lowest s.

    Raises
    ------
    WordbiasError
        If the shape does not fit the triples, or there is no such subset.
    """
    settings = settings or Settings()
    if unknown := set(subsets) - set(SUBSETS):
        raise WordbiasError(f"no subset {unknown.pop()!r}; choose among {', '.join(SUBSETS)}")
    if len(p) != len(gsss.triples):
        raise WordbiasError(f"expected probabilities of {len(gsss.triples)} triples, got {len(p)}")
    gender = np.array([triple.gender for triple in gsss.triples])
    return [
        row
        for subset in subsets
        if (chosen := (gender == subset) | (subset == ALL)).any()
        for row in _part(p[chosen], subject, {"version": version, "subset": subset}, settings)
    ]


def _part(p: Float, subject: str, about: dict[str, Any], settings: Settings) -> Iterator[Row]:
    n = len(p)
    k = extremes(n, settings.share, settings.rounding)
    s, d = strengths(p), distances(p)
    ranked = np.abs(s) if settings.absolute else s
    better = preferred(p[:, 0, 0], p[:, 1, 0], settings.ties)
    tail = {"share": settings.share, "rounding": settings.rounding, "extremes": k}
    by = {"by": "absolute" if settings.absolute else "signed"}

    def row(name: str, values: Float, size: int, details: dict[str, Any]) -> Row:
        interval = settings.interval(values, lambda x: tail_mean(x, size))
        about_row = {**about, "n": n, **ideal(name), **details, **interval}
        return Row(subject, name, float(tail_mean(values, size)), about_row)

    yield row("ss", better, n, {"ties": int((p[:, 0, 0] == p[:, 1, 0]).sum())})
    yield row("strength", ranked, k, {**tail, **by})
    if not settings.absolute:
        yield row("opposite-strength", -s, k, {**tail, **by})
    yield row("distance", d, k, tail)
    yield row("mean-strength", s, n, {})
