"""Fairness of a classifier as rows: every metric with its parts and its interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from wordbias.draws import SAMPLE, by_bootstrap, items_of
from wordbias.errors import WordbiasError
from wordbias.measures.registry import MEASURES
from wordbias.outcomes.confusion import RATES, Confusion, Values
from wordbias.outcomes.metrics import Metric, Settings, metrics, sampled, undefined_because
from wordbias.progress import progress
from wordbias.results import Draws, Row
from wordbias.statistics import TIE, is_constant, p_of_null

ALIKE = 200
"""Number of samples of a classifier that treats groups alike."""
MOST_BIAS = 0.25
"""Bias of the bootstrap, in its standard errors, up to which it gives an interval."""
SUM, CORRELATION, ALL = "sum", "pearson", "all"
ACCURACY = "accuracy"
GAPS = tuple(f"{name}-gap" for name in RATES)
DIVERGENCES = ("independence", "separation", "sufficiency")
EVALUATED = "the evaluated examples"
EXAMPLES = "examples"
_WHY = {
    "tpr-gap": "a group has no example of it",
    "fpr-gap": "a group has no example of another class",
    "precision-gap": "in a group nobody is predicted as it",
    "f1-gap": "a group has neither an example of it nor a prediction",
    "separation": "nobody is of it",
    "sufficiency": "nobody is predicted as it",
}
_WHY_DIFFERENCE = {"separation": _WHY["tpr-gap"], "sufficiency": _WHY["precision-gap"]}


def fairness_rows(
    confusion: Confusion,
    subject: str,
    settings: Settings | None = None,
    *,
    shares: Values | None = None,
    unit: str = EXAMPLES,
) -> list[Row]:
    """Measure group fairness (Orgad et al. 2022, §2.1.1), with a bootstrap over units."""
    # By default the `shares` are those of the confusion, as in the released code, the same for all
    # classes of a balanced set; the paper's text takes them from the training data. An undefined
    # value is None with a reason, and is left out of sums, whose rows name the classes that were.
    # Each sum comes with that of a classifier that treats the groups alike and with p, how often
    # that is as large: such sums are above 0 by chance, and some also where groups differ in their
    # classes. Of a correlation both are of its absolute value.
    settings = settings or Settings()
    for name in confusion.outcomes:
        if name in (SUM, CORRELATION):
            raise WordbiasError(
                f"a class is called {name!r}, as what is reported over all classes; rename it"
            )
    shares = confusion.first_shares() if shares is None else shares
    distance = settings.distance_between(len(confusion.classes))
    by_name = metrics(confusion.counts[None], shares, settings, distance)
    rng = np.random.default_rng(settings.seed)
    few = min(settings.draws, ALIKE)
    with progress("intervals", settings.draws + few, "sample") as bar:
        drawn, even = (
            sampled(blocks, shares, settings, distance, bar)
            for blocks in (confusion.resampled(settings.draws, rng), confusion.alike(few, rng))
        )
    items = items_of(confusion.items, settings.seed)
    rows: list[Row] = []
    for name, metric in by_name.items():
        samples = drawn.get(name), even.get(name)
        about = _about(confusion, settings, name)
        measured = _Measured(subject, name, metric, *samples, unit, items, about)
        rows += _rows(measured, confusion, shares, settings)
    return rows


@dataclass(frozen=True, eq=False)
class _Measured:
    """A metric with its name, its samples, and the details of all its rows."""

    # `drawn` are bootstrap samples and `even` samples that treat groups alike, as `Metric.joined`.
    # `items` is a hash of the examples.

    subject: str
    name: str
    metric: Metric
    drawn: Values | None
    even: Values | None
    unit: str
    items: str
    about: Mapping[str, Any]

    @cached_property
    def values(self) -> Values:
        """Values of `Metric.joined`, one for each row."""
        joined: Values = self.metric.joined()[0]
        return joined

    def row(self, part: str, place: int, reason: str = "", **details: Any) -> Row:
        """Make a row of one column of `Metric.joined`."""
        value = float(self.values[place])
        details = {"set": part, **self.about, **details}
        if np.isnan(value):
            return Row(self.subject, self.name, None, {**details, "reason": reason or "undefined"})
        draws: dict[str, Draws] = {}
        if self.drawn is not None:
            biased = details["better"] == "lower" or part == CORRELATION
            samples = self.drawn[:, place]
            details |= bootstrap_interval(value, samples, self.unit, biased=biased)
            if details["low"] is not None:
                draws = {SAMPLE: Draws(samples, self.unit, self.items)}
        if self.even is not None and part in (SUM, CORRELATION):
            details |= expected_alike(abs(value), np.abs(self.even[:, place]))
        return Row(self.subject, self.name, value, details, draws)


def _about(confusion: Confusion, settings: Settings, name: str) -> dict[str, Any]:
    return {
        "n": len(confusion),
        "groups": list(confusion.groups),
        "neutral": MEASURES[name].neutral,
        "better": MEASURES[name].better,
        "seed": settings.seed,
    }


def _rows(
    measured: _Measured, confusion: Confusion, shares: Values, settings: Settings
) -> Iterator[Row]:
    name, parts = measured.name, measured.metric.parts[0]
    over = _over(confusion, name)[: len(parts)]
    differs = _WHY_DIFFERENCE if settings.aggregate == "difference" else {}
    reason = differs.get(name) or _WHY.get(name, "")
    left_out = [part for part, value in zip(over, parts, strict=True) if np.isnan(value)]
    extra = {"left_out": left_out} if left_out else {}
    yield measured.row(
        ALL if name == ACCURACY else SUM, 0, f"of all {len(over)}: {reason}", **extra
    )
    signed = name in GAPS and len(confusion.groups) == 2
    better = "neutral" if signed else measured.about["better"]
    if name in GAPS:
        why = undefined_because(parts, shares, len(confusion.groups))
        yield measured.row(CORRELATION, 1, why, better="neutral")
    sizes = _sizes(confusion, name)
    for place, (part, size) in enumerate(zip(over, sizes, strict=False), 2):
        yield measured.row(part, place, reason, n=size, better=better)


def _over(confusion: Confusion, name: str) -> Sequence[str]:
    """Return the groups, classes or predictions that the parts of a metric belong to."""
    if name in (ACCURACY, DIVERGENCES[0]):
        return confusion.groups
    return confusion.outcomes if name == DIVERGENCES[2] else confusion.classes


def _sizes(confusion: Confusion, name: str) -> Sequence[int | dict[str, int]]:
    """Return the number of examples of each part, by group."""
    counts = confusion.counts
    everyone = counts.sum(axis=(1, 2))
    if name in (ACCURACY, DIVERGENCES[0]):
        return [int(n) for n in everyone]
    by_prediction = name in ("precision-gap", DIVERGENCES[2])
    sizes = counts.sum(axis=1) if by_prediction else counts.sum(axis=2)
    if name == "fpr-gap":
        sizes = everyone[:, None] - sizes
    return [dict(zip(confusion.groups, map(int, n), strict=True)) for n in sizes.T]


def bootstrap_interval(value: float, samples: Values, unit: str, *, biased: bool) -> dict[str, Any]:
    """Return the 95 % bootstrap interval of a metric, or why there is none."""
    # A sum of absolute gaps or of distances is above 0 even if nothing differs, and resampling adds
    # the same noise again; a correlation is nearer to 0. No shift mends the interval: of 40 classes
    # whose true gaps are 0, the basic interval, 2 · value − quantile, covers their sum in 2 % of
    # cases. So there is one only where the mean of the samples is within a quarter of their
    # standard deviation of the value, a bias that may be ignored (Efron and Tibshirani 1993,
    # section 10.3).
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return {"low": None, "high": None, "unit": unit, "draws": 0}
    mean, spread = float(defined.mean()), float(defined.std())
    reason = ""
    if value and is_constant(defined) and len(defined) < len(samples):  # draws without a group
        reason = f"undefined: a group has too few {unit} for draws that differ"
    elif biased and abs(mean - value) > MOST_BIAS * spread + TIE * abs(value):
        reason = f"undefined: resampling itself changes the value, to {mean:.3g} on average"
    if reason:
        none = {"low": None, "high": None, "unit": unit, "reason": reason}
        return {**none, "draws": len(defined)}
    return {**by_bootstrap(defined, unit), "draws": len(defined)}


def expected_alike(value: float, samples: Values) -> dict[str, Any]:
    """Return a metric's mean if groups are treated alike, and p that it is as large."""
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return {}
    return {"chance": float(defined.mean()), "p": p_of_null(defined, value * (1 - TIE))}
