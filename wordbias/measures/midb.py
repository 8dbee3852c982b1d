"""MIDB and direct bias: how far words lean along a subspace, and along one direction.

MIDB is multi-dimensional information-weighted direct bias (Dawkins 2021, section 4, eq. 3), direct
bias that of Bolukbasi et al. (2016, section 5.2). Both are means over a vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import blocks, mean_difference, normalise, unit
from wordbias.devices import blas_threads
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.chance import Key, Null, blocks_of_original, group_vectors
from wordbias.measures.direction import axis, pair_component, projections_of_unit
from wordbias.measures.panel import Panel
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import resampled_means
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, resolve_groups

Float = NDArray[np.float64]
T = TypeVar("T")

UNIT = ("midb-unit", "midb-unit-abs", "midb-unit-rms")
MIDB = ("midb", "midb-abs", "midb-rms", *UNIT)
DIRECT = ("direct-bias", "direct-bias-pca")
NO_SIDES = "undefined: the means of the groups do not differ by more than rounding"
_NO_OTHER = (
    ", and direct bias is taken along nothing else, whatever the direction of other measures"
)
_ROWS = 1024
"""Words measured at a time: few enough to stay in the processor's cache."""


# MIDB


def midb(vectors: NDArray[np.float32], subspace: Subspace) -> Midb:
    """Average MIDB over the rows of `vectors`, shape ``(n, d)``, n ≥ 1."""
    # The vectors are taken as they are, as in the paper; then the value grows with their length,
    # and embeddings compare only with vectors and subspace on unit length (midb-unit).
    signed = absolute = square = 0.0
    for x in blocks(vectors):
        total, squares = sums_of_contributions(x, [subspace])
        signed += total.sum()
        absolute += np.abs(total).sum()
        square += squares.sum()
    n = len(vectors)
    return Midb(float(signed / n), float(absolute / n), float(np.sqrt(square / n)))


class Midb(NamedTuple):
    """Means over a vocabulary; all are 0 where no word leans to either group."""

    # mean of `Σ a_i ⟨g_i, x⟩`, the value of the paper's Table 6; positive leans to the first group.
    # Changes if a `g_i` is flipped.
    signed: float
    absolute: float  # mean of its absolute value
    rms: float  # `sqrt(mean Σ (a_i ⟨g_i, x⟩)²)`, which no flip can change


def midb_of_words(vectors: NDArray[np.float32], subspace: Subspace) -> Float:
    """Return MIDB of every word, shape ``(n,)``, for vectors of shape ``(n, d)``."""
    parts = (signed_sums(x, [subspace])[:, 0] for x in blocks(vectors))
    return np.concatenate([np.zeros(0), *parts])


def contributions(x: Float, subspaces: Sequence[Subspace]) -> Float:
    """Return ``a_i ⟨g_i, x⟩`` of every vector and component of all subspaces, ``(n, Σk)``."""
    rows = np.concatenate([subspace.basis * subspace.weights[:, None] for subspace in subspaces])
    parts: Float = x @ rows.T
    return parts


def sums_of_contributions(x: Float, subspaces: Sequence[Subspace]) -> tuple[Float, Float]:
    """Return MIDB of (n, d) along each subspace, and the sum of its squared parts, (n, s) each."""
    # All values of MIDB are means of these, of their absolute values, or roots of such a mean.
    along = contributions(x, subspaces)
    # products with 0 and 1 add what belongs to a subspace faster than reduceat does
    belongs = np.repeat(np.eye(len(subspaces)), [subspace.dims for subspace in subspaces], axis=0)
    signed = along @ belongs
    along *= along  # in place: along many null directions it is the largest array
    return signed, along @ belongs


def signed_sums(x: Float, subspaces: Sequence[Subspace]) -> Float:
    """Return only MIDB of every vector along each subspace, shape ``(n, s)``."""
    sums: Float = x @ np.stack(
        [subspace.basis.T @ subspace.weights for subspace in subspaces], axis=1
    )
    return sums


# Direct bias


def direct_bias(
    vectors: NDArray[np.float32], direction: NDArray[np.float64], c: float = 1.0
) -> float:
    """Return the mean of ``|cos(w, g)|^c`` over the rows of `vectors`, (n, d); 0 is neutral."""
    # Dawkins (2021) takes she − he, Bolukbasi et al. the first principal component of definitional
    # pairs; c is 1 in both papers.
    return float((np.abs(direct_bias_of_words(vectors, direction)) ** c).mean())


def direct_bias_of_words(
    vectors: NDArray[np.float32], direction: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the cosine of every word with the direction, ``(n,)``; 0 for a word of length 0."""
    g = direction / np.linalg.norm(direction)
    return np.concatenate([np.zeros(0), *(projections_of_unit(x, g) for x in blocks(vectors))])


# Along the directions of an embedding


@dataclass(frozen=True)
class BiasDirections:
    """Subspaces and directions fitted on one embedding, to measure that one or another."""

    # fitted on the groups' vectors as they are, and on unit length; None with `subspace_reason`
    subspace: Subspace | None = None
    unit_subspace: Subspace | None = None
    subspace_reason: str = ""
    # values that hang on the signs of components, which point nowhere; see `_without_sides`
    without_sides: Sequence[str] = ()
    # the difference of the attribute's axis pair (she − he), and the first principal component of
    # its definitional pairs; None with `direction_reason`, `pair_reason`
    direction: NDArray[np.float64] | None = None
    direction_reason: str = ""
    pair_component: NDArray[np.float64] | None = None
    pair_reason: str = ""

    def undefined(self) -> dict[str, str]:
        """Return the measures that have no value along these directions, each with the reason."""
        reasons: dict[str, str] = {}
        if self.subspace is None or self.unit_subspace is None:
            reasons |= dict.fromkeys(MIDB, self.subspace_reason)
        reasons |= dict.fromkeys(self.without_sides, NO_SIDES)
        if self.direction is None:
            reasons["direct-bias"] = self.direction_reason
        if self.pair_component is None:
            reasons["direct-bias-pca"] = self.pair_reason
        return reasons

    def measure(self, vectors: NDArray[np.float32]) -> dict[str, Value]:
        """Measure MIDB and direct bias of vectors, shape ``(n, d)``, along these directions."""
        reasons, values = self.undefined(), values_of_words(vectors, self)
        return {
            name: Value(None, reasons[name])
            if name in reasons
            else Value(float(of_mean(name, values[name].mean())))
            for name in (*MIDB, *DIRECT)
        }


class Value(NamedTuple):
    """A value, or the reason why it is undefined."""

    value: float | None
    reason: str = ""


def fit_directions(
    embedding: Embedding, attribute: Attribute, *, dims: int = 4, centre: bool = False
) -> BiasDirections:
    """Fit the subspaces and the directions; what cannot be fitted has a reason."""
    direction, direction_reason = axis(embedding, attribute)
    component, pair_reason = pair_component(embedding, attribute)
    direction_reason += _NO_OTHER if attribute.direction is None else ""
    pair_reason += _NO_OTHER if not attribute.pairs else ""
    try:
        first, second = (
            embedding.take(group.found) for group in resolve_groups(attribute, embedding)
        )
        subspace = Subspace.from_groups(first, second, dims, centre=centre)
        on_unit = Subspace.from_groups(unit(first), unit(second), dims, centre=centre)
    except WordbiasError as error:
        subspace, on_unit, subspace_reason = None, None, f"undefined: {error}"
        without: list[str] = []
    else:
        subspace_reason = ""
        without = _without_sides("midb", first, second, dims)
        without += _without_sides("midb-unit", unit(first), unit(second), dims)
    return BiasDirections(
        subspace,
        on_unit,
        subspace_reason,
        without,
        direction,
        direction_reason,
        component,
        pair_reason,
    )


def _without_sides(
    name: str, first: NDArray[np.float32], second: NDArray[np.float32], dims: int
) -> list[str]:
    """Return the values that the signs of components change, where nothing decides the signs."""
    # Components point to the first group's mean. Where the means are equal but for rounding, each
    # may point either way, and then the sum of several has another size too.
    if mean_difference(first, second).any():
        return []
    return [name] if dims == 1 else [name, f"{name}-abs"]


def directions_of(null: Null) -> BiasDirections:
    """Return the directions of random axes, or of redrawn lists."""
    return BiasDirections(
        null.subspace, null.unit_subspace, direction=null.axis, pair_component=null.component
    )


def values_along(x: Float, on_unit: Float, fits: Sequence[BiasDirections]) -> dict[str, Float]:
    """Measure words along several fits, (n, fits); MIDB and direct bias are means of these."""
    # All values of the two measures are computed here: those of an embedding, those before and
    # after a method, and those of chance. They are nan where undefined.
    signed, squares = _where_fitted(
        lambda subspaces: np.stack(sums_of_contributions(x, subspaces)),
        [fit.subspace for fit in fits],
        (2, len(x)),
    )
    signed_unit, squares_unit = _where_fitted(
        lambda subspaces: np.stack(sums_of_contributions(on_unit, subspaces)),
        [fit.unit_subspace for fit in fits],
        (2, len(x)),
    )
    direct = _where_fitted(
        lambda axes: np.abs(projections_of_unit(x, np.stack(axes, axis=1))),
        [
            None if axis is None else axis / np.linalg.norm(axis)
            for axis in (*(f.direction for f in fits), *(f.pair_component for f in fits))
        ],
        (len(x),),
    )
    return {
        "midb": signed,
        "midb-abs": np.abs(signed),
        "midb-rms": squares,
        "midb-unit": signed_unit,
        "midb-unit-abs": np.abs(signed_unit),
        "midb-unit-rms": squares_unit,
        "direct-bias": direct[:, : len(fits)],
        "direct-bias-pca": direct[:, len(fits) :],
    }


def _where_fitted(
    measured: Callable[[list[T]], Float], along: Sequence[T | None], shape: tuple[int, ...]
) -> Float:
    """Measure along what is fitted, on the last axis; nan along None."""
    measurements = np.full((*shape, len(along)), np.nan)
    if fitted := [fit for fit in along if fit is not None]:
        measurements[..., [fit is not None for fit in along]] = measured(fitted)
    return measurements


def values_of_words(vectors: NDArray[np.float32], fitted: BiasDirections) -> dict[str, Float]:
    """Measure words along one fit, shape ``(n,)`` for each measure; see `values_along`."""
    parts = [
        values_along(x, normalise(x).astype(np.float32).astype(float), [fitted])
        for x in blocks(vectors, _ROWS)
    ]
    return {
        name: np.concatenate([np.zeros(0), *(part[name][:, 0] for part in parts)])
        for name in (*MIDB, *DIRECT)
    }


def of_mean(measure: str, mean: Float) -> Float:
    """Return the measure of a mean over words: for MIDB's RMS the root of mean squares."""
    return np.sqrt(mean) if measure.endswith("-rms") else mean


# Rows and chance


def midb_rows(panel: Panel) -> list[Row]:
    """Measure MIDB and direct bias along the embedding's own directions (as in Table 6)."""
    fitted = fit_directions(panel.embedding, panel.attribute, dims=panel.dims, centre=panel.centre)
    undefined, values = fitted.undefined(), values_of_words(panel.vectors, fitted)
    rows = [panel.undefined([name], reason)[0] for name, reason in undefined.items()]
    defined = {name: column for name, column in values.items() if name not in undefined}
    return [*_defined_rows(panel, defined), *rows]


def _defined_rows(panel: Panel, columns: dict[str, Float]) -> list[Row]:
    if not columns:
        return []
    values = np.stack(list(columns.values()), axis=1)
    with blas_threads(1):
        samples = resampled_means(values, panel.rng())
    rows = []
    for i, name in enumerate(columns):
        rows.append(
            panel.row(
                name,
                float(of_mean(name, values[:, i].mean())),
                of_mean(name, samples[:, i]),
                n=len(values),
                **ideal(name),
                **_setting(panel, name),
            )
        )
    return rows


def _setting(panel: Panel, name: str) -> dict[str, Any]:
    if name in DIRECT:
        return {"setting": "c=1"}
    kind = "centred" if panel.centre else "not centred"
    return {"setting": f"d={panel.dims}, {kind}", "centred": panel.centre}


def chance_of_midb(panel: Panel, nulls: Sequence[Null]) -> dict[Key, Float]:
    """Measure MIDB and direct bias along all nulls in one pass over the vocabulary."""
    # Also the share of the groups' difference that lies in the span of each null.
    fits = list(map(directions_of, nulls))
    sums = {name: np.zeros(len(nulls)) for name in (*MIDB, *DIRECT)}
    for block in blocks_of_original(panel):
        for name, values in values_along(block, normalise(block), fits).items():
            sums[name] += values.sum(axis=0)
    n = len(panel.vocabulary)
    means = {(name, ""): of_mean(name, total / n) for name, total in sums.items()}
    return means | _in_span(panel, nulls)


def _in_span(panel: Panel, nulls: Sequence[Null]) -> dict[Key, Float]:
    """Return the share of ``‖Δ‖²``, the groups' difference, in the span of each null."""
    first, second = group_vectors(panel)
    if not min(len(first), len(second)):
        return {}
    delta = mean_difference(first.astype(np.float32), second.astype(np.float32))
    if not delta.any():
        return {}
    along = [None if null.subspace is None else null.subspace.coordinates(delta) for null in nulls]
    shares = [np.nan if part is None else float(part @ part / (delta @ delta)) for part in along]
    return {("difference-in-span", ""): np.array(shares)}
