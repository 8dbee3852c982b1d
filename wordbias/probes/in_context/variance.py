r"""In-sample variance: how uncertain the effect size of one draw is.

``"standard-error"``, the default
    The squared standard error of a standardised difference of means,

    .. math:: V = \frac{n + m}{n m} + \frac{d^2}{2 (n + m)}

    (Hedges and Olkin 1985, chapter 5; Borenstein et al. 2009, equation 4.20): what a random-effects
    model asks for, in the unit of the effect size squared. It is the uncertainty of having taken
    these words and not others, large for small sets, while the draws differ only in the sentences
    of the same words: Q is then far below N, and τ² is 0. As V grows with d², large effects weigh a
    little less, and the combined effect is nearer to 0 than the mean of the draws, by some percent.
``"released"``
    sd² of s(w, A, B) over X ∪ Y, the square of what the effect size was divided by. The released
    code of CEAT takes this. It is in the unit of a cosine squared, so that scaling all associations
    changes it but not the effect size, and it is no variance of an effect size. It is so small that
    τ² takes over, and the combined effect is all but the mean of the draws.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.probes.in_context.drawing import Drawn

Array = NDArray[np.float64]
Variance = Literal["standard-error", "released"]
VARIANCES: tuple[str, ...] = get_args(Variance)


def standard_error_squared(d: Array, n: int, m: int) -> Array:
    """Variance of standardised mean differences between groups of n and m; shape of `d`."""
    v: Array = (n + m) / (n * m) + d**2 / (2 * (n + m))
    return v


def in_sample_variances(drawn: Drawn, n: int, m: int, kind: Variance) -> Array:
    """Return V_i of every draw, shape ``(draws,)``.

    Raises
    ------
    WordbiasError
        If `kind` is none of `VARIANCES`.
    """
    if kind not in VARIANCES:
        raise WordbiasError(f"variance {kind!r}: expected one of {', '.join(VARIANCES)}")
    if kind == "released":
        return drawn.deviations**2
    return standard_error_squared(drawn.effects, n, m)
