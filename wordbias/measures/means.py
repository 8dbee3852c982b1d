"""MIDB and direct bias of a panel, with intervals over words; and word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import normalise
from wordbias.devices import blas_threads
from wordbias.measures.chance import Null, blocks_of_original, group_vectors
from wordbias.measures.family import Key
from wordbias.measures.midb import (
    DIRECT,
    MIDB,
    Float,
    direct_bias_of_words,
    fit_directions,
    midb_of_words,
    of_mean,
    values_along,
    values_of_words,
)
from wordbias.measures.panel import Panel, most_biased, projections
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import percentile_interval, resampled_means
from wordbias.subspace import Subspace


def mean_rows(panel: Panel) -> list[Row]:
    """Measure MIDB and direct bias along the embedding's own directions (as in Table 6)."""
    fitted = fit_directions(panel.embedding, panel.attribute, dims=panel.dims, center=panel.center)
    undefined, values = fitted.undefined(), values_of_words(panel.vectors, fitted)
    rows = [panel.undefined([name], reason)[0] for name, reason in undefined.items()]
    defined = {name: column for name, column in values.items() if name not in undefined}
    return [*_with_intervals(panel, defined), *rows]


def _with_intervals(panel: Panel, columns: dict[str, Float]) -> list[Row]:
    if not columns:
        return []
    values = np.stack(list(columns.values()), axis=1)
    with blas_threads(1):
        samples = resampled_means(values, panel.rng())
    rows = []
    for i, name in enumerate(columns):
        interval = percentile_interval(of_mean(name, samples[:, i]))
        rows.append(
            panel.row(
                name,
                float(of_mean(name, values[:, i].mean())),
                low=interval.low,
                high=interval.high,
                n=len(values),
                **ideal(name),
                **_setting(panel, name),
            )
        )
    return rows


def _setting(panel: Panel, name: str) -> dict[str, Any]:
    if name in DIRECT:
        return {"setting": "c=1"}
    kind = "centred" if panel.center else "not centred"
    return {"setting": f"d={panel.dims}, {kind}", "centred": panel.center}


def chance_of_means(panel: Panel, nulls: Sequence[Null]) -> dict[Key, Float]:
    """Measure MIDB and direct bias along all nulls in one pass over the vocabulary.

    Also the share of the groups' difference that lies in the span of each; see `draw_nulls`.
    """
    fits = [null.directions for null in nulls]
    sums = {name: np.zeros(len(nulls)) for name in (*MIDB, *DIRECT)}
    for block in blocks_of_original(panel):
        for name, values in values_along(block, normalise(block), fits).items():
            sums[name] += values.sum(axis=0)
    n = len(panel.vocabulary)
    found = {(name, ""): of_mean(name, total / n) for name, total in sums.items()}
    return found | _in_span(panel, nulls)


def _in_span(panel: Panel, nulls: Sequence[Null]) -> dict[Key, Float]:
    """Return the share of ``‖Δ‖²``, the groups' difference, in the span of each null."""
    first, second = group_vectors(panel)
    delta = first.mean(0) - second.mean(0) if min(len(first), len(second)) else np.zeros(1)
    if not delta.any():
        return {}
    along = [None if null.subspace is None else null.subspace.coordinates(delta) for null in nulls]
    shares = [np.nan if one is None else float(one @ one / (delta @ delta)) for one in along]
    return {("difference-in-span", ""): np.array(shares)}


class Lean(NamedTuple):
    """MIDB of single words against that of the neutral words.

    Attributes
    ----------
    subspace
        Subspace of MIDB.
    mean
        Mean over the vocabulary. All words share it: it says nothing of any of them.
    low, high
        The middle 95 % of the vocabulary lie between these, less the mean.
    """

    subspace: Subspace
    mean: float
    low: float
    high: float

    def of(self, vectors: NDArray[np.float32]) -> Float:
        """Return MIDB of words less its mean over the vocabulary, shape ``(n,)``."""
        found: Float = midb_of_words(vectors, self.subspace) - self.mean
        return found

    def claimed(self, value: float) -> int | None:
        """Return 0 or 1, the group towards which a word leans more than 95 % of the neutral do."""
        if self.low <= value <= self.high:
            return None
        return 0 if value > self.high else 1


MIDDLE = 0.95
"""Share of the neutral words of which no lean is claimed."""
CENTRED = (
    "no lean is claimed: centred differences describe how words vary within the groups, and the "
    "difference between the groups is not among them"
)


def find_lean(panel: Panel) -> tuple[Lean | None, str]:
    """Return the lean of words, or None and the reason."""
    fitted = fit_directions(panel.embedding, panel.attribute, dims=panel.dims, center=panel.center)
    if fitted.subspace is None:
        return None, fitted.subspace_reason
    if panel.center:
        return None, CENTRED
    values = midb_of_words(panel.vectors, fitted.subspace)
    mean = float(values.mean())
    low, high = np.quantile(values - mean, [(1 - MIDDLE) / 2, (1 + MIDDLE) / 2]).tolist()
    return Lean(fitted.subspace, mean, low, high), ""


def leaning_words(panel: Panel, count: int) -> list[str]:
    """Return the `count` words of the vocabulary that lean most to each group.

    By their lean; where none is claimed, by their projection on the panel's direction.

    Raises
    ------
    WordbiasError
        If fewer words lean to a side.
    """
    lean = find_lean(panel)[0]
    if lean is None:
        values = projections(panel.vectors, panel.own_direction.defined())
    else:
        values = lean.of(panel.vectors)
    return [panel.vocabulary[i] for i in most_biased(values, count).rows.tolist()]


def word_rows(panel: Panel, words: Sequence[str]) -> list[Row]:
    """Measure lean, MIDB and signed direct bias of single words.

    MIDB of a word contains a part that all words share, and an axis such as she − he is nearer to
    most words at one of its ends: the sign of neither says to which group a word leans. The lean
    is MIDB less its mean over the vocabulary, and is claimed, as ``towards``, only of a word that
    lies outside the middle 95 % of the neutral words.
    """
    x = panel.embedding.take(words)
    fitted = fit_directions(panel.embedding, panel.attribute, dims=panel.dims, center=panel.center)
    lean, reason = find_lean(panel)
    undefined: list[float | None] = [None] * len(words)
    leans = undefined if lean is None else lean.of(x).tolist()
    midb = undefined if fitted.subspace is None else midb_of_words(x, fitted.subspace).tolist()
    direct = undefined
    if fitted.direction is not None:
        direct = direct_bias_of_words(x, fitted.direction).tolist()
    said = ideal("lean")  # a side, unlike the means of absolute values
    about = {} if lean is None else {"mean": lean.mean, "middle": [lean.low, lean.high]}
    rows = []
    for word, value in zip(words, leans, strict=True):
        side = None if lean is None or value is None else lean.claimed(value)
        towards = None if side is None else panel.attribute.groups[side]
        details = {"word": word, "towards": towards, "centred": panel.center, **about, **said}
        rows.append(panel.row("lean", value, reason=reason or None, **details))
    for measure, values, why in (
        ("midb", midb, fitted.subspace_reason),
        ("direct-bias", direct, fitted.direction_reason),
    ):
        centred = {"centred": panel.center} if measure == "midb" else {}
        rows += [
            panel.row(measure, value, reason=why or None, word=word, **centred, **said)
            for word, value in zip(words, values, strict=True)
        ]
    return rows
