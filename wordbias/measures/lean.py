"""Lean of single words: the coordinate of a word along the axis of the pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import FLOAT32_ROUNDING, unit
from wordbias.draws import LISTS, spread_keys
from wordbias.errors import WordbiasError
from wordbias.measures.direction import find_direction, most_biased, pair_component
from wordbias.measures.midb import direct_bias_of_words, fit_directions, midb_of_words
from wordbias.measures.panel import Panel
from wordbias.measures.registry import ideal
from wordbias.measures.word_lists import redrawn, redraws
from wordbias.results import Row
from wordbias.wordlists import resolve_pairs

Float = NDArray[np.float64]

MIDDLE = 0.95
"""Share of the neutral words about which no lean is claimed."""
REDRAWS = 200
"""Number of redraws of the pairs for the interval of a word's lean."""
TOLD = "lean-told"
NO_RANGE = "undefined: neutral words do not lean by more than rounding"
CENTRED = (
    "no lean is claimed: centred differences describe how words vary within the groups, and the "
    "difference between the groups is not among them"
)


@dataclass(frozen=True, eq=False)
class Lean:
    """Axis along which words lean, and the range of neutral words, both of the original."""

    axis: Float  # axis of length one, `(d,)`, positive towards the first group
    along: str  # name of the axis
    drawn: Float  # axes of redrawn pairs, `(draws, d)`; none without pairs
    low: float  # ends of the middle 95 % of the neutral words
    high: float

    def side(self, value: float, interval: Mapping[str, float]) -> int | None:
        """Return 0 or 1, the group to which a word leans more than 95 % of neutral words do."""
        # None also where its interval over redrawn pairs, as in a row, holds 0, and where it leans
        # by no more than rounding.
        low, high = interval.get("lists_low", 1), interval.get("lists_high", 0)
        if self.low <= value <= self.high or low <= 0 <= high or abs(value) <= FLOAT32_ROUNDING:
            return None
        return 0 if value > self.high else 1

    def reason(self, value: float) -> str | None:
        """Return why a word's lean is undefined: it and those of neutral words are rounding."""
        return NO_RANGE if max(abs(value), -self.low, self.high) <= FLOAT32_ROUNDING else None


def find_lean(panel: Panel) -> tuple[Lean | None, str]:
    """Return axis and range of neutral words in the panel's original, or None and the reason."""
    # The axis is the first principal component of the definitional pairs; without pairs, the
    # difference of the groups' means.
    original, attribute = panel.original, panel.attribute
    if panel.embedding.dim != original.dim:
        return None, f"undefined: {original.name} has {original.dim} dimensions, these others"
    try:
        direction = find_direction(original, attribute, "pca" if attribute.pairs else "means")
    except WordbiasError as error:
        return None, f"undefined: {error}"
    if direction.subspace is None:
        return None, direction.reason
    axis = direction.subspace.basis[0]
    drawn: list[Float] = []
    if attribute.pairs:
        nulls = redrawn(panel, redraws(attribute, REDRAWS, panel.seed))
        drawn = [null.component for null in nulls if null.component is not None]
    low, high = _middle(_centred(panel.original_vectors) @ axis)
    axes = np.array(drawn).reshape(-1, len(axis))
    return Lean(axis, direction.recipe, axes, low, high), ""


def _centred(vectors: NDArray[np.float32], by: NDArray[np.float32] | None = None) -> Float:
    """Return vectors at length one, less the mean of those of neutral words."""
    mean = unit(vectors if by is None else by).mean(0, np.float64)
    centred: Float = unit(vectors).astype(np.float64) - mean
    return centred


def _middle(values: Float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - MIDDLE) / 2, (1 + MIDDLE) / 2]).tolist()
    return low, high


def leans(panel: Panel, lean: Lean, words: Sequence[str]) -> tuple[Float, Float]:
    """Return the lean of words of the panel's embedding, ``(n,)``, and over redraws, ``(n, r)``."""
    x = _centred(panel.embedding.take(words), panel.vectors)
    return x @ lean.axis, x @ lean.drawn.T


def leaning_words(panel: Panel, count: int) -> list[str]:
    """Return the `count` words of the vocabulary that lean most to each group."""
    lean, reason = find_lean(panel)
    if lean is None:
        raise WordbiasError(reason.removeprefix("undefined: "))
    values = leans(panel, lean, panel.vocabulary)[0]
    values[np.abs(values) <= FLOAT32_ROUNDING] = 0
    return [panel.vocabulary[i] for i in most_biased(values, count).rows.tolist()]


def word_rows(panel: Panel, words: Sequence[str]) -> list[Row]:
    """Measure lean, MIDB and signed direct bias of single words, and what the lean tells."""
    # The lean is the cosine with the axis less its mean over the neutral words, which all words
    # share. It is claimed, as `towards`, only of a word outside the middle 95 % of the neutral
    # words in the original, with an interval over redrawn pairs without 0. A last row has the share
    # of words of known group with a claim, and with a right one. With centred differences no lean
    # is claimed.
    if not words:
        return []
    lean, reason = (None, CENTRED) if panel.centre else find_lean(panel)
    rows = lean_rows(panel, lean, reason, words)
    x, better = panel.embedding.take(words), ideal("lean")
    fitted = fit_directions(panel.embedding, panel.attribute, dims=panel.dims, centre=panel.centre)
    undefined: list[float | None] = [None] * len(words)
    reasons = fitted.undefined()
    midb = undefined
    if fitted.subspace is not None and "midb" not in reasons:
        midb = midb_of_words(x, fitted.subspace).tolist()
    direct = undefined
    if fitted.direction is not None:
        direct = direct_bias_of_words(x, fitted.direction).tolist()
    for measure, values, why in (
        ("midb", midb, reasons.get("midb")),
        ("direct-bias", direct, reasons.get("direct-bias")),
    ):
        centred = panel.centre if measure == "midb" else None
        rows += [
            panel.row(measure, value, reason=why, word=word, centred=centred, **better)
            for word, value in zip(words, values, strict=True)
        ]
    return [*rows, *([] if lean is None else told_rows(panel, lean))]


def lean_rows(panel: Panel, lean: Lean | None, reason: str, words: Sequence[str]) -> list[Row]:
    """Return a row for the lean of each word."""
    if lean is None:
        return [
            panel.row("lean", None, reason=reason, word=word, **ideal("lean")) for word in words
        ]
    values, drawn = leans(panel, lean, words)
    rows = []
    for word, value, over in zip(words, values.tolist(), drawn, strict=True):
        undefined = lean.reason(value)
        interval = {} if undefined else spread_keys(LISTS, over)
        side = lean.side(value, interval)
        rows.append(
            panel.row(
                "lean",
                None if undefined else value,
                reason=undefined,
                word=word,
                setting=lean.along,
                towards=None if side is None else panel.attribute.groups[side],
                middle=[lean.low, lean.high],
                **interval,
                **ideal("lean"),
            )
        )
    return rows


def told_rows(panel: Panel, lean: Lean) -> list[Row]:
    """Return the share of words of pairs whose group the lean tells, and tells right."""
    # A definitional pair is measured along the axis of the others: it is no judge of itself.
    attribute, fitted = panel.attribute, tuple(dict.fromkeys(panel.attribute.pairs))
    sides: dict[str, tuple[int | None, int]] = {}
    for pair in dict.fromkeys([*fitted, *attribute.equalise]):
        own = lean
        if pair in fitted:
            others = tuple(other for other in fitted if other != pair)
            axis = pair_component(panel.original, replace(attribute, pairs=others))[0]
            if axis is None:
                continue
            low, high = _middle(_centred(panel.original_vectors) @ axis)
            own = replace(lean, axis=axis, low=low, high=high)
        for words in resolve_pairs([pair], panel.embedding).found:
            for i, (word, value, over) in enumerate(
                zip(words, *leans(panel, own, words), strict=True)
            ):
                sides[word] = own.side(float(value), spread_keys(LISTS, over)), i
    if not sides:
        return []
    untold = [word for word, (side, _) in sides.items() if side is None]
    wrong = [word for word, (side, own) in sides.items() if side not in (None, own)]
    share = 1 - (len(untold) + len(wrong)) / len(sides)
    return [panel.row(TOLD, share, n=len(sides), missing=untold, wrong=wrong, **ideal(TOLD))]
