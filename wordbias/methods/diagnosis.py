"""Diagnosis of a fitted subspace: what its components describe, what it removes, what is noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import mean_difference
from wordbias.devices import blas_threads
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direction import axis
from wordbias.methods.fitted import Fitted
from wordbias.methods.misp import check_dims, fit_groups, group_vectors, resolve_groups
from wordbias.methods.transform import Projection
from wordbias.results import Row
from wordbias.statistics import resampled_cells
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, Resolved, WordGroups
from wordbias.wordlists.groups import FEW_NAMES

STABLE = 0.95
"""Bootstrap stability below which a component's sign, and MIDB but its RMS with it, is noise."""
DESCRIBES_DIFFERENCE = 0.5
"""Share of the difference between the groups below which the components describe something else."""
ALIKE = 0.9
"""Mean |cos| below which the first component depends on the choice of words in the groups."""
_SMALL = 80
_REFITS = 200
REMOVED = "difference-removed"
NO_DELTA = "undefined: the groups' means are the same"


@dataclass(frozen=True)
class Components:
    """Diagnosis of `k` components; Δ is the difference between the groups' means."""

    weights: NDArray[np.float64]  # `a_i`, shape `(k,)`
    cos_difference: NDArray[np.float64]  # `cos(g_i, Δ)`, shape `(k,)`
    # `cos(g_i, she − he)`, shape `(k,)`; None where the direction is not known
    cos_direction: NDArray[np.float64] | None
    # share of bootstrap samples of the words in which `⟨g_i, Δ*⟩` keeps its sign, `(k,)`
    stability: NDArray[np.float64]
    share: float  # share of `‖Δ‖²` that lies inside the span; 0 where Δ is rounding
    # mean |cos| of the first component with that of resampled words; None where there are too many
    # words to compute it
    first_stability: float | None = None
    differ: bool = True  # whether Δ is more than rounding


def components(
    subspace: Subspace,
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    direction: NDArray[np.float64] | None,
    rng: np.random.Generator,
    samples: int = 1000,
    *,
    centre: bool = False,
) -> Components:
    """Diagnose a subspace fitted on two groups of vectors, ``(n, d)`` and ``(m, d)``."""
    # The components stay fixed while the words of each group are resampled with replacement; only
    # the first one is also fitted again, if the groups are small.
    delta = mean_difference(first, second)
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
        first_stability(subspace.basis[0], first, second, centre=centre),
        differ=bool(length),
    )


def first_stability(
    component: NDArray[np.float64],
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    *,
    centre: bool,
) -> float | None:
    """Return the mean |cos| of the first component with those fitted to resampled words."""
    # None for more than 80 words in all.
    n, m = len(first), len(second)
    if n + m > _SMALL:
        return None
    rng = np.random.default_rng(0)
    f, g = first.astype(float), second.astype(float)
    cosines = []
    with blas_threads(1):
        for _ in range(_REFITS):
            x, y = f[rng.integers(n, size=n)], g[rng.integers(m, size=m)]
            rows = [(x - x.mean(0)) / np.sqrt(n), (y - y.mean(0)) / np.sqrt(m)]
            rows += [] if centre else [(x.mean(0) - y.mean(0))[None]]
            moment = np.concatenate(rows)
            values, vectors = np.linalg.eigh(moment @ moment.T)
            if values[-1] > 0:  # else one word was drawn throughout: nothing varies
                drawn = moment.T @ vectors[:, -1] / np.sqrt(values[-1])
                cosines.append(abs(float(drawn @ component)))
    return float(np.mean(cosines)) if cosines else None


def _resampled_mean(
    x: NDArray[np.float64], rng: np.random.Generator, samples: int
) -> NDArray[np.float64]:
    counts = resampled_cells(np.ones(len(x), np.intp), rng, samples)
    mean: NDArray[np.float64] = counts @ x / len(x)
    return mean


# what the projection removes


def diagnose(
    projection: Projection,
    embedding: Embedding,
    attribute: Attribute | WordGroups,
    settings: dict[str, Any],
) -> Fitted:
    """Return MISP or MHD as a fitted method whose rows say what its components describe."""
    # The components are those weighted by variance, whatever weights are removed.
    centre = bool(settings["centre"] or settings.get("as_published"))
    settings = {**settings, "dims": projection.subspace.dims, "centre": centre}
    if isinstance(attribute, WordGroups):
        groups = resolve_groups(embedding, attribute)
        rows = list(_mean_rows(projection, embedding, attribute, groups))
        notes = _about_missing(attribute.groups, groups, first_names=attribute.first_names)
        del settings["centre"]  # means are not centred on anything
        settings.pop("as_published", None)
    else:
        diagnosis = Diagnosis.of(embedding, attribute, settings["dims"], centre=centre)
        rows = [diagnosis.removed_row(projection), *diagnosis.component_rows(projection)]
        notes = diagnosis.cautions()
    return Fitted(
        projection.name, (projection,), found=tuple(rows), settings=settings, warnings=tuple(notes)
    )


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The subspace of the differences between two groups, and what its components describe."""

    subject: str
    attribute: Attribute
    groups: tuple[Resolved[str], Resolved[str]]
    # vectors of both groups, shapes `(n, d)` and `(m, d)`
    vectors: tuple[NDArray[np.float32], NDArray[np.float32]]
    subspace: Subspace  # components with their shares of variance as weights
    components: Components
    centre: bool

    @classmethod
    def of(
        cls,
        embedding: Embedding,
        attribute: Attribute,
        dims: int,
        *,
        centre: bool = False,
        seed: int = 0,
    ) -> Diagnosis:
        """Fit the subspace to the groups' words and diagnose it."""
        first, second = resolve_groups(embedding, attribute)
        check_dims(dims, embedding.dim)
        vectors = embedding.take(first.found), embedding.take(second.found)
        subspace = Subspace.from_groups(*vectors, dims, centre=centre)
        rng = np.random.default_rng(seed)
        parts = components(subspace, *vectors, axis(embedding, attribute)[0], rng, centre=centre)
        return cls(embedding.name, attribute, (first, second), vectors, subspace, parts, centre)

    def component_rows(self, projection: Projection | None = None) -> list[Row]:
        """Return a row for each component, and the groups' difference's share in their span."""
        # `projection` says how much of each component is removed, if it is.
        sizes = {
            "n": sum(map(len, self.vectors)),
            "setting": "centred" if self.centre else "not centred",
            "centred": self.centre,
        }
        missing = [word for group in self.groups for word in group.missing]
        parts = self.components
        removed = None if projection is None else removed_shares(projection)
        along = parts.cos_direction
        rows = []
        for i, weight in enumerate(parts.weights.tolist()):
            details = {
                "component": i + 1,
                **({} if removed is None else {"removed": removed[i]}),
                "cos_difference": float(parts.cos_difference[i]),
                "cos_direction": None if along is None else float(along[i]),
                "sign_stability": float(parts.stability[i]),
            }
            rows.append(Row(self.subject, "explained-variance", weight, {**details, **sizes}))
        in_span = {**sizes, "missing": missing, **({} if parts.differ else {"reason": NO_DELTA})}
        share = parts.share if parts.differ else None
        return [*rows, Row(self.subject, "difference-in-span", share, in_span)]

    def removed_row(self, projection: Projection) -> Row:
        """Return how much of the groups' difference a fit removes, and the published fit."""
        # The value is the share of the squared distance of their means; see `nearer`. The published
        # fit has shares of variance as weights: none is given for other weights.
        details: dict[str, Any] = {"centred": self.centre, "n": sum(map(len, self.vectors))}
        share = difference_removed(projection, *self.vectors)
        if share is None:
            details["reason"] = NO_DELTA
        weights = projection.subspace.weights
        if not (projection.hard or np.allclose(weights, self.subspace.weights)):
            return Row(self.subject, REMOVED, share, details)
        try:
            centred = Subspace.from_groups(*self.vectors, projection.subspace.dims, centre=True)
        except WordbiasError:  # centred differences of few words span fewer components
            return Row(self.subject, REMOVED, share, details)
        published = difference_removed(replace(projection, subspace=centred), *self.vectors)
        return Row(self.subject, REMOVED, share, {"published": published, **details})

    def cautions(self, *, signs: bool = True) -> list[str]:
        """Return warnings on few words, a missing difference, and `signs` that are noise."""
        parts, attribute = self.components, self.attribute
        notes = _about_missing(attribute.groups, self.groups, first_names=attribute.first_names)
        if parts.first_stability is not None and parts.first_stability < ALIKE:
            notes.append(
                "the first component hangs on which words are in the groups: of words drawn again "
                f"it has the mean |cos| {parts.first_stability:.2f} with this one; give more words"
            )
        if not parts.differ:
            notes.append(
                "the means of the groups do not differ by more than rounding: the components "
                "describe variation within the groups (among their words), and point to neither"
            )
        elif parts.share < DESCRIBES_DIFFERENCE:
            notes.append(
                f"these components hold {parts.share:.0%} of the difference between the groups: "
                "they describe variation within the groups (among their words) more than that "
                "difference; without centre or as-published they contain it"
            )
        noisy = ", ".join(f"g{i + 1}" for i, share in enumerate(parts.stability) if share < STABLE)
        if noisy and signs:
            size = " and the mean of |MIDB|" if len(parts.stability) > 1 else ""
            notes.append(
                f"the sign of {noisy} is noise (bootstrap stability below {STABLE}), and signed "
                f"MIDB{size} with it; the RMS of MIDB does not depend on signs"
            )
        return notes


def subspace_cautions(
    embedding: Embedding, attribute: Attribute, *, dims: int, centre: bool, seed: int
) -> list[str]:
    """Return the cautions about the subspace that MIDB is measured along; none if it has none."""
    try:
        return Diagnosis.of(embedding, attribute, dims, centre=centre, seed=seed).cautions()
    except WordbiasError:
        return []  # the measure itself says why it is undefined


def removed_shares(projection: Projection) -> list[float]:
    """Return how much of each component a projection removes."""
    weights: list[float] = projection.subspace.weights.tolist()
    return [1.0] * len(weights) if projection.hard else weights


def difference_removed(
    projection: Projection, first: NDArray[np.float32], second: NDArray[np.float32]
) -> float | None:
    """Share of ``‖Δ‖²``, the squared difference of the groups' means, that a projection removes."""
    delta = mean_difference(first, second)
    left = projection(delta)
    return float(1 - left @ left / (delta @ delta)) if delta.any() else None


def nearer(share: float) -> float:
    """Return the share of a distance that goes with a share of its square."""
    return 1 - float(np.sqrt(1 - share))


def about_removal(row: Row) -> list[str]:
    """Write a `Diagnosis.removed_row` as one sentence; none where it is undefined."""
    share, published = row.value, row.details.get("published")
    if share is None:
        return []
    beside = "" if published is None else f"; by the published variant {nearer(published):.1%}"
    if row.details["centred"] and share == published:
        beside = ", as published: the differences are centred"
    return [
        f"The means of the groups come {nearer(share):.1%} nearer to each other "
        f"({share:.1%} of the squared distance){beside}."
    ]


def _mean_rows(
    projection: Projection,
    embedding: Embedding,
    attribute: WordGroups,
    groups: Sequence[Resolved[str]],
) -> Iterator[Row]:
    """Yield a row for each component of the groups' means: how far along it each mean lies."""
    means = np.stack([x.mean(0, np.float64) for x in group_vectors(embedding, attribute)])
    fitted = fit_groups(embedding, attribute, projection.subspace.dims)
    along = fitted.coordinates(means - means.mean(0))
    sizes = {
        "n": sum(len(group.found) for group in groups),
        "missing": [word for group in groups for word in group.missing],
    }
    removed = removed_shares(projection)
    for i, weight in enumerate(fitted.weights.tolist()):
        means_along = dict(zip(attribute.groups, along[:, i].tolist(), strict=True))
        details = {"component": i + 1, "removed": removed[i], **means_along, **sizes}
        yield Row(embedding.name, "variance-between-means", weight, details)


def _about_missing(
    names: Sequence[str], groups: Sequence[Resolved[str]], *, first_names: bool
) -> list[str]:
    """Return warnings on groups with few found words."""
    notes = []
    for name, group in zip(names, groups, strict=True):
        few = first_names and len(group.found) < FEW_NAMES
        if few or len(group.found) < len(group.listed) / 2:
            noun = "first names" if first_names else "words"
            first = ", ".join(group.missing[:3])
            notes.append(
                f"group {name}: only {len(group.found)} of {len(group.listed)} {noun} found"
                + (f" (missing: {first}, …)" if first else "")
                + "; another choice may give another result"
            )
    return notes
