r"""How much the score of a text depends on the person in it (Kiritchenko and Mohammad 2018).

With x and y the scores of the persons of pair i in context c, the difference is

.. math:: \bar d = \frac1{nm} \sum_{i,c} (x_{ic} − y_{ic}).

Differences of opposite sign cancel in it. So the sizes of differences are compared, too, between
persons of different groups and between persons of one group, for two pairs i ≠ j of one kind:

.. math:: e = \mathrm{mean}\,\tfrac12(|x_i − y_j| + |y_i − x_j|)
          − \mathrm{mean}\,\tfrac12(|x_i − x_j| + |y_i − y_j|),

an energy distance (Székely and Rizzo 2004). Both are tested by exchanging the two persons of pairs:
where the group means nothing, each is as likely to stand in the other's place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import blas_threads
from wordbias.draws import drawn, items_of, middle, sampled_row
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import SAMPLES, TIE, p_of_null, resampled_cells, sign_flip_p
from wordbias.wordlists.eec import Comparison, Context

Float = NDArray[np.float64]
Places = NDArray[np.bool_]
ALL = "all"
GAP, SHIFT = "score-gap", "score-shift"
UNIT = "pairs of persons and sentences"
"""What is drawn again: both, crossed."""
EXCHANGES = 9_999
"""Number of random exchanges of persons beyond `MOST_EXACT` pairs."""
MOST_EXACT = 13
"""Number of pairs up to which all exchanges are counted."""
_AT_ONCE = 1 << 20
"""Numbers of sizes of differences that are held at one time."""
_DRAWN, _EXCHANGED = 1, 2
"""Keys of random numbers."""


class Part(NamedTuple):
    """Pairs of persons and contexts that are measured together."""

    name: str
    pairs: Places
    contexts: Places


def parts_of(comparison: Comparison, contexts: Sequence[Context]) -> list[Part]:
    """Return all sentences; those of each kind of persons; and those of each emotion."""
    kinds, emotions = (np.array(x) for x in (comparison.kinds, [c.emotion for c in contexts]))
    every, always = np.ones(len(kinds), bool), np.ones(len(emotions), bool)
    several = dict.fromkeys(comparison.kinds)
    return [
        Part(ALL, every, always),
        *(Part(kind, kinds == kind, always) for kind in several if len(several) > 1),
        *(
            Part(emotion, every, emotions == emotion)
            for emotion in dict.fromkeys(emotions.tolist())
        ),
    ]


def score_rows(
    subject: str,
    scores: Float,
    comparison: Comparison,
    contexts: Sequence[Context],
    *,
    draws: int = SAMPLES,
    seed: int = 0,
) -> list[Row]:
    """Measure how much scores, (pairs, 2, contexts), depend on the group, over all and in parts."""
    # `score-gap` is the mean difference, `score-shift` the mean size of the difference of two
    # persons of different groups, with `chance`, that of two of one group. Intervals draw pairs of
    # persons and contexts again, crossed. Of a part without two pairs of one kind the shift is left
    # out.
    rows = []
    kinds = np.array(comparison.kinds)
    for part in parts_of(comparison, contexts):
        chosen = scores[part.pairs][:, :, part.contexts]
        n, _, m = chosen.shape
        about: dict[str, Any] = {
            "attribute": comparison.attribute,
            "groups": list(comparison.groups),
            "subset": part.name,
            "n": n * m,
            "units": n,
        }
        rng = np.random.default_rng([seed, _DRAWN])
        times = None
        if draws:
            pairs, of = (resampled_cells(np.ones(k, np.intp), rng, draws) for k in (n, m))
            times = pairs.astype(np.float64), of.astype(np.float64)
        items = items_of(comparison, part.name, [*contexts], seed)
        gap = chosen[:, 0] - chosen[:, 1]  # (n, m)
        samples = None if times is None or n < 2 else resampled_gap(gap, *times)
        details = {**about, "p": sign_flip_p(gap.mean(axis=1), seed), **ideal(GAP)}
        row = sampled_row(subject, GAP, float(gap.mean()), details, samples, UNIT)
        rows.append(row if samples is None else _named(row, samples, items))
        of_part = kinds[part.pairs]
        if len(set(of_part.tolist())) < n:
            rows.append(_shift_row(subject, chosen, of_part, about, times, items, seed))
    return rows


def _named(row: Row, samples: Float, items: str) -> Row:
    """Return a row whose draws know the items that they are from."""
    return Row(row.subject, row.measure, row.value, row.details, drawn(samples, UNIT, items))


def resampled_gap(gap: Float, pairs: Float, contexts: Float) -> Float:
    """Return mean differences, (draws,), of drawn pairs (draws, n) and contexts (draws, m)."""
    with blas_threads(1):  # so that the last bit does not depend on where it is computed
        means: Float = np.einsum("dn,dn->d", pairs, contexts @ gap.T) / gap.size
    return means


def sizes_between(block: Float, scores: Float) -> tuple[Float, Float]:
    """Return sizes, (b, n, m), of differences of two pairs' persons, between groups and within."""

    def size(a: int, b: int) -> Float:
        sizes: Float = np.abs(block[:, None, a] - scores[:, b])
        return sizes

    return (size(0, 1) + size(1, 0)) / 2, (size(0, 0) + size(1, 1)) / 2


def mean_sizes(
    scores: Float, kinds: NDArray[Any], pairs: Float, contexts: Float
) -> tuple[Float, Float]:
    r"""Return means of `sizes_between` every two drawn pairs of one kind, and drawn contexts.

    Memory grows with the pairs, not with their square: with sorted values :math:`z_k`, and
    :math:`A_k, B_k` of `w` drawn persons of each group up to :math:`z_k`,

    .. math:: \sum_{ij} |x_i - y_j| = \sum_k (z_{k+1} - z_k) (A_k (w - B_k) + B_k (w - A_k)).
    """
    # A pair that is drawn twice is not compared with itself. nan where no two are left.
    between, within, weights = np.zeros((3, len(pairs)))
    for kind in dict.fromkeys(kinds.tolist()):
        drawn_pairs, of_kind = pairs[:, kinds == kind], scores[kinds == kind]
        w, squares = drawn_pairs.sum(axis=1), drawn_pairs**2
        weights += w**2 - squares.sum(axis=1)
        counts = np.hstack([drawn_pairs, drawn_pairs])
        first = np.repeat([1.0, 0.0], len(of_kind))
        for c, share in enumerate(contexts.T / contexts.shape[1]):
            values = of_kind[:, :, c].T.ravel()
            order = values.argsort(kind="stable")
            steps, ordered = np.diff(values[order]), counts[:, order[:-1]]
            both = ordered.cumsum(axis=1)
            a = (ordered * first[order[:-1]]).cumsum(axis=1)
            with blas_threads(1):  # so that the last bit does not depend on where it is computed
                same = squares @ np.abs(of_kind[:, 0, c] - of_kind[:, 1, c])
                all_pairs = w * (both @ steps)
                products = 2 * ((a * (both - a)) @ steps)
                between += share * (all_pairs - products - same)
                within += share * (all_pairs - (both * both) @ steps + products)
    weights[weights == 0] = np.nan
    return between / weights, within / weights


def _shift_row(
    subject: str,
    scores: Float,
    kinds: NDArray[Any],
    about: dict[str, Any],
    times: tuple[Float, Float] | None,
    items: str,
    seed: int,
) -> Row:
    n, _, m = scores.shape
    value, chance = (
        float(means[0]) for means in mean_sizes(scores, kinds, np.ones((1, n)), np.ones((1, m)))
    )
    details = {
        **about,
        "chance": chance,
        "excess": value - chance,
        "alternative": "greater",
        "p": exchanged_p(_excess(scores, kinds), seed),
        **ideal(SHIFT),
    }
    if times is None:
        return Row(subject, SHIFT, value, details)
    samples, others = mean_sizes(scores, kinds, *times)
    ends = middle(samples - others)
    if ends is not None:
        details |= {"excess_low": ends.low, "excess_high": ends.high}
    return _named(sampled_row(subject, SHIFT, value, details, samples, UNIT), samples, items)


def _excess(scores: Float, kinds: NDArray[Any]) -> Iterator[Float]:
    """Yield blocks of rows of the matrix of `exchanged_p`, zero for pairs of different kinds."""
    n, _, m = scores.shape
    step = max(1, _AT_ONCE // (n * m))
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        between, within = sizes_between(scores[rows], scores)
        alike = (kinds[rows, None] == kinds) & (rows[:, None] != np.arange(n))
        yield (between - within).mean(axis=2) * alike


def exchanged_p(excess: Iterable[Float], seed: int = 0) -> float:
    r"""Return p of the excess M, (n, n), when the persons of pairs change places at random.

    An exchange in one of two pairs makes the persons of different groups those of one: the
    statistic of signs :math:`\epsilon` is :math:`\sum_{ij} \epsilon_i \epsilon_j M_{ij}`.
    """
    blocks = (np.atleast_2d(block) for block in excess)
    first = next(blocks)
    n = first.shape[1]
    exact = n <= MOST_EXACT
    if exact:
        signs = 1.0 - 2.0 * (np.arange(1 << n)[:, None] >> np.arange(n) & 1)
    else:
        rng = np.random.default_rng([seed, _EXCHANGED])
        signs = 1.0 - 2.0 * rng.integers(0, 2, (EXCHANGES, n))
    null, observed, sizes, start = np.zeros(len(signs)), 0.0, 0.0, 0
    for block in chain([first], blocks):
        null += np.einsum("db,db->d", signs @ block.T, signs[:, start : start + len(block)])
        observed, sizes = observed + float(block.sum()), sizes + float(np.abs(block).sum())
        start += len(block)
    return p_of_null(null, observed - TIE * sizes, exact=exact)
