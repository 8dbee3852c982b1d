"""Values with bootstrap samples that are paired: of an encoder's vectors before and after a change.

The file is short because the measures of an encoder's sentences share it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import chance_keys, sampled_row, with_change
from wordbias.measures.registry import MEASURES
from wordbias.results import Row

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
    unit
        What is drawn again.
    """

    value: float
    samples: Array = field(repr=False)
    unit: str

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
        about = {**details, **MEASURES[measure].ideal}
        if not math.isfinite(self.value):
            return Row(subject, measure, None, {**about, "reason": reason})
        row = sampled_row(subject, measure, self.value, about, self.samples, self.unit)
        if before is not None:
            row = with_change(before.row(subject, measure, details), row)
        level = chance_keys(self.value, chance, str(about.get("better", "")))
        return replace(row, details={**row.details, **level})
