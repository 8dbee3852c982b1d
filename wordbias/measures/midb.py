"""MIDB: multi-dimensional information-weighted direct bias (Dawkins 2021, section 4, eq. 3).

Direct bias along one direction (Bolukbasi et al. 2016, section 5.2).

Components of a fitted subspace: their meaning, and whether their signs can be trusted.

Bias directions of one embedding: a subspace and two directions, and values along them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import blocks, normalise, unit
from wordbias.devices import blas_threads
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.statistics import resampled_cells
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, resolve_groups, resolve_pairs

Float = NDArray[np.float64]


class Midb(NamedTuple):
    """Means over a vocabulary; all are 0 where no word leans to either group.

    Attributes
    ----------
    signed
        Mean of ``Σ a_i ⟨g_i, x⟩``, the value of the paper's Table 6; positive leans to the first
        group. Changes if a ``g_i`` is flipped.
    absolute
        Mean of its absolute value.
    rms
        ``sqrt(mean Σ (a_i ⟨g_i, x⟩)²)``, which no flip can change.
    """

    signed: float
    absolute: float
    rms: float


def contributions(x: Float, subspaces: Sequence[Subspace]) -> Float:
    """``a_i ⟨g_i, x⟩`` of every vector and every component of all subspaces, shape ``(n, Σk)``."""
    rows = np.concatenate([one.basis * one.weights[:, None] for one in subspaces])
    found: Float = x @ rows.T
    return found


def sums_of_contributions(x: Float, subspaces: Sequence[Subspace]) -> tuple[Float, Float]:
    """MIDB of every vector along each subspace, and the sum of its squared parts, ``(n, s)`` each.

    All values of MIDB are means of these, of their absolute values, or roots of such a mean.

    Parameters
    ----------
    x
        Shape ``(n, d)``, float64.
    subspaces
        One or more.
    """
    along = contributions(x, subspaces)
    # products with 0 and 1 add what belongs to a subspace faster than reduceat does
    belongs = np.repeat(np.eye(len(subspaces)), [one.dims for one in subspaces], axis=0)
    return along @ belongs, along**2 @ belongs


def signed_sums(x: Float, subspaces: Sequence[Subspace]) -> Float:
    """MIDB of every vector along each subspace alone, shape ``(n, s)``."""
    found: Float = x @ np.stack([one.basis.T @ one.weights for one in subspaces], axis=1)
    return found


def midb_of_words(vectors: NDArray[np.float32], subspace: Subspace) -> Float:
    """MIDB of every word, shape ``(n,)``, for vectors of shape ``(n, d)``."""
    parts = (signed_sums(x, [subspace])[:, 0] for x in blocks(vectors))
    return np.concatenate([np.zeros(0), *parts])


def midb(vectors: NDArray[np.float32], subspace: Subspace) -> Midb:
    """Average MIDB over the rows of `vectors`, shape ``(n, d)``, n ≥ 1.

    The vectors are taken as they are, as in the paper; then the value grows with their length,
    and embeddings compare only with vectors *and* subspace on unit length (``midb-unit``).
    """
    signed = absolute = square = 0.0
    for x in blocks(vectors):
        total, squares = sums_of_contributions(x, [subspace])
        signed += total.sum()
        absolute += np.abs(total).sum()
        square += squares.sum()
    n = len(vectors)
    return Midb(float(signed / n), float(absolute / n), float(np.sqrt(square / n)))


UNDEFINED_BELOW = 0.1
"""Length of a − b, relative to the mean length of a and b, below which its direction is noise."""


def projections_of_unit(x: NDArray[np.float64], axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """``⟨x, g⟩ / ‖x‖`` of every vector with every axis, 0 for a vector of length 0.

    With axes of length one these are cosines.

    Parameters
    ----------
    x
        Shape ``(n, d)``.
    axes
        Shape ``(d,)`` or ``(d, m)``; the result is ``(n,)`` or ``(n, m)``.
    """
    norm = np.linalg.norm(x, axis=1)
    length = np.where(norm == 0, 1, norm)
    found: NDArray[np.float64] = x @ axes / (length if axes.ndim == 1 else length[:, None])
    return found


def direct_bias_of_words(
    vectors: NDArray[np.float32], direction: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Cosine of every word with the direction, shape ``(n,)``; 0 for a word of length 0."""
    g = direction / np.linalg.norm(direction)
    return np.concatenate([np.zeros(0), *(projections_of_unit(x, g) for x in blocks(vectors))])


def direct_bias(
    vectors: NDArray[np.float32], direction: NDArray[np.float64], c: float = 1.0
) -> float:
    """Mean of ``|cos(w, g)|^c`` over the rows of `vectors`; 0 is neutral.

    Parameters
    ----------
    vectors
        Shape ``(n, d)``, n ≥ 1.
    direction
        Shape ``(d,)``; Dawkins (2021) takes she − he, Bolukbasi et al. the first principal
        component of definitional pairs.
    c
        Strictness; 1 in both papers.
    """
    return float((np.abs(direct_bias_of_words(vectors, direction)) ** c).mean())


def difference_direction(
    a: ArrayLike, b: ArrayLike, names: tuple[str, str] = ("a", "b")
) -> tuple[NDArray[np.float64], str]:
    """Return a − b, and why direct bias along it is undefined, or an empty string.

    Debiasing can bring `a` and `b` so close together that only noise is left of their difference;
    the paper reports such cells as NA.
    """
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    length = np.linalg.norm(x - y)
    mean = (np.linalg.norm(x) + np.linalg.norm(y)) / 2
    if length >= UNDEFINED_BELOW * mean and length > 0:
        return x - y, ""
    share = length / mean if mean else 0.0
    return x - y, (
        f"undefined: ‖{names[0]} − {names[1]}‖ is {share:.3f} of their mean length, "
        f"below {UNDEFINED_BELOW}"
    )


STABLE = 0.95
"""Bootstrap stability below which a component's sign, and signed MIDB with it, is noise."""
DESCRIBES_DIFFERENCE = 0.5
"""Share of the difference between the groups below which the components describe something else."""
ALIKE = 0.9
"""Mean |cos| below which the first component depends on which words are in the groups."""
_SMALL = 80
_REFITS = 200


@dataclass(frozen=True)
class Components:
    """Diagnosis of `k` components; Δ is the difference of the groups' means.

    Attributes
    ----------
    weights
        ``a_i``, shape ``(k,)``.
    cos_difference
        ``cos(g_i, Δ)``, shape ``(k,)``.
    cos_direction
        ``cos(g_i, she − he)``, shape ``(k,)``; None where the direction is not known.
    stability
        Share of bootstrap samples of the words in which ``⟨g_i, Δ*⟩`` keeps its sign, ``(k,)``.
    share
        Share of ``‖Δ‖²`` that lies inside the span.
    first_stability
        Mean |cos| of the first component with that of words drawn again; None where there are so
        many words that it is not asked.
    """

    weights: NDArray[np.float64]
    cos_difference: NDArray[np.float64]
    cos_direction: NDArray[np.float64] | None
    stability: NDArray[np.float64]
    share: float
    first_stability: float | None = None


def components(
    subspace: Subspace,
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    direction: NDArray[np.float64] | None,
    rng: np.random.Generator,
    samples: int = 1000,
    *,
    center: bool = False,
) -> Components:
    """Diagnose a subspace fitted on two groups of vectors, ``(n, d)`` and ``(m, d)``.

    The components stay fixed while the words are drawn again with replacement within each group;
    only the first one is also fitted anew, if the groups are small (`center` as it was fitted).
    """
    delta = first.mean(0, np.float64) - second.mean(0, np.float64)
    inner = subspace.coordinates(delta)
    length = np.linalg.norm(delta)
    cosine = inner / length if length else np.zeros_like(inner)
    drawn = _resampled_mean(subspace.coordinates(first.astype(float)), rng, samples)
    drawn -= _resampled_mean(subspace.coordinates(second.astype(float)), rng, samples)
    along = None
    if direction is not None:
        along = subspace.coordinates(direction) / np.linalg.norm(direction)
    return Components(
        subspace.weights,
        cosine,
        along,
        (drawn * np.where(inner < 0, -1, 1) > 0).mean(0),
        float((cosine**2).sum()),
        first_stability(subspace.basis[0], first, second, center=center),
    )


def first_stability(
    component: NDArray[np.float64],
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    *,
    center: bool,
) -> float | None:
    """Mean |cos| of the first component with those fitted to the groups' words drawn again.

    Parameters
    ----------
    component
        Shape ``(d,)``.
    first, second
        What it was fitted to, shapes ``(n, d)`` and ``(m, d)``; of more than 80 words in all the
        answer is None.
    """
    n, m = len(first), len(second)
    if n + m > _SMALL:
        return None
    rng = np.random.default_rng(0)
    f, g = first.astype(float), second.astype(float)
    found = []
    with blas_threads(1):
        for _ in range(_REFITS):
            x, y = f[rng.integers(n, size=n)], g[rng.integers(m, size=m)]
            rows = [(x - x.mean(0)) / np.sqrt(n), (y - y.mean(0)) / np.sqrt(m)]
            rows += [] if center else [(x.mean(0) - y.mean(0))[None]]
            moment = np.concatenate(rows)
            values, vectors = np.linalg.eigh(moment @ moment.T)
            if values[-1] > 0:  # else one word was drawn throughout: nothing varies
                drawn = moment.T @ vectors[:, -1] / np.sqrt(values[-1])
                found.append(abs(float(drawn @ component)))
    return float(np.mean(found)) if found else None


def _resampled_mean(
    x: NDArray[np.float64], rng: np.random.Generator, samples: int
) -> NDArray[np.float64]:
    counts = resampled_cells(np.ones(len(x), np.intp), rng, samples)
    mean: NDArray[np.float64] = counts @ x / len(x)
    return mean


_ALONE = ", and direct bias is taken along nothing else, whatever the direction of other measures"
_ROWS = 1024
"""Words measured at a time: few enough to stay in the processor's cache."""

MIDB = ("midb", "midb-abs", "midb-rms", "midb-unit")
DIRECT = ("direct-bias", "direct-bias-pca")


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
        values_along(x, normalise(x).astype(np.float32).astype(float), [fitted])
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
