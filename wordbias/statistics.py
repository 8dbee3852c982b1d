"""Confidence intervals, tests and chance levels that all measures share."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.devices import blas_threads
from wordbias.errors import WordbiasError

Array = NDArray[np.float64]

SAMPLES = 1000
"""Number of bootstrap samples."""
Z95 = 1.959963984540054
"""Standard deviations around its mean that hold 95 % of a normal distribution."""
TIE = 1e-12
"""Relative difference below which two values of a test are equal."""
MAX_EXACT = 200_000
"""Number of partitions up to which the permutation test counts all."""
EXACT_PAIRS = 20
"""Number of pairs up to which the sign-flip test counts all signs."""
SIGNS = 100_000
"""Number of sign vectors drawn beyond `EXACT_PAIRS`."""
POWER = 0.8
"""Power of a test that has enough pairs."""
LEAST_PAIRS = 3
"""Smallest number of pairs that are correlated."""
_CONSTANT = 1e-12
_AT_ONCE = 1 << 21  # rows of bootstrap samples that are held at one time
_KEYS_AT_ONCE = 1 << 18  # random numbers that are held at one time to draw partitions


# Intervals


class Interval(NamedTuple):
    """Interval at 95 %."""

    low: float
    high: float


def percentile_interval(samples: Array) -> Interval:
    """Return the middle 95 % of bootstrap values, shape ``(b,)``; nan counts as no value."""
    low, high = np.percentile(samples[~np.isnan(samples)], [2.5, 97.5])
    return Interval(float(low), float(high))


def mean_interval(values: ArrayLike) -> Interval | None:
    """Return the 95 % interval of the mean of a few independent values, by Student's t.

    None for fewer than two values, whose spread is unknown.
    """
    from scipy.special import stdtrit

    x = np.asarray(values, np.float64)
    if len(x) < 2:
        return None
    half = float(stdtrit(len(x) - 1, 0.975) * x.std(ddof=1) / math.sqrt(len(x)))
    return Interval(float(x.mean()) - half, float(x.mean()) + half)


def excluded_effect(values: ArrayLike) -> float | None:
    r"""Return the smallest effect that a few independent differences exclude.

    An effect at least as large, in either direction, is excluded: two one-sided t tests at .05
    reject both that the mean is at least so far above 0 and that it is at least so far below
    (Schuirmann 1987). It is the end of the 90 % interval that is farther from 0,
    :math:`|\bar d| + t_{.95,n-1}\, s/\sqrt n`.

    None for fewer than two values, which exclude nothing.
    """
    from scipy.special import stdtrit

    x = np.asarray(values, np.float64)
    if len(x) < 2:
        return None
    return float(abs(x.mean()) + stdtrit(len(x) - 1, 0.95) * x.std(ddof=1) / math.sqrt(len(x)))


def normal_interval(estimate: float, standard_error: float) -> Interval:
    """Return the 95 % interval of an estimate that is normally distributed."""
    return Interval(estimate - Z95 * standard_error, estimate + Z95 * standard_error)


def wilson(share: float, n: int) -> Interval:
    """Return Wilson's interval of a share of `n` (Wilson 1927)."""
    inflated = 1 + Z95**2 / n
    middle = (share + Z95**2 / (2 * n)) / inflated
    half = Z95 / inflated * math.sqrt(share * (1 - share) / n + (Z95 / (2 * n)) ** 2)
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


# Bootstrap


def resamples(
    n: int, rng: np.random.Generator, samples: int = SAMPLES
) -> Iterator[NDArray[np.intp]]:
    """Yield row numbers (b, n) of `samples` draws of `n` rows with replacement."""
    # All that fit into memory together come at once.
    step = max(1, _AT_ONCE // n)
    for start in range(0, samples, step):
        yield rng.integers(n, size=(min(step, samples - start), n))


def bootstrap(
    statistic: Callable[[NDArray[np.intp]], Array],
    n: int,
    rng: np.random.Generator,
    samples: int = SAMPLES,
) -> Array:
    """Return a statistic of bootstrap samples, (samples,), from row numbers (b, n)."""
    return np.concatenate([statistic(rows) for rows in resamples(n, rng, samples)])


def resampled_means(values: Array, rng: np.random.Generator, samples: int = SAMPLES) -> Array:
    """Return means, (samples, m), of bootstrap samples of rows (n, m), drawn together."""
    n = len(values)
    with blas_threads(1):  # so that the last bit does not depend on where it is computed
        return np.concatenate([_times(rows) @ values / n for rows in resamples(n, rng, samples)])


def crossed_means(
    values: Array,
    factors: Sequence[NDArray[np.intp]],
    rng: np.random.Generator,
    samples: int = SAMPLES,
) -> Array:
    """Return means, (samples, m), of bootstrap samples of rows that share levels (Owen 2007)."""
    # The levels are drawn again, and a row counts as often as all of its levels together: questions
    # over 22 × 20 pairs of words are samples of pairs, not 440 independent ones. Where levels
    # hardly repeat, the interval is too wide, by √3 at most for two factors. A factor has the level
    # of each row, (n,), or several, (n, k). nan for a sample without a row.
    sizes = [int(levels.max()) + 1 for levels in factors]
    drawn = [rng.multinomial(size, np.full(size, 1 / size), samples) for size in sizes]
    step, means = max(1, _AT_ONCE // len(values)), []
    for start in range(0, samples, step):
        times = np.ones((1, len(values)))
        for counts, levels in zip(drawn, factors, strict=True):
            for level in np.atleast_2d(levels.T):
                times = times * counts[start : start + step, level]
        total = times.sum(axis=1, keepdims=True)
        total[total == 0] = np.nan
        with blas_threads(1):
            means.append(times @ values / total)
    return np.concatenate(means)


def resampled_cells(
    counts: NDArray[np.intp], rng: np.random.Generator, samples: int = SAMPLES
) -> NDArray[np.intp]:
    """Return bootstrap samples of words that fall into few cells, shape ``(samples, cells)``."""
    # A statistic that depends only on the number of words in each cell needs no word to be drawn.
    # Where each cell is one word, this is how often each is drawn.
    return rng.multinomial(int(counts.sum()), counts / counts.sum(), samples)


def _times(rows: NDArray[np.intp]) -> Array:
    """Count how often each of `n` rows is drawn in each sample, shape ``(b, n)``."""
    times = np.empty(rows.shape)
    for sample, counts in zip(rows, times, strict=True):  # the counts of all would fill no cache
        counts[:] = np.bincount(sample, minlength=len(sample))
    return times


# Tests


class PValue(NamedTuple):
    """A p-value with the number of partitions; `exact` if these are all there are."""

    p: float
    partitions: int
    exact: bool


def p_of_null(null: Array, least: float, *, exact: bool = False) -> float:
    """Return how often a statistic is this large or larger where there is no effect."""
    # `exact`: `null` holds all values there are, the observed one among them: p is r / n. Otherwise
    # it is a sample, and p is (r + 1) / (n + 1), which is never 0. `least` is the observed value,
    # less what is a tie.
    extra = 0 if exact else 1
    return (int(np.count_nonzero(null >= least)) + extra) / (len(null) + extra)


def permutation_test(
    values: Array,
    first: int,
    statistic: Callable[[Array], Array],
    observed: float,
    rng: np.random.Generator,
    *,
    samples: int,
    max_exact: int = MAX_EXACT,
    tie: float = TIE,
    strict: bool = False,
) -> PValue:
    r"""Test whether two groups differ more than groups of the same sizes made at random.

    All :math:`\binom{n}{k}` partitions are counted if there are at most `max_exact`. The observed
    one is among them, and p is never 0. Otherwise `samples` are drawn, each k rows without
    replacement, and p = (r + 1)/(N + 1). `statistic` takes sums over the first group of partitions,
    ``(b,)`` or ``(b, m)``. `strict` counts only partitions with a larger value than the observed
    one, r/N, which can be 0: not a valid test, but published.
    """
    exact = math.comb(len(values), first) <= max_exact
    null = (
        statistic(subset_sums(values, first))
        if exact
        else np.concatenate([statistic(s) for s in _drawn_sums(values, first, rng, samples)])
    )
    if strict:
        return PValue(float((null > observed + tie).mean()), len(null), exact)
    return PValue(p_of_null(null, observed - tie, exact=exact), len(null), exact)


def subset_sums(values: Array, k: int) -> Array:
    """Return the sum of each subset of `k` of the rows, (n,) or (n, m), in no useful order.

    Pascal's rule on arrays: the k-subsets of the first i values are those of the first i − 1, and
    its (k − 1)-subsets with the i-th value added. Each is one addition of a whole array; what
    cannot reach size `k` any more is dropped.
    """
    n, rest = len(values), values.shape[1:]
    sums, nothing = {0: np.zeros((1, *rest))}, np.zeros((0, *rest))
    for i, value in enumerate(values):
        sizes = range(max(0, k - (n - i - 1)), min(k, i + 1) + 1)
        sums = {
            j: np.concatenate([sums.get(j, nothing), sums.get(j - 1, nothing) + value])
            for j in sizes
        }
    return sums[k]


def _drawn_sums(values: Array, k: int, rng: np.random.Generator, samples: int) -> Iterator[Array]:
    """Yield sums of `k` rows drawn without replacement, in blocks, `samples` in all."""
    n = len(values)
    step = max(1, _KEYS_AT_ONCE // n)
    for start in range(0, samples, step):
        keys = rng.random((min(step, samples - start), n))
        yield values[np.argpartition(keys, k, axis=1)[:, :k]].sum(axis=1)


def sign_flip_p(differences: ArrayLike, seed: int = 0) -> float:
    r"""Return the two-sided p of the mean difference of pairs, (n,) (Fisher 1935).

    If nothing differs, each pair's difference is equally likely to have the other sign. p is the
    share of the :math:`2^n` signs under which \|Σ±d\| is at least \|Σd\|, these among them; beyond
    20 pairs (r + 1)/(N + 1) of 100,000 drawn. Sums that differ by less than 1e-12 Σ\|d\| are ties.
    """
    d = np.asarray(differences, np.float64)
    if d.ndim != 1 or not len(d) or not np.isfinite(d).all():
        raise WordbiasError(
            f"expected one finite difference for each pair, shape (n,), found {d.shape}"
        )
    largest = np.abs(d).max()
    if largest == 0:
        return 1.0
    d = d / largest
    exact = len(d) <= EXACT_PAIRS
    if exact:
        sums = np.zeros(1)
        for value in d:
            sums = np.concatenate([sums + value, sums - value])
    else:
        signs = np.random.default_rng(seed).integers(0, 2, (SIGNS, len(d)), np.int8)
        step = max(1, _AT_ONCE // len(d))
        parts = (signs[start : start + step] for start in range(0, SIGNS, step))
        sums = np.concatenate([(2.0 * part - 1.0) @ d for part in parts])
    return p_of_null(np.abs(sums), abs(d.sum()) - TIE * np.abs(d).sum(), exact=exact)


def t_power(shift: float, df: float, level: float = 0.05) -> float:
    """Return the power of a two-sided t test, by the noncentral t distribution."""
    # `shift` is the true effect in standard errors, δ√n/σ of n paired differences.
    from scipy.special import ncfdtr, stdtrit

    critical = float(stdtrit(df, 1 - level / 2))
    missed = float(ncfdtr(1, df, shift**2, critical**2))  # F is t squared: both tails at once
    return 1.0 if math.isnan(missed) else 1 - missed  # scipy's nan: too small for a float


def detectable_effect(spread: float, n: int) -> float | None:
    """Return the effect that a paired t test of `n` differences finds with power .8."""
    from scipy.optimize import brentq

    if n < 2:
        return None
    shift = brentq(lambda shift: t_power(shift, n - 1) - POWER, 0, 100)
    return float(shift * spread / math.sqrt(n))


def pairs_needed(effect: float, spread: float, level: float = 0.05) -> int:
    """Return the fewest differences in which a paired t test finds an effect with power .8."""
    if effect == 0:
        raise WordbiasError("no number of pairs finds an effect of 0; expected another one")

    def enough(n: int) -> bool:
        return t_power(effect * math.sqrt(n) / spread, n - 1, level) >= POWER if spread else True

    most = 2
    while not enough(most):
        most *= 2
    return bisect_left(range(most), True, lo=2, key=enough)


def holm(p: ArrayLike) -> Array:
    r"""Correct p-values for the number of tests (Holm 1979).

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min\bigl(1, (m - j + 1)\, p_{(j)}\bigr)

    The chance that any true null hypothesis among the `m` is rejected at a level is at most that
    level, however the tests depend on each other: those of one embedding share words, and depend.
    """
    values = np.asarray(p, np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise WordbiasError(f"expected p-values in [0, 1], shape (m,), got {values.tolist()}")
    order = np.argsort(values, kind="stable")
    steps = np.minimum(1, values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty_like(values)
    corrected[order] = np.maximum.accumulate(steps)
    return corrected


def upper_tail(z: float) -> float:
    """Return 1 − Φ(z) of the normal distribution, exact far out too."""
    return 0.5 * math.erfc(z / math.sqrt(2))


# Chance levels


def majority_share(labels: NDArray[np.integer]) -> float:
    """Return the accuracy of always predicting the commonest label, from numbers of labels."""
    return float(np.bincount(labels).max() / len(labels))


# Correlation


def is_constant(values: Array) -> bool:
    """Return whether finite values differ by no more than rounding."""
    largest = np.abs(values).max()
    return bool(largest == 0 or np.ptp(values / largest) <= _CONSTANT)


def spearman(x: Array, y: Array) -> float:
    """Return Spearman's ρ of two samples of shape ``(n,)``, ties at their mean rank."""
    # nan where it is undefined: below two values, or where one side has only one.
    return float(weighted_spearman(x, y, np.ones((1, len(x))))[0]) if len(x) else float("nan")


def resampled_spearman(
    x: Array, y: Array, rng: np.random.Generator, samples: int = SAMPLES
) -> Array:
    """Return ρ of pairs that are drawn and ranked again, (samples,), nan where undefined."""
    if not len(x):
        return np.full(samples, np.nan)
    return bootstrap(
        lambda rows: weighted_spearman(x, y, _times(rows)),
        len(x),
        rng,
        samples,
    )


def weighted_spearman(x: Array, y: Array, times: Array) -> Array:
    """Return ρ of samples in which pair `i` occurs ``times[s, i]`` times, shape ``(s,)``."""
    n = times.sum(axis=1, keepdims=True)
    a, b = (_ranks(values, times) - (n + 1) / 2 for values in (x, y))
    weighted = times * a
    product = np.einsum("sn,sn->s", weighted, b)
    square = np.einsum("sn,sn->s", weighted, a) * np.einsum("sn,sn,sn->s", times, b, b)
    rho = np.full(len(times), np.nan)
    np.divide(product, np.sqrt(square), out=rho, where=square > 0)
    clipped: Array = np.clip(rho, -1, 1)
    return clipped


def _ranks(values: Array, times: Array) -> Array:
    """Return the mean rank, from 1, of every value in every sample, shape ``(s, n)``."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    counts = np.add.reduceat(times[:, order], first, axis=1)
    rank = np.cumsum(counts, axis=1) - (counts - 1) / 2
    group = np.empty(len(values), np.intp)
    group[order] = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(values))))
    return rank[:, group]
