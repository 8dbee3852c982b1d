"""Chance level of a measure: its values along axes that do not mean the attribute.

Most measures are not at their neutral value where there is no bias. Along any axis the mean |cos|
of words is about √(2/(π d)), and words also cluster along an axis that means nothing. So each
measure is computed again with another axis in place of the attribute's, and all else the same:

- A pair of words, such as she and he, is replaced by two random words of the neutral vocabulary of
  like frequency; the first component of pairs by that of as many such pairs.
- A subspace of two groups is replaced by one of groups that do not differ: each word loses the
  mean of its own group, the words are assigned at random to two groups of the same sizes, and the
  subspace is fitted as before. Assigning the words as they are would not do: their covariance
  contains the difference, and the fit finds it again. In MIDB its weights are those of its fit;
  as a direction it has those of the attribute's, since GIPE grows with the weights alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import comb

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import unit
from wordbias.draws import CHANCE, chance_keys, drawn
from wordbias.errors import WordbiasError
from wordbias.measures.direction import (
    RECIPES,
    Direction,
    difference_direction,
    most_biased,
    projections,
    with_side,
)
from wordbias.measures.panel import Panel
from wordbias.measures.registry import variant_of
from wordbias.results import Row
from wordbias.subspace import Subspace, reweighted
from wordbias.wordlists import resolve_groups, resolve_pairs

DRAWS = 20
"""Number of random axes."""
_LIKE = 200
"""Number of words, nearest in frequency, from which a replacement is drawn."""
_TRIES = 100
_BLOCK = 1 << 21
"""Bytes of vectors at a time; small enough for the allocator to give them back."""

Float = NDArray[np.float64]
Pairs = Sequence[tuple[str, str]]
Key = tuple[str, str]
"""A measure with its set or setting."""
Values = Mapping[Key, Float]
"""Values of each measure along several axes, nan where one is undefined."""


@dataclass(frozen=True, eq=False)
class Null:
    """Random axes, and subspaces that do not mean the attribute; None where there are none.

    A subspace is fitted on first use: most measures need one of them, or none.
    """

    panel: Panel
    within: Float  # all words less their group's mean, as they are and at length one, `(n, d)`
    unit_within: Float
    # rows of `within` in each of two random groups
    partition: tuple[NDArray[np.intp], NDArray[np.intp]] | None
    axis: Float | None  # difference of two random words, `(d,)`
    pairs: tuple[Float, Float] | None
    spanned: Direction | None  # random subspace in place of one from a file, with its side
    # weights of the subspace where it is the direction, `(k,)`: those of the true one, and all else
    # is the same. None leaves those of its own fit, as in redrawn lists.
    weights: Float | None = None

    @cached_property
    def subspace(self) -> Subspace | None:
        """Subspace of groups that do not differ, from vectors as they are."""
        return self._of_groups(self.within)

    @cached_property
    def unit_subspace(self) -> Subspace | None:
        """Subspace of groups that do not differ, from vectors at length one."""
        return self._of_groups(self.unit_within)

    @cached_property
    def component(self) -> Float | None:
        """First component of random pairs, ``(d,)``."""
        if self.pairs is None:
            return None
        subspace = _fitted(partial(Subspace.from_pairs, *self.pairs))
        return None if subspace is None else subspace.basis[0]

    @cached_property
    def direction(self) -> Direction | None:
        """Direction of clustering, recoverability, SemBias and GIPE, by the panel's recipe."""
        recipe, groups = self.panel.recipe, self._groups(self.within)
        if self.panel.original_direction.subspace is None:
            return None
        direction: Direction | None
        if recipe == "subspace":
            if groups is None or self.subspace is None:
                return None
            weights = self.panel.weights if self.weights is None else self.weights.tolist()
            direction = with_side(reweighted(self.subspace, weights), recipe, *groups)
        elif recipe == "means":
            subspace = None if groups is None else _fitted(partial(Subspace.from_means, groups))
            direction = Direction(subspace, recipe)
        elif recipe in RECIPES:
            vector = self.component if recipe == "pca" else self.axis
            direction = Direction(
                None if vector is None else Subspace.from_direction(vector), recipe
            )
        else:
            direction = self.spanned
        return None if direction is None or direction.subspace is None else direction

    def _groups(self, within: Float) -> tuple[Float, Float] | None:
        if self.partition is None:
            return None
        first, second = self.partition
        return within[first], within[second]

    def _of_groups(self, within: Float) -> Subspace | None:
        groups, panel = self._groups(within), self.panel
        if groups is None:
            return None
        return _fitted(lambda: Subspace.from_groups(*groups, panel.dims, centre=panel.centre))


def draw_nulls(panel: Panel, draws: int = DRAWS) -> list[Null]:
    """Draw subspaces and directions that do not mean the attribute, from the panel's original."""
    # Each kind of draw has random numbers of its own: none depends on what else is drawn. Groups
    # too small to be divided in that number of ways give no subspace.
    of_axis, of_pairs, of_groups, of_file = (
        np.random.default_rng((panel.seed, kind)) for kind in range(4)
    )
    attribute = panel.attribute
    axis_pair = [attribute.direction] if attribute.direction else []
    axis_pair, pairs = (
        list(resolve_pairs(words, panel.original).found) for words in (axis_pair, attribute.pairs)
    )
    size, within, unit_within = _within_groups(panel)
    true = panel.original_direction.subspace if panel.recipe == "subspace" else None
    few = comb(len(within), size) < 2 * draws  # different partitions, each with its mirror image
    nulls = []
    for _ in range(draws):
        order = of_groups.permutation(len(within))
        axis = _random_pairs(panel, axis_pair, of_axis)
        null = Null(
            panel,
            within,
            unit_within,
            partition=None if few else (order[:size], order[size:]),
            axis=axis[0][0] - axis[1][0] if axis else None,
            pairs=_random_pairs(panel, pairs, of_pairs),
            spanned=_spanned(panel, of_file),
            weights=None if true is None else true.weights,
        )
        nulls.append(null)
    return nulls


def with_chance(rows: Sequence[Row], values: Values) -> list[Row]:
    """Add chance levels to rows: the mean over the draws, their range, and a verdict."""
    # A value is beyond chance outside the range of all draws; where lower is better, above it. MIDB
    # along centred differences has no verdict: the published subspace is variation within the
    # groups, as the nulls are. Values of vectors whose lengths were changed have no chance level
    # where they grow with length.
    return [
        _row(row, values[key])
        if (key := key_of(row)) in values and "length_ratio" not in row.details
        else row
        for row in rows
    ]


def key_of(row: Row) -> Key:
    """Return the measure of a row with its set or setting."""
    return row.measure, variant_of(row.measure, row.details)


def _row(row: Row, values: Float) -> Row:
    own_chance = row.details.get("centred") and row.measure.startswith("midb")
    better = str(row.details.get("better", ""))
    levels = chance_keys(row.value, values, better, judged=not own_chance)
    draws = {**row.draws, **drawn(values, "axes", kind=CHANCE)}
    return replace(row, details={**row.details, **levels}, draws=draws)


# Draws


def group_vectors(panel: Panel) -> tuple[Float, Float]:
    """Return the vectors of both groups in the original; no rows where the words are too few."""
    try:
        groups = resolve_groups(panel.attribute, panel.original)
    except WordbiasError:  # too few words: nothing is fitted to them
        return np.zeros((0, panel.original.dim)), np.zeros((0, panel.original.dim))
    first, second = (panel.original.take(group.found).astype(float) for group in groups)
    return first, second


def _within_groups(panel: Panel) -> tuple[int, Float, Float]:
    """Return the first group's size, and all words less their group's mean, raw and unit."""
    raw = group_vectors(panel)
    on_unit = [unit(x.astype(np.float32)).astype(float) for x in raw]
    within = [
        np.concatenate([x - x.mean(0) if len(x) else x for x in both]) for both in (raw, on_unit)
    ]
    return len(raw[0]), within[0], within[1]


def _random_pairs(
    panel: Panel, pairs: Pairs, rng: np.random.Generator
) -> tuple[Float, Float] | None:
    """Replace both words of each pair by random ones of like frequency; None if there is none."""
    drawn = [_random_pair(panel, pair, rng) for pair in pairs]
    known = [pair for pair in drawn if pair is not None]
    if not known:
        return None
    first, second = (np.stack(side) for side in zip(*known, strict=True))
    return first, second


def _random_pair(
    panel: Panel, pair: tuple[str, str], rng: np.random.Generator
) -> tuple[Float, Float] | None:
    rows = panel.vocabulary_rows
    for _ in range(_TRIES):
        x, y = (
            panel.original.vectors[rng.choice(_like(rows, panel.original.index[word]))].astype(
                float
            )
            for word in pair
        )
        if not difference_direction(x, y)[1]:
            return x, y
    return None


def _like(rows: NDArray[np.intp], row: int) -> NDArray[np.intp]:
    """Return the rows of the vocabulary, in the order of frequency, that are nearest to a row."""
    place = int(np.searchsorted(rows, row))
    start = max(0, min(place - _LIKE // 2, len(rows) - _LIKE))
    return rows[start : start + _LIKE]


def _spanned(panel: Panel, rng: np.random.Generator) -> Direction | None:
    """Span differences of random words of like frequency, for a direction from a file."""
    true = panel.original_direction.subspace
    if true is None or panel.recipe in RECIPES:
        return None
    rows = panel.vocabulary_rows
    words = [panel.original.words[i] for i in rng.choice(rows, true.dims).tolist()]
    pairs = _random_pairs(panel, [(word, word) for word in words], rng)
    if pairs is None or len(pairs[0]) < true.dims:
        return None
    basis = np.linalg.qr((pairs[0] - pairs[1]).T)[0].T
    spanned = _fitted(lambda: Subspace(basis, true.weights))
    return None if spanned is None else with_side(spanned, panel.recipe, *pairs)


def _fitted(make: Callable[[], Subspace]) -> Subspace | None:
    try:
        return make()
    except WordbiasError:
        return None


def chance_of_most_biased(
    panel: Panel,
    nulls: Sequence[Null],
    words: int,
    measures: Sequence[str],
    evaluate: Callable[[NDArray[np.float32], NDArray[np.bool_]], Sequence[float]],
) -> dict[Key, Float]:
    """Evaluate measures on the words that lean most in the original along each null."""
    # `evaluate` takes vectors (n, d) and sides (n,); values are nan where fewer words lean.
    values = np.full((len(measures), len(nulls)), np.nan)
    for i, null in enumerate(nulls):
        if null.direction is None:
            continue
        lean = projections(
            panel.original_vectors,
            null.direction.defined(),
            null.direction.towards,
            by_length=panel.by_projection,
        )
        try:
            chosen = most_biased(lean, words // 2)
        except WordbiasError:
            continue
        values[:, i] = evaluate(panel.vectors[chosen.rows], chosen.labels)
    return {(name, ""): row for name, row in zip(measures, values, strict=True)}


def blocks_of_original(panel: Panel) -> Iterator[Float]:
    """Yield the vocabulary's vectors in the original, without a copy of all of them."""
    rows = panel.vocabulary_rows
    step = max(1, _BLOCK // (8 * panel.original.dim))
    for start in range(0, len(rows), step):
        yield panel.original.vectors[rows[start : start + step]].astype(float)
