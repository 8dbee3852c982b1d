"""What a change of the texts does to the lists, beside a change that means nothing.

Each value is a mean over queries and draws of names. Intervals draw queries again, and sets of
names too if several queries share one. The test asks whether the two changes differ. If they do
not, they can be exchanged: for a query whose sets of names are its own, for all queries that share
a set, or for the documents that share one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordbias.draws import middle, sampled_row
from wordbias.measures.registry import ideal
from wordbias.rankings.counterfactuals import GIVEN, MEANINGLESS, OF_GROUP, SAME, Versions
from wordbias.rankings.ranking import (
    Float,
    Integers,
    exposure,
    ndcg,
    overlap,
    persistence,
    rank_shift,
    ranks_of,
    rbo,
    rbo_residual,
)
from wordbias.results import Row
from wordbias.statistics import TIE, crossed_means, p_of_null, resampled_means, sign_flip_p
from wordbias.verdicts import LEVEL

OVERLAP, RBO, SHIFT, NDCG = "list-overlap", "rank-biased-overlap", "rank-shift", "list-ndcg"
EXPOSURE, EXPOSURE_RATIO = "exposure", "exposure-ratio"
SELECTION, IMPACT = "selection-rate", "impact-ratio"
BEFORE = "before the removal"
"""Set of the row that compares lists after a removal with those before it."""
EXCHANGES = 499
"""Number of random exchanges of the two changes of documents, and of permuted groups."""
_NOTHING_RELEVANT = "undefined: no query has a relevant document"
QUERIES, BOTH = "queries", "queries and names"


@dataclass(frozen=True, eq=False)
class Ranked:
    """Pools of the queries under one draw of names, and the ranks of their documents."""

    ids: Integers = field(repr=False)  # numbers of the documents, shape `(n, m)`
    ranks: Mapping[str, Integers] = field(repr=False)  # ranks by version, shape `(n, m)`
    # scores by version, where documents are changed; `-inf` where there is no document
    scores: Mapping[str, Float] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, eq=False)
class Lists:
    """How lists are read: their length, the ranks that count, and what is relevant."""

    k: int  # number of first ranks that count
    depth: int  # length of the lists
    # function that returns the relevance of the documents of pools, shape `(n, m)`; None if it is
    # not known
    gains: Callable[[Integers], Float] | None = None
    # discounted gain of the best list of each query, shape `(n,)`
    ideal: Float = field(default_factory=lambda: np.zeros(0))

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures of a change."""
        return (OVERLAP, RBO, SHIFT, *([] if self.gains is None else [NDCG]))

    def values(self, gains: Float | None, first: Integers, second: Integers) -> Float:
        """Return the measures of a change from one list to another, shape ``(measures, n)``."""
        measured = [
            overlap(first, second, self.k),
            rbo(first, second, self.depth, persistence(self.k)),
            rank_shift(first, second, self.k),
        ]
        if gains is not None:
            measured.append(ndcg(second, gains, self.ideal, self.k))
        return np.stack(measured)


def distances(ranked: Sequence[Ranked], lists: Lists, kind: str) -> Float:
    """Return how far each query's lists move, 1 − RBO, over the draws of names, shape ``(n,)``."""
    p = persistence(lists.k)
    overlaps = [
        rbo(ranking.ranks[GIVEN], ranking.ranks[kind], lists.depth, p) for ranking in ranked
    ]
    return np.asarray(1 - np.mean(overlaps, axis=0))


def change_rows(
    subject: str,
    ranked: Sequence[Ranked],
    lists: Lists,
    versions: Versions,
    *,
    of_documents: bool,
    draws: int,
    seed: int,
    test: bool = True,
) -> list[Row]:
    """Return what each version changes, and what a change of the group does more than another."""
    # Without `test`, the rows are only values.
    kinds = [kind for kind in versions.kinds if kind != GIVEN]
    null = next((kind for kind in (SAME, MEANINGLESS) if kind in kinds), None)
    about = [kind for kind in kinds if kind in OF_GROUP] if null is not None else []
    by_kind = {kind: _values(ranked, lists, kind) for kind in (GIVEN, *kinds)}
    exchanged = {
        kind: _exchanged_p(ranked, lists, versions, kind, str(null), by_kind, seed)
        for kind in (about if of_documents and test else ())
    }
    p, shared = persistence(lists.k), not of_documents and not versions.is_distinct
    rows: list[Row] = []
    for m, measure in enumerate(lists.measures):
        columns = {
            kind: by_kind[kind][m] for kind in (*([GIVEN] if measure == NDCG else []), *kinds)
        }
        known = ~np.isnan(columns[kinds[0]]).any(axis=0)
        if not known.any():
            details = {"set": GIVEN, **ideal(measure), "reason": _NOTHING_RELEVANT}
            rows.append(Row(subject, measure, None, details))
            continue
        columns = {kind: whole[:, known] for kind, whole in columns.items()}
        excess = {kind: columns[kind] - columns[str(null)] for kind in about}
        every = np.stack([*columns.values(), *excess.values()], -1)  # (draws, n, columns)
        sets = versions.sets if of_documents else versions.sets[:, known]
        samples = (
            _resampled(every, sets, shared, draws, seed) if test and every.shape[1] > 1 else None
        )
        for c, (kind, column) in enumerate(columns.items()):
            details = {"set": kind, "n": int(known.sum()), "k": lists.k, **ideal(measure)}
            if measure == RBO:
                residuals = [
                    rbo_residual(of.ranks[GIVEN], of.ranks[kind], lists.depth, p) for of in ranked
                ]
                details["residual"] = float(np.mean(residuals))
            if kind in excess:
                place = len(columns) + about.index(kind)
                own = None if samples is None else samples[:, place]
                details |= _excess_keys(float(excess[kind].mean()), own)
            if kind in excess and test:
                tested = (
                    (float(exchanged[kind][m]), len(np.unique(sets)))
                    if of_documents
                    else _flipped_p(excess[kind], sets, shared)
                )
                details |= dict(zip(("p", "units"), tested, strict=True))
            own = None if samples is None else samples[:, c]
            unit = BOTH if shared else QUERIES
            rows.append(sampled_row(subject, measure, float(column.mean()), details, own, unit))
    return rows


def _values(ranked: Sequence[Ranked], lists: Lists, kind: str) -> Float:
    """Return the measures of a version's change, shape ``(measures, draws, n)``."""
    return np.stack(
        [
            lists.values(gains, ranking.ranks[GIVEN], ranking.ranks[kind])
            for ranking, gains in zip(ranked, _gains(ranked, lists), strict=True)
        ],
        axis=1,
    )


def _gains(ranked: Sequence[Ranked], lists: Lists) -> list[Float | None]:
    """Return the relevance of the documents of the pools by draw of names."""
    return [None if lists.gains is None else lists.gains(ranking.ids) for ranking in ranked]


def _resampled(every: Float, sets: Integers, shared: bool, draws: int, seed: int) -> Float:
    """Return bootstrap means, shape ``(samples, columns)``."""
    rng = np.random.default_rng((seed, 2))
    if shared:
        return crossed_means(*_crossed(every, sets), rng, draws)
    return resampled_means(every.mean(axis=0), rng, draws)


def _excess_keys(value: float, samples: Float | None) -> dict[str, Any]:
    """Return the difference from the change that means nothing, and its interval."""
    ends = middle(samples)
    keys = {"excess": value}
    keys |= {} if ends is None else {"excess_low": ends.low, "excess_high": ends.high}
    return {key: 0.0 if abs(number) < TIE else number for key, number in keys.items()}  # rounding


def _crossed(every: Float, sets: Integers) -> tuple[Float, list[Integers]]:
    """Return values of queries and draws as lines, with the query and set of names of each."""
    r, n, m = every.shape
    used = np.unique(sets, return_inverse=True)[1].reshape(-1)
    return every.reshape(r * n, m), [np.tile(np.arange(n), r), used]


def _flipped_p(excess: Float, sets: Integers, shared: bool) -> tuple[float, int]:
    """Return p of exchanged changes, and of how many units: queries, or sets that they share."""
    by_unit = excess.mean(axis=0)
    if shared:
        numbers = np.unique(sets, return_inverse=True)[1].reshape(-1)
        by_unit = np.bincount(numbers, excess.ravel())
    return sign_flip_p(by_unit), len(by_unit)


def _exchanged_p(
    ranked: Sequence[Ranked],
    lists: Lists,
    versions: Versions,
    kind: str,
    null: str,
    by_kind: Mapping[str, Float],
    seed: int,
) -> Float:
    """Return p of each measure when both changes are exchanged for documents that share a set."""
    excess = by_kind[kind] - by_kind[null]
    n_known = np.maximum(1, (~np.isnan(excess)).sum(axis=(1, 2)))  # of nDCG perhaps no query
    observed = np.nansum(excess, axis=(1, 2)) / n_known
    gains = _gains(ranked, lists)
    rng = np.random.default_rng((seed, 3))
    n_sets = int(versions.sets.max()) + 1
    sets = [_by_document(versions.places, draw_sets, n_sets) for draw_sets in versions.sets]
    null_values = np.zeros((EXCHANGES, len(observed)))
    for draw in range(EXCHANGES):
        coins = np.append(rng.integers(0, 2, n_sets).astype(bool), False)
        for ranking, of_set, gain in zip(ranked, sets, gains, strict=True):
            exchange = coins[of_set(ranking.ids)]
            both = ranking.scores[kind], ranking.scores[null]
            mixed = [
                ranks_of(np.where(exchange, *pair), lists.depth) for pair in (both[::-1], both)
            ]
            first, second = (lists.values(gain, ranking.ranks[GIVEN], ranks) for ranks in mixed)
            null_values[draw] += np.nansum(first - second, axis=1) / n_known
    return np.array(
        [
            p_of_null(np.abs(values), abs(value) - TIE * (abs(value) + 1))
            for values, value in zip(null_values.T, observed, strict=True)
        ]
    )


def _by_document(places: Integers, numbers: Integers, none: int) -> Callable[[Integers], Integers]:
    """Return a function of the numbers of documents: that of their set; `none` where none is."""

    def of(ids: Integers) -> Integers:
        at = np.minimum(np.searchsorted(places, ids), len(places) - 1)
        return np.where(places[at] == ids, numbers[at], none)

    return of


# exposure and selection by group


def exposure_rows(
    subject: str,
    ranked: Sequence[Ranked],
    lists: Lists,
    groups: Sequence[str],
    codes: Sequence[Mapping[str, Integers]],
    kinds: Sequence[str],
    *,
    sets: Sequence[Integers] = (),
    draws: int,
    seed: int,
) -> list[Row]:
    """Return the exposure and the selection rate of documents by group, and their ratios."""
    # `kinds` are versions that are read together: each document then stands in the lists once with
    # each group. Documents of a set of names change groups together for the chance level. The group
    # −1 is none.
    rows: list[Row] = []
    for measure, ratio, weight in (
        (EXPOSURE, EXPOSURE_RATIO, exposure),
        (SELECTION, IMPACT, _first),
    ):
        sums, sizes = np.zeros((len(ranked[0].ids), len(groups))), np.zeros(len(groups))
        each: list[Float] = []  # what each document gets over all queries, by draw and version
        of: list[Integers] = []
        for ranking, by_kind in zip(ranked, codes, strict=True):
            for kind in kinds:
                weights = np.where(ranking.ids >= 0, weight(ranking.ranks[kind], lists.k), 0.0)
                code = by_kind[kind]
                own = np.append(code, -1)[ranking.ids]
                sums = sums + np.stack(
                    [np.where(own == g, weights, 0).sum(axis=1) for g in range(len(groups))], 1
                )
                sizes += np.bincount(code[code >= 0], minlength=len(groups))
                total = np.zeros(len(code) + 1)
                np.add.at(total, ranking.ids, weights)
                each.append(total[:-1])
                of.append(code)
        there = np.flatnonzero(sizes)
        by_query = sums[:, there] / sizes[there]  # (n, groups that documents have)
        means, names = by_query.mean(axis=0), [groups[int(g)] for g in there]
        rng = np.random.default_rng((seed, 4))
        samples = resampled_means(by_query, rng, draws) if len(by_query) > 1 else None
        about = {"set": " and ".join(kinds), "k": lists.k, "n": len(by_query)}
        for g, group in enumerate(names):
            own_samples = None if samples is None else samples[:, g]
            details = {**about, "group": group, **ideal(measure)}
            rows.append(
                sampled_row(subject, measure, float(means[g]), details, own_samples, QUERIES)
            )
        order = np.argsort(means.round(12), kind="stable")  # two groups, also where they are alike
        low, high = int(order[0]), int(order[-1])
        details = {**about, "groups": [names[low], names[high]], **ideal(ratio)}
        if means[high] == 0:
            reason = f"undefined: no document of a group is among the first {lists.k}"
            rows.append(Row(subject, ratio, None, {**details, "reason": reason}))
            continue
        value = float(means[low] / means[high])
        details |= _chance(value, each, of, len(groups), sets, len(kinds), rng)
        ratios = None
        if samples is not None:
            ratios = np.full(len(samples), np.nan)
            np.divide(samples[:, low], samples[:, high], out=ratios, where=samples[:, high] > 0)
        rows.append(sampled_row(subject, ratio, value, details, ratios, QUERIES))
    return rows


def _first(ranks: Integers, k: int) -> Float:
    """Return 1 for the first k documents, else 0."""
    return (ranks <= k).astype(np.float64)


def _chance(
    value: float,
    each: Sequence[Float],
    of: Sequence[Integers],
    n: int,
    sets: Sequence[Integers],
    versions: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return what ratio groups have that mean nothing."""
    # A document changes its group in all versions alike: what the rest of its text does stays the
    # same for both groups.
    given = of[0]
    there = np.flatnonzero(given >= 0)
    ratios = np.empty(EXCHANGES)
    for draw in range(EXCHANGES):
        if sets:
            coins = rng.integers(n, size=1 + max(int(set_numbers.max()) for set_numbers in sets))
            shifts = [coins[set_numbers[there]] for set_numbers in sets]
        else:
            shifts = [(rng.permutation(given[there]) - given[there]) % n]
        sums, sizes = np.zeros(n), np.zeros(n)
        for i, (total, code) in enumerate(zip(each, of, strict=True)):
            own = (code[there] + shifts[i // versions % len(shifts)]) % n
            sums += np.bincount(own, total[there], n)
            sizes += np.bincount(own, minlength=n)
        means = sums[sizes > 0] / sizes[sizes > 0]
        ratios[draw] = means.min() / means.max() if means.max() else 1.0
    p = p_of_null(-ratios, -value - TIE)
    return {
        "chance": float(ratios.mean()),
        "chance_low": float(np.percentile(ratios, 100 * LEVEL)),
        "chance_high": float(ratios.max()),
        "chance_draws": EXCHANGES,
        "beyond_chance": bool(p <= LEVEL),
        "p": p,
    }
