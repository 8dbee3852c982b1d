r"""CEAT, the contextualised embedding association test, on vectors of words in context.

Guo and Caliskan (2021), "Detecting emergent intersectional biases"; the intrinsic measure of
contextual models in Orgad et al. (2022). Neutral is 0; positive: X goes with A and Y with B.

Effect sizes, each with a variance, are combined by the random-effects model of DerSimonian and
Laird (1986), "Meta-analysis in clinical trials" (section "Random-effects model" of the paper). With
:math:`w_i = 1 / V_i`,

.. math:: Q = \sum w_i (e_i - \bar e_w)^2, \quad c = \sum w_i - \sum w_i^2 / \sum w_i, \quad
          \tau^2 = \max(0, (Q - (N - 1)) / c),

and with :math:`v_i = 1 / (V_i + \tau^2)` the combined effect is
:math:`\sum v_i e_i / \sum v_i`, its standard error :math:`1 / \sqrt{\sum v_i}`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.devices import blas_threads, ordered_map
from wordbias.draws import by_normal
from wordbias.errors import WordbiasError
from wordbias.progress import counted
from wordbias.statistics import Interval, normal_interval, percentile_interval, upper_tail

Array = NDArray[np.float64]
Float32 = NDArray[np.float32]
Places = NDArray[np.intp]
Sizes = tuple[int, int, int, int]
Variance = Literal["standard-error", "released"]
VARIANCES: tuple[str, ...] = get_args(Variance)
DRAWS = 10_000
_AT_ONCE = 1024
"""Vectors of a block: at most 3 MiB of 768 dimensions."""
_CLEAR = 2
"""Smallest ratio of a variance to its own Monte-Carlo standard error for it to be reported."""


@dataclass(frozen=True, eq=False)
class Contexts:
    """Contextual vectors of a query's words."""

    # unit vectors, the contexts of one word after those of another, in the order of X, Y, A and B,
    # shape `(c, d)`
    vectors: Float32 = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)  # number of contexts of each word, shape `(k,)`
    sizes: Sizes  # number of words in X, Y, A and B; their sum is k

    @classmethod
    def of(
        cls, sets: Sequence[Sequence[ArrayLike]], names: Sequence[str] | None = None
    ) -> Contexts:
        """Return the contexts of the words of X, Y, A and B, scaled to unit length."""
        words = [np.asarray(word, np.float32) for words in sets for word in words]
        x, y, a, b = map(len, sets)
        if min(x, y) < 2 or min(a, b) < 1:
            raise WordbiasError(
                f"expected two words or more in X and Y, one or more in A and B, got {x, y, a, b}"
            )
        if any(word.ndim != 2 or not len(word) for word in words):
            raise WordbiasError("expected of each word its vectors, shape (contexts, d)")
        counts = np.array([len(word) for word in words])
        vectors = np.concatenate(words)
        with np.errstate(over="ignore", invalid="ignore"):
            length = np.sqrt(np.einsum("id,id->i", vectors, vectors, dtype=np.float64))
        usable = np.isfinite(length) & (length > 0)
        if not usable.all():
            bad = int(np.argmin(usable))
            word = int(np.searchsorted(np.cumsum(counts), bad, "right"))
            fault = "is zero, and has no cosine with any other"
            if length[bad] != 0:
                fault = "holds a value that is no finite number"
            name = names[word] if names else f"word {word + 1}"
            raise WordbiasError(f"{name}: one of its vectors {fault}")
        vectors /= length[:, None]
        return cls(vectors, counts, (x, y, a, b))

    @property
    def rounding(self) -> float:
        """Largest rounding error of an association: √d times the precision of float32."""
        return float(np.sqrt(self.vectors.shape[1]) * np.finfo(np.float32).eps)


@dataclass(frozen=True)
class Association:
    """CEAT of one query on one layer."""

    # combined effect size of all draws. Its standard error, interval and p say how well the mean of
    # all possible draws is known; they shrink as 1/√draws, and test nothing.
    combined: Combined
    drawn: Drawn = field(repr=False)
    # standard error of the combined effect over other samples of sentences; it does not shrink with
    # the number of draws. None where it is undefined.
    sentence_se: float | None
    reason: str  # reason why `sentence_se` is None
    # standard error of the combined effect over other draws of the same sentences
    monte_carlo_se: float

    def details(self) -> dict[str, Any]:
        """Return the details of a row."""
        effects, combined = self.drawn.effects, self.combined
        low, high = percentile_interval(effects)
        return {
            **self._interval(),
            "p": combined.p,
            "se": combined.se,
            "draws": len(effects),
            "draws_mean": float(effects.mean()),
            "draws_sd": float(effects.std(ddof=1)),
            "draws_low": low,
            "draws_high": high,
            "draws_above_0": float((effects > 0).mean()),
        }

    def _interval(self) -> dict[str, Any]:
        if self.sentence_se is None:
            return {"low": None, "high": None, "reason": self.reason}
        return by_normal(self.combined.effect, self.sentence_se, "distinct sentences")


class UndefinedError(WordbiasError):
    """There is no effect size: all target words are associated alike."""


def associate(
    contexts: Contexts,
    *,
    draws: int = DRAWS,
    variance: Variance = "standard-error",
    seed: int = 0,
) -> Association:
    """Run CEAT on the contexts of a query's words, with at least two draws."""
    # The same seed draws the same sentences from any vectors of them.
    if draws < 2:
        raise WordbiasError(f"{draws} draws: expected two or more")
    places = draw_places(contexts.counts, draws, np.random.default_rng(seed))
    return associate_drawn(contexts, places, variance)


def associate_drawn(contexts: Contexts, places: Places, variance: Variance) -> Association:
    """Run CEAT on given draws; see `associate`."""
    drawn = drawn_effects(contexts, places)
    if len(drawn.effects) < 2:
        raise UndefinedError("undefined: all target words are associated alike")
    n, m = contexts.sizes[:2]
    combined = combine_effects(drawn.effects, in_sample_variances(drawn, n, m, variance))
    r = contributions(drawn.effects, combined)
    se, reason = _sentence_se(contexts, drawn, r)
    return Association(combined, drawn, se, reason, float(r.std(ddof=1) / math.sqrt(len(r))))


def _sentence_se(contexts: Contexts, drawn: Drawn, r: Any) -> tuple[float | None, str]:
    """Return the standard error over sentences, or None and the reason."""
    if contexts.counts.max() == 1:
        return None, "undefined: every word has only one sentence, whose spread is unknown"
    if np.ptp(drawn.effects) <= 4 * contexts.rounding / drawn.deviations.min():
        return 0.0, ""
    spread = sentence_spread(r, drawn.places, contexts.counts.tolist())
    if not spread.is_clear:
        return None, "undefined: too few draws to see how much the sentences matter; take more"
    return math.sqrt(spread.variance), ""


# draws


@dataclass(frozen=True, eq=False)
class Drawn:
    """Draws that have an effect size."""

    effects: Array  # effect sizes e_i, shape `(n,)`
    deviations: Array  # standard deviation of s over X ∪ Y, the divisor of each, shape `(n,)`
    # context of each word in each draw, as its place among the word's contexts, shape `(n, k)`
    places: Places
    # number of draws without an effect size, because all target words were associated alike
    undefined: int = 0


def draw_places(counts: ArrayLike, draws: int, rng: np.random.Generator) -> Places:
    """Draw one context of every word, `draws` times, independently; shape ``(draws, k)``."""
    n = np.asarray(counts)
    return rng.integers(0, n, size=(draws, len(n)))


def drawn_effects(contexts: Contexts, places: Places) -> Drawn:
    """Compute the effect size of every draw; ``ddof=1``, as CEAT and Caliskan et al. do."""
    # Each draw is one WEAT on contextual vectors (Guo and Caliskan 2021, section "CEAT"). `places`
    # has the context of each word in each draw, (draws, k).
    n, m = contexts.sizes[:2]
    s = drawn_associations(contexts, places)
    gap = s[:, :n].mean(axis=1) - s[:, n : n + m].mean(axis=1)
    deviations = s.std(axis=1, ddof=1)
    usable = deviations > contexts.rounding
    effects = gap[usable] / deviations[usable]
    return Drawn(effects, deviations[usable], places[usable], int((~usable).sum()))


def drawn_associations(contexts: Contexts, places: Places) -> Array:
    r"""Return s(w, A, B) of every target word in every draw, shape ``(draws, |X| + |Y|)``.

    All vectors have unit length, so that

    .. math:: s(w, A, B) = \langle w,
              \operatorname{mean}_{a \in A} a - \operatorname{mean}_{b \in B} b \rangle:

    a draw costs one direction and n + m inner products. Draws are computed in blocks whose vectors
    stay in the processor's cache, products in float32 and all else in float64.
    """
    starts = np.concatenate([[0], np.cumsum(contexts.counts)[:-1]])
    rows = places + starts
    step = max(1, _AT_ONCE // rows.shape[1])
    blocks = [rows[start : start + step] for start in range(0, len(rows), step)]
    x, y, a, b = contexts.sizes
    signs = np.concatenate([np.full(a, 1 / a), np.full(b, -1 / b)]).astype(np.float32)

    def work(block: Places) -> Float32:
        u = signs @ contexts.vectors.take(block[:, x + y :], axis=0)  # (draws, d)
        s: Float32 = (contexts.vectors.take(block[:, : x + y], axis=0) @ u[:, :, None])[:, :, 0]
        return s

    with blas_threads(1):
        s = np.concatenate(list(counted(ordered_map(work, blocks), "drawing", len(blocks))))
    return s.astype(np.float64)


# in-sample variance


def in_sample_variances(drawn: Drawn, n: int, m: int, kind: Variance) -> Array:
    r"""Return V_i, the variance of the effect size of every draw, shape ``(draws,)``.

    ``standard-error``, the default, is the squared standard error of a standardised difference of
    means of n and m words,

    .. math:: V = \frac{n + m}{n m} + \frac{d^2}{2 (n + m)}

    (Hedges and Olkin 1985, chapter 5; Borenstein et al. 2009, equation 4.20): what a random-effects
    model needs, in the unit of the effect size squared. It is the uncertainty of having taken these
    words and not others, large for small sets, while the draws differ only in the sentences of the
    same words: Q is then far below N, and τ² is 0. As V grows with d², large effects weigh a little
    less, and the combined effect is nearer to 0 than the mean of the draws, by some percent.

    ``released``, of the released code of CEAT, is sd² of s(w, A, B) over X ∪ Y, the square of the
    effect size's denominator. It is in the unit of a cosine squared: scaling all associations
    changes it but not the effect size, and it is no variance of an effect size. It is so small that
    τ² dominates, and the combined effect is nearly the mean of the draws.
    """
    if kind not in VARIANCES:
        raise WordbiasError(f"variance {kind!r}: expected one of {', '.join(VARIANCES)}")
    if kind == "released":
        return drawn.deviations**2
    return standard_error_squared(drawn.effects, n, m)


def standard_error_squared(d: Array, n: int, m: int) -> Array:
    """Return the variance of standardised mean differences between groups of n and m words."""
    v: Array = (n + m) / (n * m) + d**2 / (2 * (n + m))
    return v


# spread over sentences


def contributions(effects: Array, combined: Combined) -> Array:
    """Return r_i, the contribution of each draw to the combined effect, shape ``(n,)``, mean 0."""
    v = combined.weights
    r: Array = v * (effects - combined.effect) / v.mean()
    return r


class Spread(NamedTuple):
    """Variance of an effect over resampled sentences."""

    variance: float  # unbiased estimate, hence below 0 where the draws are too few
    # Monte-Carlo standard error of `variance`, as it would be if sentences had no influence
    noise: float

    @property
    def is_clear(self) -> bool:
        """True if there are enough draws to distinguish the variance from their noise."""
        return self.variance > _CLEAR * self.noise


def sentence_spread(r: Array, places: NDArray[np.intp], counts: Sequence[int]) -> Spread:
    r"""Return the variance of the mean of `r`, (n,), over resampled sentences, with many draws.

    The bootstrap draws the distinct sentences of every word again with replacement. The combined
    effect is a weighted mean over draws, :math:`\sum v_i e_i / \sum v_i`, and :math:`r_i = v_i (e_i
    - \hat e) / \bar v` is the contribution of draw i to it. Each draw takes one sentence of every
    word, independently: in the limit of many draws the effect is a mean over the product of the
    words' sentences. The contribution of sentence z of word w is :math:`g_w(z) = E[r \mid z]`, and
    to first order in the number of sentences n_w the bootstrap's variance is

    .. math:: \sum_w \operatorname{Var}_z(g_w(z)) / n_w.

    Two draws that took the same sentence of w, and all else independently, have :math:`E[r_i r_j] =
    \operatorname{Var}_z g_w(z)`. The mean over all such pairs is therefore free of the Monte-Carlo
    noise of the draws: only the mean of r has to be subtracted.

    As sentences are a sample, Var_z is multiplied by n_w / (n_w − 1). Higher orders then enter with
    at least their true weight: the variance is that of a jackknife, which on average is too large
    rather than too small (Efron and Stein 1981). Words are fixed, and sentences are taken as
    independent of each other. A word with one sentence contributes nothing.
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


# random-effects model


@dataclass(frozen=True, eq=False)
class Combined:
    """Combined effect of `n` effect sizes by a random-effects model."""

    effect: float
    se: float  # standard error, which falls as 1/√n whatever the effects are
    tau2: float  # τ², the variance between the effects that their own variances do not explain
    q: float  # Cochran's Q
    weights: Array = field(repr=False)  # weights v_i, shape `(n,)`

    @property
    def interval(self) -> Interval:
        """Effect ± 1.96 standard errors."""
        return normal_interval(self.effect, self.se)

    @property
    def p(self) -> float:
        """One-sided p: probability of an effect at least as large if there were none."""
        return upper_tail(self.effect / self.se)


def combine_effects(effects: ArrayLike, variances: ArrayLike) -> Combined:
    """Combine effect sizes e_i and variances V_i > 0, ``(n,)`` each, by a random-effects model."""
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
