r"""Random-effects model: many effect sizes, each with a variance, combined into one.

DerSimonian and Laird (1986), "Meta-analysis in clinical trials", as used by CEAT (Guo and Caliskan
2021, section "Random-effects model"). With :math:`w_i = 1 / V_i`,

.. math:: Q = \sum w_i (e_i - \bar e_w)^2, \quad c = \sum w_i - \sum w_i^2 / \sum w_i, \quad
          \tau^2 = \max(0, (Q - (N - 1)) / c),

and with :math:`v_i = 1 / (V_i + \tau^2)` the combined effect is
:math:`\sum v_i e_i / \sum v_i`, its standard error :math:`1 / \sqrt{\sum v_i}`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError
from wordbias.statistics import Interval, normal_interval, upper_tail

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Combined:
    """Combined effect of `n` effect sizes by a random-effects model.

    Attributes
    ----------
    effect
        Combined effect size.
    se
        Standard error, which falls as 1/√n whatever the effects are.
    tau2
        τ², the variance between the effects that their own variances do not explain.
    q
        Cochran's Q.
    weights
        Weights v_i, shape ``(n,)``.
    """

    effect: float
    se: float
    tau2: float
    q: float
    weights: Array = field(repr=False)

    @property
    def interval(self) -> Interval:
        """Effect ± 1.96 standard errors."""
        return normal_interval(self.effect, self.se)

    @property
    def p(self) -> float:
        """One-sided p: probability of an effect at least as large if there were none."""
        return upper_tail(self.effect / self.se)

    @property
    def p_two_sided(self) -> float:
        """Two-sided p: probability of an effect at least as far from 0 if there were none."""
        return min(1.0, 2 * upper_tail(abs(self.effect) / self.se))


def combine_effects(effects: ArrayLike, variances: ArrayLike) -> Combined:
    """Combine effect sizes.

    Parameters
    ----------
    effects, variances
        Effect sizes e_i and variances V_i, shape ``(n,)`` each, n ≥ 2, V_i > 0.

    Raises
    ------
    WordbiasError
        If the shapes are others, a variance is not positive or a value is not finite.
    """
    e, variance = np.asarray(effects, np.float64), np.asarray(variances, np.float64)
    if e.ndim != 1 or e.shape != variance.shape or len(e) < 2:
        raise WordbiasError(
            "expected at least two effect sizes and a variance for each, got shapes "
            f"{e.shape} and {variance.shape}"
        )
    if not (np.isfinite(e).all() and np.isfinite(variance).all()):
        raise WordbiasError("expected finite effect sizes and variances")
    if variance.min() <= 0:
        raise WordbiasError(f"expected positive variances, found {variance.min():g}")
    w = 1 / variance
    fixed = w @ e / w.sum()
    q = float(w @ (e - fixed) ** 2)
    c = w.sum() - w @ w / w.sum()
    tau2 = max(0.0, float((q - (len(e) - 1)) / c))
    v = 1 / (variance + tau2)
    return Combined(float(v @ e / v.sum()), float(1 / np.sqrt(v.sum())), tau2, q, v)
