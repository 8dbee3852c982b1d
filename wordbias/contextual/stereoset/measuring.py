"""From scores to rows: what a model prefers in StereoSet, its enhancement and CrowS-Pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordbias.contextual.stereoset.crows_pairs import DIRECTIONS, CrowsPairs
from wordbias.contextual.stereoset.gsss import GENDERS, LABELS, Gsss
from wordbias.contextual.stereoset.original import Cluster
from wordbias.contextual.stereoset.scores import (
    SHARE,
    Float,
    Rounding,
    distances,
    extremes,
    icat,
    language_score,
    preferred,
    resampled,
    stereotype_score,
    strengths,
    tail_mean,
)
from wordbias.errors import WordbiasError
from wordbias.measures.bootstrap import SAMPLES, percentile_interval
from wordbias.results import Row

ALL = "all"
SUBSETS = (ALL, *GENDERS)
_HALF = {"neutral": 0.5, "better": "neutral"}
_ZERO = {"neutral": 0, "better": "lower"}
_DIGITS = 3
"""To which CrowS-Pairs' own metric rounds what it compares."""


@dataclass(frozen=True)
class Settings:
    """How scores become measures.

    Attributes
    ----------
    share, rounding
        Of the most extreme triples; see `extremes`.
    absolute
        Take the triples of largest |s|, whichever direction, and average |s|. By default those of
        largest s: most biased is most stereotypical.
    as_published
        Ties count 0 in the stereotype score; StereoSet's shares are averaged over its terms, and
        CrowS-Pairs' likelihoods compared to three digits.
    seed, samples
        Of the bootstrap over triples.
    """

    share: float = SHARE
    rounding: Rounding = "nearest"
    absolute: bool = False
    as_published: bool = False
    seed: int = 0
    samples: int = SAMPLES

    @property
    def ties(self) -> float:
        """What an equal score counts."""
        return 0.0 if self.as_published else 0.5


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
        value = float(tail_mean(values, size))
        # the same triples are drawn for every model and measure, so that values can be compared
        rng = np.random.default_rng(settings.seed)
        drawn = resampled(values, lambda x: tail_mean(x, size), rng, settings.samples)
        interval = percentile_interval(drawn)._asdict()
        return Row(
            subject, name, value, {**about, "n": n, **details, **interval, **_seeded(settings)}
        )

    yield row("ss", better, n, {**_HALF, "ties": int((p[:, 0, 0] == p[:, 1, 0]).sum())})
    yield row("strength", ranked, k, {**_ZERO, **tail, **by})
    if not settings.absolute:
        yield row("opposite-strength", -s, k, {**_ZERO, **tail, **by})
    yield row("distance", d, k, {**_ZERO, **tail})
    yield row("mean-strength", s, n, {"neutral": 0, "better": "neutral"})


def triple_records(gsss: Gsss, p: Float, version: str) -> list[dict[str, Any]]:
    """Return one record a triple: its six probabilities, s and d."""
    names = [f"{label} {side}" for label in LABELS for side in ("original", "swapped")]
    return [
        {
            "version": version,
            "context_id": triple.id,
            "gender": triple.gender,
            "context": triple.items[0].original.context,
            **dict(zip(names, map(float, values.ravel()), strict=True)),
            "s": float(s),
            "d": float(d),
        }
        for triple, values, s, d in zip(gsss.triples, p, strengths(p), distances(p), strict=True)
    ]


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
    n = len(scores)
    drawn = np.array([measured(rng.integers(n, size=n)) for _ in range(settings.samples)])
    about = {**about, "average": "triples" if terms is None else "terms", **_seeded(settings)}
    higher = {"neutral": 1, "better": "higher"}
    for i, (name, value, ideal) in enumerate(
        zip(("ss", "lms", "icat"), measured(slice(None)), (_HALF, higher, higher), strict=True)
    ):
        interval = percentile_interval(drawn[:, i])._asdict()
        yield Row(subject, name, value, {**about, **ideal, **interval})


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
    direction = np.array([pair.direction for pair in data.pairs])
    bias = np.array([pair.bias_type for pair in data.pairs])
    subsets = {ALL: np.ones(len(bias), bool)}
    subsets |= {one: direction == one for one in DIRECTIONS}
    subsets |= {one: bias == one for one in dict.fromkeys(bias.tolist())}
    rows = []
    for subset, chosen in subsets.items():
        if chosen.any():
            rng = np.random.default_rng(settings.seed)
            drawn = resampled(better[chosen], lambda x: x.mean(-1), rng, settings.samples)
            about = {"subset": subset, "n": int(chosen.sum()), **_HALF}
            interval = percentile_interval(drawn)._asdict()
            value = float(better[chosen].mean())
            rows.append(Row(subject, "crows", value, {**about, **interval, **_seeded(settings)}))
    return rows


def _seeded(settings: Settings) -> dict[str, Any]:
    return {"seed": settings.seed, "as_published": settings.as_published}
