"""Fits of methods to labelled rows: LEACE, MISP, MHD and Hard by moments, others by rows.

Every place that fits a method to labels comes through here. Several labels, such as gender and
race, are erased together. LEACE makes the means equal of the classes of each. Hard removes the span
of the differences between the means of each. The others are fitted to one after the other, in the
order given, each to what the one before left; QLEACE takes one. Of MISP, MHD and INLP a label of
which nothing is left is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import blocks
from wordbias.calls import plain
from wordbias.errors import WordbiasError
from wordbias.labelled import Labelled
from wordbias.methods import density_matching, hard, inlp, leace, mhd, misp, qleace
from wordbias.methods.fitted import Fitted
from wordbias.methods.settings import ERASERS
from wordbias.methods.transform import Step
from wordbias.moments import Moments, numbered

Integers = NDArray[np.intp]
Fit = Callable[[Sequence[Moments], Mapping[str, Any]], tuple[Step, ...]]
OF_MOMENTS: Mapping[str, Fit] = {
    "leace": leace.fit_moments,
    "hard": hard.fit_moments,
    "mhd": mhd.fit_moments,
    "misp": misp.fit_moments,
}
"""Methods that need no more of rows than their moments."""

OF_ROWS: Mapping[str, Callable[..., tuple[tuple[Step, ...], tuple[str, ...]]]] = {
    "inlp": inlp.fit_rows,
    "density-matching": density_matching.fit_rows,
    "qleace": qleace.fit_rows,
}
"""Methods that need the rows in memory; they return their steps and warnings."""

NOTHING_LEFT = "every direction in which the rows vary is removed: nothing is left but rounding"
BLOCK = 1024
"""Rows of which `nothing_left` maps the first; the others only if they are all alike."""


def fit_moments(
    name: str,
    moments: Moments | Sequence[Moments],
    settings: Mapping[str, Any] | None = None,
    *,
    inside: bool = False,
) -> Fitted:
    """Fit a method to the moments of rows, by one label or several."""
    # Rows `inside` a model keep their lengths: `hard` brings them to length one elsewhere, before
    # and after.
    listed = [moments] if isinstance(moments, Moments) else list(moments)
    given = dict(settings or {})
    _check(name, listed, unit=name == "hard" and not inside)
    steps = OF_MOMENTS[name](listed, given)
    return Fitted(name, steps, settings={key: plain(value) for key, value in given.items()})


def fit_rows(
    name: str,
    x: NDArray[np.floating[Any]],
    labels: Integers | Sequence[Integers],
    settings: Mapping[str, Any] | None = None,
    *,
    inside: bool = False,
) -> Fitted:
    """Fit a method to rows (n, d) and the class of each, 0 to K − 1, by one label or several."""
    listed = [labels] if isinstance(labels, np.ndarray) else list(labels)
    given = dict(settings or {})
    plain_settings = {key: plain(value) for key, value in given.items()}
    if name in OF_ROWS:
        steps, warnings = OF_ROWS[name](x, listed, given)
        fitted = Fitted(name, steps, settings=plain_settings, warnings=warnings)
    else:
        unit = name == "hard" and not inside
        moments = [Moments.of_codes(x, codes, numbered(codes), unit=unit) for codes in listed]
        fitted = fit_moments(name, moments, given, inside=inside)
    return _with_warning(fitted, blocks(x, BLOCK))


def nothing_left(fitted: Fitted, parts: Iterable[NDArray[np.floating[Any]]]) -> bool:
    """Return whether the rows (n, d) of all parts differ by rounding only, once they are mapped."""
    # After any step: `hard` at last brings what is left to length one. QLEACE keeps the variance.
    if not fitted.steps or fitted.name == qleace.NAME:
        return False
    first: list[NDArray[np.float64]] = []
    spread = np.zeros(1 + len(fitted.steps))
    for x in parts:
        mapped = [x.astype(np.float64)]
        for step in fitted.steps:
            mapped.append(step(mapped[-1]))
        first = first or [y[0] for y in mapped]
        here = [float(np.abs(y - start).max()) for y, start in zip(mapped, first, strict=True)]
        spread = np.maximum(spread, here)
        if spread.min() > leace.SMALLEST * spread[0]:
            return False
    return bool(spread[0] > 0)


def with_warning_of(fitted: Fitted, moments: Moments) -> Fitted:
    """Return a method, with a warning if it leaves nothing of rows of which there are moments."""
    # In place of the rows: their mean, and a row in each direction in which they vary.
    square, axes = np.linalg.eigh(moments.covariance())
    real = square > moments.dim * np.finfo(np.float64).eps * square[-1]
    rows = moments.mean + np.sqrt(square[real])[:, None] * axes.T[real]
    return _with_warning(fitted, [np.vstack([moments.mean, rows])])


def taken(rows: Labelled, places: Integers) -> Iterator[NDArray[np.floating[Any]]]:
    """Yield rows by number, a block at a time."""
    for start in range(0, len(places), BLOCK):
        yield rows.take(places[start : start + BLOCK])


def _with_warning(fitted: Fitted, parts: Iterable[NDArray[np.floating[Any]]]) -> Fitted:
    """Return a method, with a warning if it leaves nothing of the rows."""
    if not nothing_left(fitted, parts):
        return fitted
    return replace(fitted, warnings=(*fitted.warnings, NOTHING_LEFT))


def fit_labelled(
    name: str,
    rows: Labelled,
    settings: Mapping[str, Any] | None = None,
    *,
    inside: bool = False,
) -> Fitted:
    """Fit a method to rows with their labels, of any number: by their moments, or in memory."""
    if rows.rows is None or not rows.labels:
        lacking = "vectors" if rows.rows is None else "labels"
        raise WordbiasError(f"{name}: {rows.name} has no {lacking}; give them to Labelled first")
    places = np.flatnonzero(rows.there)
    if name in OF_MOMENTS:
        moments = rows.moments(unit=name == "hard" and not inside)
        fitted = fit_moments(name, moments, settings, inside=inside)
        return _with_warning(fitted, taken(rows, places))
    codes = [label.codes[places] for label in rows.labels.values()]
    return fit_rows(name, rows.take(places), codes, settings, inside=inside)


def _check(name: str, moments: Sequence[Moments], *, unit: bool) -> None:
    if name not in ERASERS:
        raise WordbiasError(f"method {name!r}: expected one of {', '.join(ERASERS)}")
    if name not in OF_MOMENTS:
        raise WordbiasError(
            f"{name}: is fitted to rows, for which moments are not enough; give the rows, or a "
            "sample of them"
        )
    for moment in moments:
        if len(moment.classes) < 2:
            raise WordbiasError(
                f"{name}: {moment.n:,} vectors are of one class, {moment.classes[0]!r:.40}: "
                "expected two classes or more"
            )
        if moment.unit != unit:
            how = "with" if unit else "without"
            raise WordbiasError(f"{name}: needs moments that were made {how} unit=True")
        if (moment.n, moment.dim) != (moments[0].n, moments[0].dim):
            raise WordbiasError(
                f"{name}: the moments by several labels must be of the same rows, got {moment!r} "
                f"beside {moments[0]!r}"
            )
