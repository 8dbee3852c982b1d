"""Bias directions of one embedding: a subspace and two directions, and values along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import at_length_one, blocks, unit
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direct_bias import (
    UNDEFINED_BELOW,
    difference_direction,
    projections_of_unit,
)
from wordbias.measures.midb import signed_sums, sums_of_contributions
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, resolve_groups, resolve_pairs

_ALONE = ", and direct bias is taken along nothing else, whatever the direction of other measures"
_ROWS = 1024
"""Words measured at a time: few enough to stay in the processor's cache."""

MIDB = ("midb", "midb-abs", "midb-rms", "midb-unit")
DIRECT = ("direct-bias", "direct-bias-pca")
Float = NDArray[np.float64]


class Value(NamedTuple):
    """A measured value, or the reason why it is undefined."""

    value: float | None
    reason: str = ""


@dataclass(frozen=True)
class BiasDirections:
    """Subspace and directions fitted on one embedding, to measure that one or another.

    Attributes
    ----------
    subspace, unit_subspace
        Fitted on the groups' vectors as they are, and on unit length; None with `subspace_reason`.
    direction, pair_component
        The difference of the attribute's axis pair (she − he), and the first principal component
        of its definitional pairs; None with `direction_reason`, `pair_reason`.
    """

    subspace: Subspace | None = None
    unit_subspace: Subspace | None = None
    subspace_reason: str = ""
    direction: NDArray[np.float64] | None = None
    direction_reason: str = ""
    pair_component: NDArray[np.float64] | None = None
    pair_reason: str = ""

    def undefined(self) -> dict[str, str]:
        """Return the measures that have no value along these directions, each with the reason."""
        found: dict[str, str] = {}
        if self.subspace is None or self.unit_subspace is None:
            found |= dict.fromkeys(MIDB, self.subspace_reason)
        if self.direction is None:
            found["direct-bias"] = self.direction_reason
        if self.pair_component is None:
            found["direct-bias-pca"] = self.pair_reason
        return found

    def measure(self, vectors: NDArray[np.float32]) -> dict[str, Value]:
        """Measure MIDB and direct bias of vectors, shape ``(n, d)``, along these directions."""
        reasons, values = self.undefined(), values_of_words(vectors, self)
        return {
            name: Value(None, reasons[name])
            if name in reasons
            else Value(float(of_mean(name, values[name].mean())))
            for name in (*MIDB, *DIRECT)
        }


def values_along(x: Float, on_unit: Float, fits: Sequence[BiasDirections]) -> dict[str, Float]:
    """Measure words along several fits: MIDB and direct bias are means of these values.

    All values of the two measures come from here: those of an embedding, those before and after a
    method, and those of chance.

    Parameters
    ----------
    x, on_unit
        Vectors as they are and at length one, shape ``(n, d)``.
    fits
        One or more.

    Returns
    -------
    dict
        For each measure shape ``(n, fits)``, nan where undefined; `of_mean` makes the measure of a
        mean of them.
    """
    signed, squares = _midb(x, [one.subspace for one in fits])
    axes = [*(one.direction for one in fits), *(one.pair_component for one in fits)]
    direct = _cosines(x, axes)
    return {
        "midb": signed,
        "midb-abs": np.abs(signed),
        "midb-rms": squares,
        "midb-unit": _signed(on_unit, [one.unit_subspace for one in fits]),
        "direct-bias": direct[:, : len(fits)],
        "direct-bias-pca": direct[:, len(fits) :],
    }


def values_of_words(vectors: NDArray[np.float32], fitted: BiasDirections) -> dict[str, Float]:
    """Measure words along one fit, shape ``(n,)`` for each measure; see `values_along`."""
    parts = [
        values_along(x, at_length_one(x).astype(np.float32).astype(float), [fitted])
        for x in blocks(vectors, _ROWS)
    ]
    return {
        name: np.concatenate([np.zeros(0), *(part[name][:, 0] for part in parts)])
        for name in (*MIDB, *DIRECT)
    }


def of_mean(measure: str, mean: Float) -> Float:
    """Return a measure of the mean over words: of the squares of `midb-rms` the root."""
    return np.sqrt(mean) if measure == "midb-rms" else mean


def _midb(x: Float, subspaces: Sequence[Subspace | None]) -> tuple[Float, Float]:
    known = [one for one in subspaces if one is not None]
    found = np.full((2, len(x), len(subspaces)), np.nan)
    if known:
        found[:, :, [one is not None for one in subspaces]] = sums_of_contributions(x, known)
    return found[0], found[1]


def _signed(x: Float, subspaces: Sequence[Subspace | None]) -> Float:
    known = [one for one in subspaces if one is not None]
    found = np.full((len(x), len(subspaces)), np.nan)
    if known:
        found[:, [one is not None for one in subspaces]] = signed_sums(x, known)
    return found


def _cosines(x: Float, axes: Sequence[Float | None]) -> Float:
    known = [axis / np.linalg.norm(axis) for axis in axes if axis is not None]
    found = np.full((len(x), len(axes)), np.nan)
    if known:
        at = [axis is not None for axis in axes]
        found[:, at] = np.abs(projections_of_unit(x, np.stack(known, axis=1)))
    return found


def fit_directions(
    embedding: Embedding, attribute: Attribute, *, dims: int = 4, center: bool = False
) -> BiasDirections:
    """Fit the subspace and the directions; what cannot be fitted gets a reason."""
    direction, direction_reason = axis(embedding, attribute)
    component, pair_reason = pair_component(embedding, attribute)
    direction_reason += _ALONE if attribute.direction is None else ""
    pair_reason += _ALONE if not attribute.pairs else ""
    try:
        first, second = (
            embedding.take(found.found) for found in resolve_groups(attribute, embedding)
        )
        subspace = Subspace.from_groups(first, second, dims, center=center)
        on_unit = Subspace.from_groups(unit(first), unit(second), dims, center=center)
    except WordbiasError as error:
        subspace, on_unit, subspace_reason = None, None, f"undefined: {error}"
    else:
        subspace_reason = ""
    return BiasDirections(
        subspace, on_unit, subspace_reason, direction, direction_reason, component, pair_reason
    )


def axis(embedding: Embedding, attribute: Attribute) -> tuple[NDArray[np.float64] | None, str]:
    """Return the difference vector of the attribute's axis pair, or None and the reason."""
    if attribute.direction is None:
        return None, f"undefined: the attribute {attribute.name} has no pairs"
    a, b = attribute.direction
    found = resolve_pairs([(a, b)], embedding).found
    if not found:
        return None, f"undefined: {embedding.name} lacks one of {a}, {b}"
    x, y = embedding.take(found[0])
    vector, reason = difference_direction(x, y, found[0])
    return (None, reason) if reason else (vector, "")


def pair_component(
    embedding: Embedding, attribute: Attribute
) -> tuple[NDArray[np.float64] | None, str]:
    """Return the first principal component of the definitional pairs, or None and the reason."""
    if not attribute.pairs:
        return None, f"undefined: the attribute {attribute.name} has no pairs"
    pairs = resolve_pairs(attribute.pairs, embedding).found
    if not pairs:
        return None, f"undefined: {embedding.name} has no definitional pair of {attribute.name}"
    first, second = (embedding.take(words).astype(float) for words in zip(*pairs, strict=True))
    gap = np.linalg.norm(first - second, axis=1).mean()
    size = np.linalg.norm(np.concatenate([first, second]), axis=1).mean()
    if gap < UNDEFINED_BELOW * size or gap == 0:
        return None, (
            f"undefined: definitional pairs differ by {gap / size if size else 0:.3f} of their "
            f"mean length, below {UNDEFINED_BELOW}"
        )
    return Subspace.from_pairs(first, second).basis[0], ""
