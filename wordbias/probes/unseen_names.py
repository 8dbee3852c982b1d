"""Groups of first names or words, read off sentences that are alike but for them.

Every name stands in several sentences. A probe that had seen a name could remember it, so names are
never divided between training and test. What it reads of an unseen name is what the encoder makes
of names of one group alike. The control task gives every name one random label (Hewitt and Liang
2019). A probe cannot know that of an unseen name. Its compression, or the neutral one where that is
larger, is therefore the chance level.

The vectors of a layer are scaled by one number, so that their mean square is 1: a probe's learning
rate suits one size of vectors, and a sentence-transformers model normalises those of its last
layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import by_student, chance_keys, change_interval
from wordbias.labelled import Labelled
from wordbias.measures.registry import ideal
from wordbias.probes.mdl import (
    ACCURACY,
    COMPRESSION,
    SELECTIVITY,
    Coded,
    OnlineCode,
    online_codes,
    share_compression,
)
from wordbias.probes.train import Recipe
from wordbias.results import Row
from wordbias.statistics import majority_share, mean_interval

Float32 = NDArray[np.float32]
SEEDS = tuple(range(10))


@dataclass(frozen=True, eq=False)
class Reading:
    """Online codes of the groups of names, at one layer."""

    # code of the labels and of the control task under each seed
    codes: tuple[Coded, ...] = field(repr=False)
    scale: float  # divisor of the vectors
    # what the shares of the groups alone give, by measure
    neutral: Mapping[str, float] = field(repr=False)

    def rows(
        self,
        subject: str,
        about: Mapping[str, Any],
        *,
        before: Reading | None = None,
        chance: Reading | None = None,
    ) -> list[Row]:
        """Return compression, accuracy and selectivity: means over the seeds, with intervals."""
        # The intervals are Student's over the seeds: other orders of the same names, and other
        # initial weights. Changes are paired by the seed. A value is beyond chance if its interval
        # lies above the control task under every seed.
        at_chance = self if chance is None else chance
        rows = []
        for measure, own in _VALUES.items():
            values = list(map(own, self.codes))
            known = ideal(measure)
            if measure in self.neutral:
                known["neutral"] = self.neutral[measure]
            details: dict[str, Any] = {
                **about,
                "seeds": [coded.code.seed for coded in self.codes],
                "n": self.codes[0].code.n,
                **known,
                "values": values,
                **by_student(values, "seeds"),
            }
            value = float(np.mean(values))
            if before is not None:
                change = [a - own(old) for a, old in zip(values, before.codes, strict=True)]
                ends = mean_interval(change)
                details["change"] = float(np.mean(change))
                details |= {} if ends is None else change_interval(ends)
            if measure in _CONTROLS:
                controls = [coded.control for coded in at_chance.codes if coded.control is not None]
                draws = list(map(_CONTROLS[measure], controls))
                if measure == COMPRESSION:  # a sender to whom the probes cost bits can leave them
                    draws = [max(at_chance.neutral[measure], draw) for draw in draws]
                details |= chance_keys(value, draws, "lower")
                # a mean over seeds is beyond single draws only if its interval is
                lower_end = details.get("low", value)
                details["beyond_chance"] = bool(lower_end > details["chance_high"])
            rows.append(Row(subject, measure, value, details))
        return rows


def read_names(
    vectors: Float32,
    groups: Sequence[str],
    names: Sequence[str],
    *,
    blocks: Sequence[str] | None = None,
    scales: Sequence[float] | None = None,
    seeds: Sequence[int] = SEEDS,
    recipe: Recipe | None = None,
) -> list[Reading]:
    """Train the probes of several layers, (L, n, d), together."""
    # After a projection the scales are those before: shorter vectors are not made longer again.
    # `blocks` are never divided between training and test; by default each name is one.
    given = Labelled.of(vectors, np.asarray(groups), name="names")
    scales = given.sizes() if scales is None else scales
    examples = given.scaled(scales)
    units = np.unique(names, return_inverse=True)[1].astype(np.intp)
    together = (
        units if blocks is None else np.unique(blocks, return_inverse=True)[1].astype(np.intp)
    )
    codes = online_codes(examples, seeds=seeds, recipe=recipe, groups=together, types=units)
    n, majority = len(seeds), majority_share(examples.label.codes)
    first = float(np.mean([coded.code.first / coded.code.n for coded in codes]))
    neutral = {COMPRESSION: share_compression(examples.label.codes, first), ACCURACY: majority}
    return [
        Reading(tuple(codes[i * n : (i + 1) * n]), scale, neutral) for i, scale in enumerate(scales)
    ]


_VALUES: Mapping[str, Callable[[Coded], float]] = {
    COMPRESSION: lambda coded: coded.code.compression,
    ACCURACY: lambda coded: coded.code.accuracy,
    SELECTIVITY: lambda coded: coded.selectivity or 0.0,
}
_CONTROLS: Mapping[str, Callable[[OnlineCode], float]] = {
    COMPRESSION: lambda control: control.compression,
    ACCURACY: lambda control: control.accuracy,
}
