"""Settings by which scores become measures, and what rows report of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordbias.contextual.stereoset.scores import SHARE, Float, Rounding
from wordbias.statistics import SAMPLES, bootstrap, percentile_interval

ALL = "all"


@dataclass(frozen=True)
class Settings:
    """Settings by which scores become measures.

    Attributes
    ----------
    share, rounding
        Share of the most extreme triples, and its rounding; see `extremes`.
    absolute
        Take the triples of largest |s|, whichever direction, and average |s|. By default those of
        largest s: most biased is most stereotypical.
    as_published
        Ties count 0 in the stereotype score; StereoSet's blanks are filled as its code does (see
        `wordbias.contextual.pseudo_likelihood`), its shares averaged over its terms; CrowS-Pairs'
        likelihoods are compared to three digits.
    seed, samples
        Seed and number of the bootstrap samples of triples.
    """

    share: float = SHARE
    rounding: Rounding = "nearest"
    absolute: bool = False
    as_published: bool = False
    seed: int = 0
    samples: int = SAMPLES

    @property
    def ties(self) -> float:
        """Value of an equal score."""
        return 0.0 if self.as_published else 0.5

    def seeded(self) -> dict[str, Any]:
        """Return what rows say of the bootstrap and of what was averaged."""
        return {"seed": self.seed, "as_published": self.as_published}

    def interval(self, values: Float, statistic: Callable[[Float], Float]) -> dict[str, Any]:
        """Return the 95 % interval of a statistic, along the last axis, and how it was made.

        The same triples are drawn for every model and measure, so that values can be compared.
        """
        rng = np.random.default_rng(self.seed)
        drawn = bootstrap(lambda rows: statistic(values[rows]), len(values), rng, self.samples)
        return {**percentile_interval(drawn)._asdict(), **self.seeded()}
