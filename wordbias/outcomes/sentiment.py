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

from collections.abc import Sequence
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
        *(Part(one, every, emotions == one) for one in dict.fromkeys(emotions.tolist())),
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
        alike = _alike(kinds[part.pairs])
        if alike.any():
            rows.append(_shift_row(subject, chosen, alike, about, times, items, seed))
    return rows


def _named(row: Row, samples: Float, items: str) -> Row:
    """Return a row whose draws know the items that they are from."""
    return Row(row.subject, row.measure, row.value, row.details, drawn(samples, UNIT, items))


def resampled_gap(gap: Float, pairs: Float, contexts: Float) -> Float:
    """Return mean differences, (draws,), of drawn pairs (draws, n) and contexts (draws, m)."""
    with blas_threads(1):  # so that the last bit does not depend on where it is computed
        found: Float = np.einsum("dn,dn->d", pairs, contexts @ gap.T) / gap.size
    return found


def _alike(kinds: NDArray[Any]) -> Float:
    """Return 1 for every two different pairs of one kind, else 0, shape ``(n, n)``."""
    found: Float = (kinds[:, None] == kinds).astype(np.float64)
    np.fill_diagonal(found, 0)
    return found


def sizes_between(scores: Float) -> tuple[Float, Float]:
    """Return sizes, (n, n, m), of differences of two pairs' persons, between groups and within."""
    x, y = scores[:, 0], scores[:, 1]

    def size(a: Float, b: Float) -> Float:
        found: Float = np.abs(a[:, None] - b)
        return found

    return (size(x, y) + size(y, x)) / 2, (size(x, x) + size(y, y)) / 2


def _shift_row(
    subject: str,
    scores: Float,
    alike: Float,
    about: dict[str, Any],
    times: tuple[Float, Float] | None,
    items: str,
    seed: int,
) -> Row:
    between, within = sizes_between(scores)
    excess = ((between - within).mean(axis=2)) * alike
    value, chance = (
        float((one.mean(axis=2) * alike).sum() / alike.sum()) for one in (between, within)
    )
    details = {
        **about,
        "chance": chance,
        "excess": value - chance,
        "alternative": "greater",
        "p": exchanged_p(excess, seed),
        **ideal(SHIFT),
    }
    if times is None:
        return Row(subject, SHIFT, value, details)
    samples, others = (_resampled_sizes(one, alike, *times) for one in (between, within))
    ends = middle(samples - others)
    if ends is not None:
        details |= {"excess_low": ends.low, "excess_high": ends.high}
    return _named(sampled_row(subject, SHIFT, value, details, samples, UNIT), samples, items)


def _resampled_sizes(sizes: Float, alike: Float, pairs: Float, contexts: Float) -> Float:
    """Return mean sizes over every two drawn pairs of one kind, and drawn contexts, (draws,)."""
    # A pair that is drawn twice is not compared with itself. nan where no two are left.
    n, _, m = sizes.shape
    with blas_threads(1):  # so that the last bit does not depend on where it is computed
        of = (sizes * alike[:, :, None]).reshape(n * n, m) @ contexts.T / m
    weights = np.einsum("di,ij,dj->d", pairs, alike, pairs)
    weights[weights == 0] = np.nan
    found: Float = np.einsum("di,ijd,dj->d", pairs, of.reshape(n, n, -1), pairs) / weights
    return found


def exchanged_p(excess: Float, seed: int = 0) -> float:
    r"""Return p of the excess M, (n, n), when the persons of pairs change places at random.

    An exchange in one of two pairs makes the persons of different groups those of one: the
    statistic of signs :math:`\epsilon` is :math:`\sum_{ij} \epsilon_i \epsilon_j M_{ij}`.
    """
    n = len(excess)
    exact = n <= MOST_EXACT
    if exact:
        signs = 1.0 - 2.0 * (np.arange(1 << n)[:, None] >> np.arange(n) & 1)
    else:
        rng = np.random.default_rng([seed, _EXCHANGED])
        signs = 1.0 - 2.0 * rng.integers(0, 2, (EXCHANGES, n))
    null = np.einsum("dn,dn->d", signs @ excess, signs)
    return p_of_null(null, float(excess.sum()) - TIE * float(np.abs(excess).sum()), exact=exact)
