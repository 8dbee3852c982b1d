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

from wordbias.draws import by_bootstrap, chance_keys, drawn
from wordbias.measures.registry import MEASURES
from wordbias.results import Row

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value of one measure, with its values on bootstrap samples."""

    value: float  # the value; nan where it is undefined
    # values on the samples, shape `(b,)`, nan where one is undefined. Two estimates are paired if
    # their samples are of the same draws.
    samples: Array = field(repr=False)
    unit: str  # what is drawn again

    def row(
        self,
        subject: str,
        measure: str,
        details: dict[str, Any],
        *,
        chance: Sequence[float] = (),
        reason: str = "undefined",
    ) -> Row:
        """Return the value as a row, with its interval and its chance level or a reason."""
        about = {**details, **MEASURES[measure].ideal}
        if not math.isfinite(self.value):
            return Row(subject, measure, None, {**about, "reason": reason})
        about |= by_bootstrap(self.samples, self.unit)
        about |= chance_keys(self.value, chance, str(about.get("better", "")))
        return Row(subject, measure, self.value, about, drawn(self.samples, self.unit))
