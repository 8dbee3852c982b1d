"""Lean of single words: MIDB of a word against that of the neutral words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.measures.direction import most_biased, projections
from wordbias.measures.midb import Float, direct_bias_of_words, fit_directions, midb_of_words
from wordbias.measures.panel import Panel
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.subspace import Subspace


class Lean(NamedTuple):
    """Subspace and neutral range against which single words are compared.

    Attributes
    ----------
    subspace
        Subspace of MIDB.
    mean
        Mean over the vocabulary, which all words share and which says nothing about any of them.
    low, high
        Bounds of the middle 95 % of the vocabulary, less the mean.
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
        """Return 0 or 1, the group towards which a word leans more than 95 % of neutral words."""
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

    The order is that of their lean or, where none is claimed, of their projection on the panel's
    direction.

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
    better = ideal("lean")  # has a sign, unlike the means of absolute values
    about = {} if lean is None else {"mean": lean.mean, "middle": [lean.low, lean.high]}
    rows = []
    for word, value in zip(words, leans, strict=True):
        side = None if lean is None or value is None else lean.claimed(value)
        towards = None if side is None else panel.attribute.groups[side]
        details = {"word": word, "towards": towards, "centred": panel.center, **about, **better}
        rows.append(panel.row("lean", value, reason=reason or None, **details))
    for measure, values, why in (
        ("midb", midb, fitted.subspace_reason),
        ("direct-bias", direct, fitted.direction_reason),
    ):
        centred = panel.center if measure == "midb" else None
        rows += [
            panel.row(measure, value, reason=why or None, word=word, centred=centred, **better)
            for word, value in zip(words, values, strict=True)
        ]
    return rows
