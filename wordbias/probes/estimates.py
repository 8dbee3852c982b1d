"""Values with bootstrap samples that are paired: of an encoder's vectors before and after a change.

The file is short because the measures of an encoder's sentences share it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.measures.registry import MEASURES
from wordbias.results import Row
from wordbias.statistics import percentile_interval

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value of one measure, with its values on bootstrap samples.

    Attributes
    ----------
    value
        The value; nan where it is undefined.
    samples
        Values on the samples, shape ``(b,)``, nan where one is undefined. Two estimates are paired
        if their samples are of the same draws.
    """

    value: float
    samples: Array = field(repr=False)

    def interval(self) -> dict[str, float]:
        """Return the 95 % interval for the details of a row; empty if there is none."""
        return _ends(self.samples, "low", "high")

    def change(self, before: Estimate) -> dict[str, float]:
        """Return the change since `before`, and its interval over the draws that both share."""
        change = self.value - before.value
        if not math.isfinite(change):
            return {}
        ends = _ends(self.samples - before.samples, "change_low", "change_high")
        return {"change": change, **ends}

    def row(
        self,
        subject: str,
        measure: str,
        details: dict[str, Any],
        *,
        before: Estimate | None = None,
        chance: Sequence[float] = (),
        reason: str = "undefined",
    ) -> Row:
        """Return the value as a row, with its interval, its change and its chance level.

        Parameters
        ----------
        before
            The same value before a projection.
        chance
            Values where there is nothing to find.
        reason
            Reason of an undefined value.
        """
        known = {**details, **MEASURES[measure].ideal}
        if not math.isfinite(self.value):
            return Row(subject, measure, None, {**known, "reason": reason})
        known |= self.interval()
        known |= {} if before is None else self.change(before)
        known |= chance_level(self.value, chance, known.get("better", ""))
        return Row(subject, measure, self.value, known)


def chance_level(value: float, draws: Sequence[float], better: str) -> dict[str, Any]:
    """Return the mean and the range of values at chance, and whether a value is beyond them.

    It is beyond them outside their range; where lower is better, above it.
    """
    known = [one for one in draws if math.isfinite(one)]
    if not known:
        return {}
    low, high = min(known), max(known)
    below = value < low and better != "lower"
    return {
        "chance": float(np.mean(known)),
        "chance_low": low,
        "chance_high": high,
        "chance_draws": len(known),
        "beyond_chance": bool(value > high or below),
    }


def _ends(samples: Array, low: str, high: str) -> dict[str, float]:
    known = samples[np.isfinite(samples)]
    if len(known) < 2:
        return {}
    ends = percentile_interval(known)
    return {low: ends.low, high: ends.high}
