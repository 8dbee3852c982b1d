"""What the components of a fitted subspace describe, and what a reader must know of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.components import ALIKE, DESCRIBES_DIFFERENCE, STABLE, Components, components
from wordbias.measures.lens import axis
from wordbias.methods.fitted import Fitted
from wordbias.methods.misp import Groups, find_groups, fit_groups, group_vectors, resolve_groups
from wordbias.methods.projection import Projection
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, Resolved, WordGroups
from wordbias.wordlists.attribute import FEW_NAMES

REMOVED = "difference-removed"


def diagnosed(
    projection: Projection,
    embedding: Embedding,
    attribute: Attribute | WordGroups,
    settings: dict[str, Any],
) -> Fitted:
    """Make a fitted method of MISP or MHD: with what its components describe.

    Parameters
    ----------
    projection
        Fitted on the embedding and the attribute's groups.
    settings
        Of the fit; ``center`` among them. The components are those weighed by variance, whatever
        weights are removed.
    """
    center = bool(settings["center"] or settings.get("as_published"))
    settings = {**settings, "dims": projection.subspace.dims, "center": center}
    if isinstance(attribute, WordGroups):
        return _of_means(projection, embedding, attribute, settings)
    groups = find_groups(embedding, attribute)
    vectors = groups.vectors(embedding)
    fitted = Subspace.from_groups(*vectors, settings["dims"], center=center)
    direction = axis(embedding, attribute)[0]
    found = components(fitted, *vectors, direction, np.random.default_rng(0), center=center)
    rows = component_rows(embedding.name, found, groups, _removed(projection), center)
    rows.insert(0, removed_row(embedding.name, projection, vectors, center))
    said = cautions(found, attribute, groups)
    return Fitted(
        projection.name, (projection,), found=tuple(rows), settings=settings, warnings=tuple(said)
    )


def _of_means(
    projection: Projection, embedding: Embedding, groups: WordGroups, settings: dict[str, Any]
) -> Fitted:
    """One row a component of the groups' means, with how far each group's mean lies along it."""
    found = resolve_groups(embedding, groups)
    said = {
        "n": sum(len(group.found) for group in found),
        "missing": [word for group in found for word in group.missing],
    }
    return Fitted(
        projection.name,
        (projection,),
        found=tuple(_mean_rows(projection, embedding, groups, said)),
        settings={
            key: value for key, value in settings.items() if key not in ("center", "as_published")
        },
        warnings=tuple(_about_missing(groups.groups, found, first_names=groups.first_names)),
    )


def _mean_rows(
    projection: Projection, embedding: Embedding, groups: WordGroups, said: dict[str, Any]
) -> Iterator[Row]:
    means = np.stack([x.mean(0, np.float64) for x in group_vectors(embedding, groups)])
    fitted = fit_groups(embedding, groups, projection.subspace.dims)
    along = fitted.coordinates(means - means.mean(0))
    removed = _removed(projection)
    for i, weight in enumerate(fitted.weights.tolist()):
        means_along = dict(zip(groups.groups, along[:, i].tolist(), strict=True))
        about = {"component": i + 1, "removed": removed[i], **means_along, **said}
        yield Row(embedding.name, "variance-between-means", weight, about)


def _removed(projection: Projection) -> list[float]:
    """Return how much of each component is removed."""
    weights: list[float] = projection.subspace.weights.tolist()
    return [1.0] * len(weights) if projection.hard else weights


def component_rows(
    subject: str, found: Components, groups: Groups, removed: Sequence[float], center: bool
) -> list[Row]:
    """One row a component, and the share of the groups' difference that lies in their span."""
    sizes = {
        "n": sum(len(group.found) for group in groups),
        "setting": "centred" if center else "not centred",
        "centred": center,
    }
    missing = [word for group in groups for word in group.missing]
    along = found.cos_direction
    rows = []
    for i, weight in enumerate(found.weights.tolist()):
        details = {
            "component": i + 1,
            "removed": removed[i],
            "cos_difference": float(found.cos_difference[i]),
            "cos_direction": None if along is None else float(along[i]),
            "sign_stability": float(found.stability[i]),
        }
        rows.append(Row(subject, "explained-variance", weight, {**details, **sizes}))
    return [*rows, Row(subject, "difference-in-span", found.share, {**sizes, "missing": missing})]


def difference_removed(
    projection: Projection, first: NDArray[np.float32], second: NDArray[np.float32]
) -> float | None:
    """Share of ``‖Δ‖²``, the squared difference of the groups' means, that a projection removes.

    None where the groups do not differ.
    """
    delta = first.mean(0, np.float64) - second.mean(0, np.float64)
    left = projection(delta)
    return float(1 - left @ left / (delta @ delta)) if delta.any() else None


def about_removal(row: Row) -> list[str]:
    """Say in one sentence what a `removed_row` tells; nothing where it is undefined."""
    share, published = row.value, row.details.get("published")
    if share is None:
        return []
    beside = "" if published is None else f"; the published variant {_percent(published)}"
    if row.details["centred"] and share == published:
        beside = ", as published: the differences are centred"
    return [f"Removed {_percent(share)} of the difference between the groups{beside}."]


def _percent(share: float) -> str:
    """Write a share; one that is nearly all of it with one more digit."""
    return f"{share:.1%}" if 0.99 < share < 1 else f"{share:.0%}"


def removed_row(
    subject: str,
    projection: Projection,
    vectors: Sequence[NDArray[np.float32]],
    center: bool,
) -> Row:
    """Say how much of the groups' difference a fit removes, and the published fit beside it."""
    first, second = vectors
    details: dict[str, Any] = {"centred": center, "n": len(first) + len(second)}
    share = difference_removed(projection, first, second)
    if share is None:
        details["reason"] = "undefined: the groups' means are the same"
    try:
        centred = Subspace.from_groups(first, second, projection.subspace.dims, center=True)
    except WordbiasError:  # centred differences of few words span fewer components
        return Row(subject, REMOVED, share, details)
    published = difference_removed(replace(projection, subspace=centred), first, second)
    return Row(subject, REMOVED, share, {"published": published, **details})


def fit_cautions(
    embedding: Embedding, attribute: Attribute, *, dims: int, center: bool, seed: int
) -> list[str]:
    """Fit the subspace of MIDB and say what a reader must know of it; nothing if it has none."""
    try:
        groups = find_groups(embedding, attribute)
        vectors = groups.vectors(embedding)
        fitted = Subspace.from_groups(*vectors, dims, center=center)
    except WordbiasError:
        return []  # what is measured along it says why it is undefined
    rng = np.random.default_rng(seed)
    direction = axis(embedding, attribute)[0]
    found = components(fitted, *vectors, direction, rng, center=center)
    return cautions(found, attribute, groups)


def cautions(found: Components, attribute: Attribute, groups: Groups) -> list[str]:
    """Say where too few words were found, the difference is left out, or a component is noise."""
    said = _about_missing(attribute.groups, groups, first_names=attribute.first_names)
    if found.first_stability is not None and found.first_stability < ALIKE:
        said.append(
            f"the first component hangs on which words are in the groups: of words drawn again it "
            f"has the mean |cos| {found.first_stability:.2f} with this one; give more words"
        )
    if found.share < DESCRIBES_DIFFERENCE:
        said.append(
            f"these components hold {found.share:.0%} of the difference between the groups: "
            "they describe variation within the groups (among their words) more than that "
            "difference; without --center or --as-published they contain it"
        )
    noisy = ", ".join(f"g{i + 1}" for i, share in enumerate(found.stability) if share < STABLE)
    if noisy:
        said.append(
            f"the sign of {noisy} is noise (bootstrap stability below {STABLE}), and signed "
            "MIDB with it; midb-rms does not depend on signs"
        )
    return said


def _about_missing(
    names: Sequence[str], groups: Sequence[Resolved[str]], *, first_names: bool
) -> list[str]:
    said = []
    for name, group in zip(names, groups, strict=True):
        few = first_names and len(group.found) < FEW_NAMES
        if few or len(group.found) < len(group.asked) / 2:
            noun = "first names" if first_names else "words"
            first = ", ".join(group.missing[:3])
            said.append(
                f"group {name}: only {len(group.found)} of {len(group.asked)} {noun} found"
                + (f" (missing: {first}, …)" if first else "")
                + "; another choice may give another result"
            )
    return said
