"""Whether the share of triples that S and D are means of changes the ranks of the settings.

Dawkins et al. (2024) take the most extreme tenth, and say that the ranks do not depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from wordbias.contextual.sweep.comparison import Items, measured
from wordbias.contextual.table7 import BASE, SENT_DEBIAS
from wordbias.draws import by_bootstrap
from wordbias.measures.registry import symbol
from wordbias.pivot import pivot, values
from wordbias.rendering import Table
from wordbias.results import Row
from wordbias.statistics import Array, resamples, spearman
from wordbias.stereotypes.scores import Settings, extremes

_OF_SHARE = ("strength", "distance")


def share_ranks(
    heads: Sequence[Mapping[str, Items]], shares: Sequence[float], settings: Settings
) -> tuple[list[Row], list[Table]]:
    """Correlate the settings' ranks at other shares with those at the first; also the ranks."""
    # The settings are not independent, so the intervals draw triples again, not settings.
    from scipy.stats import rankdata

    if len(shares) < 2:
        return [], []
    names = [name for name in heads[0] if name not in (BASE, SENT_DEBIAS)]
    n = len(heads[0][BASE].strength)
    whole, rng = np.arange(n)[None], np.random.default_rng(settings.seed)
    drawn = np.concatenate(list(resamples(n, rng, settings.samples)))
    rows, ranks = list[Row](), list[Row]()
    for measure in _OF_SHARE:
        at = {}
        for share in shares:
            size = extremes(n, share, settings.rounding)
            means_of = partial(_means, heads, names, measure, size)
            at[share] = means_of(whole)[:, 0], means_of(drawn).T  # (models,), (samples, models)
            places = rankdata(at[share][0])
            head = f"{symbol(measure)}, {share:g}"
            for name, place in zip(names, places, strict=True):
                ranks.append(Row(head, "rank", float(place), {"setting": name}))
        (first, samples), *others = at.values()
        for share, (other, drawn_other) in zip(shares[1:], others, strict=True):
            both = zip(samples, drawn_other, strict=True)
            draws = np.array([spearman(a, b) for a, b in both])
            x, y = (f"{symbol(measure)}, {compared:g}" for compared in (shares[0], share))
            about: dict[str, Any] = {"x": x, "y": y, "method": "spearman", "n": len(names)}
            about |= {"neutral": 0.0, **by_bootstrap(draws, "triples")}
            rows.append(Row(f"{x} – {y}", "correlation", spearman(first, other), about))
    return rows, [_correlations(rows), _ranks(ranks)]


def _means(
    heads: Sequence[Mapping[str, Items]],
    names: Sequence[str],
    measure: str,
    size: int,
    rows: Any,
) -> Array:
    """Return a measure of every setting in samples of triples, a mean over heads, ``(k, b)``."""
    return np.array(
        [
            np.mean([measured(head[name], measure, size, rows) for head in heads], 0)
            for name in names
        ]
    )


def _correlations(rows: Sequence[Row]) -> Table:
    columns = values("Spearman's ρ", "95 %", "n")
    note = (
        "Over the settings: S or D as the mean of two shares of the most extreme triples. 95 %: "
        "triples drawn again."
    )
    return pivot("Do the ranks depend on the share of triples?", rows, "subject", columns, note)


def _ranks(rows: Sequence[Row]) -> Table:
    heads = dict.fromkeys(row.subject for row in rows)
    columns = [column for head in heads for column in values((head, _rank), subject=head)]
    note = "1: the lowest S, or D, of the settings, as the mean of this share of the triples."
    return pivot("Ranks of the settings by share", rows, {"setting": "setting"}, columns, note)


def _rank(row: Row) -> str:
    """Write a rank; of settings with one value it is their mean."""
    return f"{row.value:g}"
