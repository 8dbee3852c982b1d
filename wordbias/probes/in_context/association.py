"""The contextualised association test on vectors: draws, their combined effect, its errors.

CEAT (Guo and Caliskan 2021, "Detecting emergent intersectional biases"), the intrinsic measure of
contextual models in Orgad et al. (2022). Neutral is 0; positive: X goes with A and Y with B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.probes.in_context.drawing import Contexts, Drawn, Places, draw_places, drawn_effects
from wordbias.probes.in_context.random_effects import Combined, combine_effects
from wordbias.probes.in_context.resampling import contributions, sentence_spread
from wordbias.probes.in_context.variance import Variance, in_sample_variances
from wordbias.statistics import normal_interval, percentile_interval

DRAWS = 10_000


class UndefinedError(WordbiasError):
    """There is no effect size: all target words are associated alike."""


@dataclass(frozen=True)
class Association:
    """CEAT of one query on one layer.

    Attributes
    ----------
    combined
        The effect sizes of all draws combined. Its standard error, interval and p say how well the
        mean of all possible draws is known; they shrink as 1/√draws, and test nothing.
    drawn
        The effect size of every draw.
    sentence_se
        The standard error of the combined effect as other sentences would have been found; it does
        not shrink with the number of draws. None where it is undefined.
    reason
        Why `sentence_se` is None.
    monte_carlo_se
        How far the combined effect would move with other draws of the same sentences.
    """

    combined: Combined
    drawn: Drawn = field(repr=False)
    sentence_se: float | None
    reason: str
    monte_carlo_se: float

    def details(self) -> dict[str, Any]:
        """Return the details of a row."""
        effects, combined = self.drawn.effects, self.combined
        low, high = percentile_interval(effects)
        return {
            **self._interval(),
            "p": combined.p,
            "p_two_sided": combined.p_two_sided,
            "random_effects_se": combined.se,
            "random_effects_low": combined.interval.low,
            "random_effects_high": combined.interval.high,
            "tau2": combined.tau2,
            "q": combined.q,
            "draws": len(effects),
            "undefined_draws": self.drawn.undefined,
            "draws_mean": float(effects.mean()),
            "draws_sd": float(effects.std(ddof=1)),
            "draws_low": low,
            "draws_high": high,
            "draws_above_0": float((effects > 0).mean()),
            "monte_carlo_se": self.monte_carlo_se,
        }

    def _interval(self) -> dict[str, Any]:
        if self.sentence_se is None:
            return {"low": None, "high": None, "sentence_se": None, "interval_reason": self.reason}
        low, high = normal_interval(self.combined.effect, self.sentence_se)
        about = "95 %, bootstrap over distinct sentences"
        return {"low": low, "high": high, "sentence_se": self.sentence_se, "interval": about}


def associate(
    contexts: Contexts,
    *,
    draws: int = DRAWS,
    variance: Variance = "standard-error",
    seed: int = 0,
) -> Association:
    """Run CEAT on the contexts of a query's words.

    Parameters
    ----------
    contexts
        Vectors of every word.
    draws
        N, at least 2.
    variance
        See `wordbias.probes.in_context.variance`.
    seed
        Of the draws; the same seed draws the same sentences from any vectors of them.

    Raises
    ------
    WordbiasError
        If fewer than two draws are asked for, or fewer than two have an effect size
        (`UndefinedError`).
    """
    if draws < 2:
        raise WordbiasError(f"{draws} draws: expected two or more")
    places = draw_places(contexts.counts, draws, np.random.default_rng(seed))
    return associate_drawn(contexts, places, variance)


def associate_drawn(contexts: Contexts, places: Places, variance: Variance) -> Association:
    """Run CEAT on draws that were made; see `associate`."""
    drawn = drawn_effects(contexts, places)
    if len(drawn.effects) < 2:
        raise UndefinedError("undefined: all target words are associated alike")
    n, m = contexts.sizes[:2]
    combined = combine_effects(drawn.effects, in_sample_variances(drawn, n, m, variance))
    r = contributions(drawn.effects, combined)
    se, reason = _sentence_se(contexts, drawn, r)
    return Association(combined, drawn, se, reason, float(r.std(ddof=1) / math.sqrt(len(r))))


def _sentence_se(contexts: Contexts, drawn: Drawn, r: Any) -> tuple[float | None, str]:
    if contexts.counts.max() == 1:
        return None, "undefined: every word has one sentence, of whose spread nothing is known"
    if np.ptp(drawn.effects) <= 4 * contexts.rounding / drawn.deviations.min():
        return 0.0, ""
    spread = sentence_spread(r, drawn.places, contexts.counts.tolist())
    if not spread.is_clear:
        return None, "undefined: too few draws to see how much the sentences matter; take more"
    return math.sqrt(spread.variance), ""
