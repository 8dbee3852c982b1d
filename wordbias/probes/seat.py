"""SEAT: WEAT on vectors of sentences that mention one word each (May et al. 2019).

A word stands in several templates, whose sentences are not independent. So the associations of a
word are means over its sentences, and effect size, test and interval are over words, as in WEAT.
The paper counts every sentence as a word of its own: with more templates its p falls, although
nothing more is known about the words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import FLOAT32_ROUNDING, normalise
from wordbias.measures.weat import (
    Alternative,
    effect_size,
    p_value,
    resampled_effect_sizes,
)
from wordbias.probes.estimates import Estimate
from wordbias.results import Row
from wordbias.wordlists.queries import Query

MEASURE = "seat"
Array = NDArray[np.float64]


class Seat:
    """SEAT of one query, on vectors of the sentences of each word, (templates, d)."""

    query: Query
    estimate: Estimate
    p: float | None
    alternative: Alternative

    def __init__(
        self,
        query: Query,
        vectors: Mapping[str, Array],
        seed: int = 0,
        alternative: Alternative = "greater",
    ) -> None:
        self.query, self.alternative = query, alternative
        x, y, a, b = (words for _, words in (*query.targets, *query.attributes))
        c = word_cosines([vectors[w] for w in (*x, *y)], [vectors[w] for w in (*a, *b)])
        s = c[:, : len(a)].mean(axis=1) - c[:, len(a) :].mean(axis=1)
        of_x, of_y = s[: len(x)], s[len(x) :]
        d = effect_size(of_x, of_y, least=FLOAT32_ROUNDING)
        sizes = (len(x), len(y), len(a), len(b))
        samples = resampled_effect_sizes(c, sizes, np.random.default_rng(seed))
        self.estimate = Estimate(d, samples, "words")
        self.p = None
        if np.isfinite(d):
            rng = np.random.default_rng(seed)
            self.p = p_value(of_x, of_y, rng, alternative=alternative).p

    def row(self, subject: str, about: Mapping[str, Any]) -> Row:
        """Return the effect size as a row, with its p."""
        sets = (*self.query.targets, *self.query.attributes)
        details = {
            **about,
            "set": self.query.name,
            "about": self.query.about,
            "n": {name: len(words) for name, words in sets},
            **({} if self.p is None else {"p": self.p, "alternative": self.alternative}),
        }
        return self.estimate.row(
            subject,
            MEASURE,
            details,
            reason="undefined: all target words are associated alike",
        )


def word_cosines(targets: list[Array], attributes: list[Array]) -> Array:
    """Return the mean cosine of the sentences of two words, for all pairs, shape ``(n, m)``."""
    first, second = (
        np.stack([normalise(np.asarray(vectors, np.float64)).mean(axis=0) for vectors in side])
        for side in (targets, attributes)
    )
    cosines: Array = first @ second.T  # the mean over all pairs of their sentences
    return cosines
