r"""Marked attribute bias: does "a person" entail "he" but not "she"? (Dawkins 2021, section 3).

Every probability vector is (N, E, C), and the ideal one is (1, 0, 0).
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.statistics import (
    Interval,
    PValue,
    percentile_interval,
    permutation_test,
    resampled_means,
)

Float = NDArray[np.float64]

IDEAL = np.array([1.0, 0.0, 0.0])
PARTITIONS = 10_000


class Marked(NamedTuple):
    """Bias between two groups of words.

    Attributes
    ----------
    first, second
        Mean probability vector of each group, shape ``(3,)``: of male and female words in the
        paper.
    distance
        ``‖mean_M − mean_F‖``: what all printed tables show; eq. (2) of the paper is a quarter of
        it. Neutral: 0.
    error
        ``½ Σ ‖(1, 0, 0) − mean‖`` over the two groups: what the printed tables show. Neutral: 0.
    error_per_pair
        Mean of ``‖(1, 0, 0) − p‖`` over the pairs, as eq. (1) says; never below `error`, for the
        norm is convex. Neutral: 0.
    """

    first: Float
    second: Float
    distance: float
    error: float
    error_per_pair: float


def marked(first: Float, second: Float) -> Marked:
    """Compare two groups of words.

    Parameters
    ----------
    first, second
        Probabilities of each word with each template, shapes ``(m, t, 3)`` and ``(f, t, 3)``.
    """
    m, f = first.mean((0, 1)), second.mean((0, 1))
    error = (distance_to_ideal(m) + distance_to_ideal(f)) / 2
    per_pair = [distance_to_ideal(p).mean() for p in (first, second)]
    return Marked(m, f, float(_norm(m - f)), float(error), float(np.mean(per_pair)))


def distance_to_ideal(p: Float) -> Float:
    """Return ``‖(1, 0, 0) − p‖`` of probability vectors ``(…, 3)``."""
    return _norm(IDEAL - p)


class Intervals(NamedTuple):
    """95 % intervals of the three numbers of `Marked`."""

    distance: Interval
    error: Interval
    error_per_pair: Interval


def intervals(first: Float, second: Float, rng: np.random.Generator) -> Intervals:
    """Bootstrap over templates: the words are the test, the sentences a sample.

    A distance is never negative and its interval never holds 0; whether groups of words differ at
    all is tested by `distance_test`.
    """
    m, f = first.mean(0), second.mean(0)  # (t, 3)
    norms = [distance_to_ideal(p).mean(0)[:, None] for p in (first, second)]
    drawn = resampled_means(np.concatenate([m, f, *norms], axis=1), rng)  # (b, 8)
    m, f = drawn[:, :3], drawn[:, 3:6]
    error = (distance_to_ideal(m) + distance_to_ideal(f)) / 2
    samples = (_norm(m - f), error, drawn[:, 6:].mean(1))
    return Intervals(*(percentile_interval(values) for values in samples))


def distance_test(
    words: Float,
    first: int,
    rng: np.random.Generator,
    *,
    draws: int = PARTITIONS,
    strict: bool = False,
) -> PValue:
    """Test whether words grouped at random are as distant as the two groups are.

    If there are at most `draws` partitions into groups of the same sizes, all of them are counted
    and p = #{d* ≥ d} / N, the observed one among them. Otherwise `draws` of them are drawn and
    p = (1 + #{d* ≥ d}) / (1 + N). The words are put in an order of their own first, so that p does
    not depend on their order in a group.

    Parameters
    ----------
    words
        Mean probability vector of each word, shape ``(n, 3)``, those of one group first.
    first
        How many these are.
    strict
        The published ``#{d* > d} / N``, which can be 0.

    Raises
    ------
    WordbiasError
        If a group is empty.
    """
    n = len(words)
    if not 0 < first < n:
        raise WordbiasError(f"expected words of both groups, found {first} and {n - first}")
    total = words.sum(0)

    def distance(sums: Float) -> Float:
        """Return the distance of the means of both groups, from sums over the first one."""
        return _norm(sums / first - (total - sums) / (n - first))

    return permutation_test(
        words[np.lexsort(words.T)],
        first,
        distance,
        float(distance(words[:first].sum(0))),
        rng,
        samples=draws,
        max_exact=draws,
        strict=strict,
    )


def can_be_significant(first: int, second: int, level: float = 0.05) -> bool:
    """Say whether a permutation test of so many words can reach a level at all.

    Of groups of one size a partition and its mirror image have the same distance.
    """
    alike = 2 if first == second else 1
    return alike / comb(first + second, first) <= level


def by_word(probabilities: NDArray[np.float32], words: int, templates: int) -> Float:
    """Arrange the probabilities of a test set by word and template, shape ``(w, t, 3)``.

    Parameters
    ----------
    probabilities
        Of each pair in the order of the set, shape ``(w · t, 3)``.

    Raises
    ------
    WordbiasError
        If the shape is another.
    """
    p = np.asarray(probabilities, np.float64)
    if p.shape != (words * templates, 3):
        raise WordbiasError(
            f"expected probabilities of shape ({words * templates}, 3), one row a pair, "
            f"got {p.shape}"
        )
    return p.reshape(words, templates, 3)


def _norm(x: Float) -> Float:
    length: Float = np.sqrt(np.einsum("...i,...i->...", x, x))
    return length
