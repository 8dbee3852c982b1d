"""Occupations between two pronouns: that whose sentence is nearer to that of an occupation.

The lean of an occupation is the mean over templates of

    cos("The nurse waited.", "She waited.") − cos("The nurse waited.", "He waited."),

the sentences of a pair being the same but for their subject. Two subjects that mean no gender
("Somebody", "The guest") in place of the pronouns give the chance level: every two sentences are
at different distances from others, whatever they mean.

Of a decoder the lean can also be the pronoun that it expects, which is summarised alike
(`wordbias.contextual.audit.expected`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import FLOAT32_ROUNDING
from wordbias.measures.registry import ideal
from wordbias.probes.estimates import Estimate
from wordbias.results import Row
from wordbias.statistics import (
    SAMPLES,
    percentile_interval,
    resampled_cells,
    spearman,
    weighted_spearman,
)

GAP, STEREOTYPE, LEAN, SIMILARITY = (
    "pronoun-gap",
    "pronoun-stereotype",
    "pronoun-lean",
    "sentence-similarity",
)
PERMUTATIONS = 1000
"""Permutations of the shares of women for the chance level of their correlation."""
Array = NDArray[np.float64]
Measures = tuple[str, str, str]
"""Names of the measures: correlation with the share of women, mean lean, lean of an occupation."""


@dataclass(frozen=True, eq=False)
class Pronouns:
    """Leans of occupations, and their summaries."""

    women: Mapping[str, float]  # percent of women in each occupation
    lean: Array = field(repr=False)  # lean of each occupation towards she, shape `(n,)`
    gap: Estimate  # mean lean
    stereotype: Estimate  # rank correlation of the lean with the share of women
    measures: Measures = (STEREOTYPE, GAP, LEAN)  # names of the measures in the rows

    @classmethod
    def of(
        cls,
        occupations: Array,
        she: Array,
        he: Array,
        women: Mapping[str, float],
        *,
        seed: int = 0,
    ) -> Pronouns:
        """Measure unit vectors of sentences, (n, templates, d), and of pronouns, (templates, d)."""
        return cls.of_leans(leans(occupations, she, he), women, seed=seed)

    @classmethod
    def of_leans(
        cls,
        lean: Array,
        women: Mapping[str, float],
        *,
        seed: int = 0,
        measures: Measures = (STEREOTYPE, GAP, LEAN),
    ) -> Pronouns:
        """Summarise leans, shape ``(n,)``; see `of`."""
        share = np.array(list(women.values()), np.float64)
        n = len(lean)
        times = resampled_cells(np.ones(n, np.intp), np.random.default_rng(seed), SAMPLES)
        weights = times.astype(np.float64)
        gap = Estimate(float(lean.mean()), weights @ lean / n, "occupations")
        rank = Estimate(
            spearman(lean, share), weighted_spearman(lean, share, weights), "occupations"
        )
        return cls(women, lean, gap, rank, measures)

    def rows(
        self,
        subject: str,
        about: Mapping[str, Any],
        *,
        chance: Chance | None = None,
        words: bool = False,
    ) -> list[Row]:
        """Return the rows of both summaries and, with `words`, of each occupation."""
        details = {**about, "n": len(self.lean)}
        correlation, mean, of_one = self.measures
        constant = "undefined: all occupations lean alike"
        rows = [
            self.stereotype.row(
                subject,
                correlation,
                details,
                chance=() if chance is None else chance.stereotype,
                reason=constant,
            ),
            self.gap.row(
                subject,
                mean,
                details,
                chance=() if chance is None else chance.gap,
            ),
        ]
        for word, lean in zip(self.women if words else (), self.lean.tolist(), strict=False):
            known = {**about, "word": word, "women": self.women[word], **ideal(of_one)}
            rows.append(Row(subject, of_one, lean, known))
        return rows


@dataclass(frozen=True)
class Chance:
    """Both summaries where there is nothing to find."""

    stereotype: tuple[float, ...]
    gap: tuple[float, ...] = ()

    @classmethod
    def of(cls, occupations: Array, subjects: Array, women: Mapping[str, float]) -> Chance:
        """Measure every two of several subjects, ``(subjects, templates, d)``, in both orders."""
        share = np.array(list(women.values()), np.float64)
        pair_leans = [leans(occupations, a, b) for a, b in combinations(subjects, 2)]
        ranks = [spearman(lean, share) for lean in pair_leans]
        means = [float(lean.mean()) for lean in pair_leans]
        return cls((*ranks, *(-x for x in ranks)), (*means, *(-x for x in means)))

    @classmethod
    def permuted(cls, lean: Array, women: Mapping[str, float], *, seed: int = 0) -> Chance:
        """Correlate leans with permuted shares of women; take the middle 95 % of the values."""
        # The order of the shares that is opposite to a permutation counts too, which makes the mean
        # 0.
        rng, share = np.random.default_rng(seed), np.array(list(women.values()), np.float64)
        drawn = [spearman(lean, rng.permutation(share)) for _ in range(PERMUTATIONS)]
        both = np.array([*drawn, *(-x for x in drawn)])
        if np.isnan(both).any():  # all occupations lean alike
            return cls(())
        low, high = percentile_interval(both)
        return cls(tuple(both[(both >= low) & (both <= high)].tolist()))


def leans(occupations: Array, first: Array, second: Array) -> Array:
    """Return how much nearer to the first subject's sentence than to the second's, ``(n,)``."""
    to_first, to_second = (
        np.einsum("ntd,td->n", occupations, side) / occupations.shape[1] for side in (first, second)
    )
    difference: Array = to_first - to_second
    # of subjects with one vector, which are in no order
    difference[np.abs(difference) <= FLOAT32_ROUNDING] = 0
    return difference


def similarity_row(
    subject: str,
    name: str,
    first: Array,
    second: Array,
    about: Mapping[str, Any],
    *,
    seed: int = 0,
) -> Row:
    """Return the mean cosine of pairs of sentences, unit vectors of shape ``(n, d)`` each."""
    cosines = np.einsum("nd,nd->n", first, second)
    n = len(cosines)
    times = resampled_cells(np.ones(n, np.intp), np.random.default_rng(seed), SAMPLES)
    estimate = Estimate(float(cosines.mean()), times @ cosines / n, "pairs")
    return estimate.row(subject, SIMILARITY, {**about, "set": name, "n": n})
