r"""Bootstrap over sentences: how far the combined effect depends on which sentences there are.

The bootstrap draws the distinct sentences of every word again with replacement, and takes the
combined effect of each such set of sentences in the limit of many draws. That effect does not
depend on how many draws there are, so neither does its spread. Simulated, it would need about
as many draws for each resample as a word has sentences, and a thousand resamples. Its variance can
be had from the draws made already:

The combined effect is a weighted mean over draws, :math:`\sum v_i e_i / \sum v_i`, and
:math:`r_i = v_i (e_i - \hat e) / \bar v` is what draw i contributes to it. Each draw takes one
sentence of every word, independently, so in the limit the effect is a mean over the product of the
words' sentences. What sentence z of word w contributes is :math:`g_w(z) = E[r \mid z]`, and to
first order in the number of sentences n_w the bootstrap's variance is

.. math:: \sum_w \operatorname{Var}_z(g_w(z)) / n_w.

Two draws that took the same sentence of w, and all else independently, have
:math:`E[r_i r_j] = \operatorname{Var}_z g_w(z)`. The mean over all such pairs is therefore free of
the Monte-Carlo noise of the draws: nothing has to be subtracted but the mean of r.

As sentences are a sample, Var_z is multiplied by n_w / (n_w − 1). Higher orders (the contributions
that two sentences make together) then enter with at least their true weight: the variance is that
of a jackknife, which on average is too large rather than too small (Efron and Stein 1981). It
vanishes against the first order as n_w grows. Words are fixed: it says nothing of other words.
Sentences are taken as independent of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.probes.in_context.random_effects import Combined

Array = NDArray[np.float64]
_CLEAR = 2
"""A variance is reported if it is so many times its own Monte-Carlo standard error."""


class Spread(NamedTuple):
    """Variance of an effect over resampled sentences.

    Attributes
    ----------
    variance
        Unbiased, hence below 0 where the draws are too few.
    noise
        The Monte-Carlo standard error of `variance`, as it would be if sentences had no influence.
    """

    variance: float
    noise: float

    @property
    def is_clear(self) -> bool:
        """Whether there were enough draws to distinguish the variance from their noise."""
        return self.variance > _CLEAR * self.noise


def contributions(effects: Array, combined: Combined) -> Array:
    """r_i: what every draw contributes to the combined effect, shape ``(n,)``, mean 0."""
    v = combined.weights
    r: Array = v * (effects - combined.effect) / v.mean()
    return r


def sentence_spread(r: Array, places: NDArray[np.intp], counts: Sequence[int]) -> Spread:
    """Variance of the mean of `r` over resampled sentences, in the limit of many draws.

    Parameters
    ----------
    r
        Contributions, shape ``(n,)``, mean 0.
    places
        Which of its sentences each word had in every draw, shape ``(n, k)``.
    counts
        How many sentences each of the k words has. A word with one contributes nothing: of its
        spread nothing is known.
    """
    variance, noise2 = 0.0, 0.0
    every = len(r) * (len(r) - 1)  # pairs of draws
    common = float(r @ r) / every  # minus the mean of r_i r_j over all pairs
    for place, n in zip(places.T, counts, strict=True):
        if n < 2:
            continue
        times = np.bincount(place, minlength=n)
        pairs = int(times @ (times - 1))
        if not pairs:
            return Spread(0.0, float("inf"))
        total, squares = np.bincount(place, r, n), np.bincount(place, r * r, n)
        variance += ((total @ total - squares.sum()) / pairs + common) / (n - 1)
        noise2 += 2 * (1 / pairs - 1 / every) / (n - 1) ** 2
    return Spread(float(variance), float(np.sqrt(noise2) * r.var()))
