"""MISP: multi-dimensional information-weighted soft projection (Dawkins 2021, section 5).

Rows of any number are fitted by their moments, `subspace_of`. Words, which are few, give the same
subspace by their vectors, `Subspace.from_groups`, which is also what MIDB is measured along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias import wordlists
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.transform import Projection
from wordbias.methods.words import as_groups, check_embedding
from wordbias.moments import Moments, constant_coordinates, mapped
from wordbias.subspace import Subspace, principal, reweighted
from wordbias.wordlists import Attribute, Resolved, WordGroups

Floats = NDArray[np.float64]
DIMS = 4
"""Components of two groups' differences, as in the paper."""
_SILENT = 1e-8


def fit(
    embedding: Embedding,
    attribute: Attribute | WordGroups | str | Path | None = None,
    *,
    dims: int | None = None,
    centre: bool = False,
    hard: bool = False,
    weights: str | Sequence[float] = "variance",
    as_published: bool = False,
) -> Projection:
    """Fit MISP; the result maps vectors, or a whole embedding."""
    # The default of 4 components is the paper's, chosen there on the test correlation itself.
    # Centred, as the paper's PCA of one side is, the difference between the groups drops out, and
    # hardly any of it is removed; see `Subspace.from_groups`. More than two groups give the
    # subspace of their means: the paper's pairwise differences hold, apart from it, only variation
    # within the groups.
    groups = as_groups(attribute)
    subspace = fit_groups(embedding, groups, dims, centre=centre or as_published)
    return Projection(reweighted(subspace, weights), hard)


def fit_groups(
    embedding: Embedding,
    groups: Attribute | WordGroups,
    dims: int | None = None,
    *,
    centre: bool = False,
) -> Subspace:
    """Fit the subspace that MISP weights: differences of two groups, means of more groups."""
    return fit_vectors(group_vectors(embedding, groups), dims, centre=centre)


def fit_vectors(
    groups: Sequence[NDArray[np.floating[Any]]], dims: int | None = None, *, centre: bool = False
) -> Subspace:
    """Fit the subspace to vectors of two groups or more, each ``(n_j, d)``; see `fit_groups`."""
    # But for rounding it is `subspace_of` their moments.
    first, second, *others = groups
    if dims is not None:
        check_dims(dims, first.shape[1])
    if others:
        return Subspace.from_means(groups, dims)
    k = DIMS if dims is None else dims
    check_dims(k, first.shape[1])
    return Subspace.from_groups(first, second, k, centre=centre)


def fit_moments(
    moments: Sequence[Moments], settings: Mapping[str, Any], *, hard: bool = False
) -> tuple[Projection, ...]:
    """Fit MISP, or with `hard` MHD, to each label of some rows, after those before it."""
    steps: list[Projection] = []
    centre = bool(settings.get("centre") or settings.get("as_published"))
    for moment in moments:
        left = moment
        for step in steps:
            left = mapped(left, step)
        if steps and np.ptp(left.means, axis=0).max() <= _SILENT * np.abs(moment.means).max():
            continue  # its means differed in nothing else than those of a label before
        subspace = subspace_of(left, settings.get("dims"), centre=centre)
        steps.append(Projection(reweighted(subspace, settings.get("weights", "variance")), hard))
    if len(steps) > 1 and hard and sum(step.subspace.dims for step in steps) >= moments[0].dim:
        raise WordbiasError(
            f"mhd: the components of {len(steps)} labels are together all {moments[0].dim} "
            "dimensions, and every vector would be zero; give fewer dims, or fewer labels"
        )
    return tuple(steps)


def subspace_of(moments: Moments, dims: int | None = None, *, centre: bool = False) -> Subspace:
    """Fit the subspace of MISP: differences of the rows of two classes, means of more classes."""
    # By default 4 components for two classes and K − 1 for more, or all if there are fewer. One
    # dimension of two or more is kept.
    means, counts = moments.means, moments.counts
    if len(means) > 2:
        if centre:
            raise WordbiasError("centre= is for two groups; for more the means are compared")
        return components_of_means([moments], dims)
    if counts.min() < 2:
        raise WordbiasError(
            "expected two groups of at least two vectors, got "
            f"{' and '.join(f'{int(count):,}' for count in counts)}"
        )
    apart = means[0] - means[1]
    c = (moments.within / counts[:, None, None]).sum(0)
    c += 0 if centre else np.outer(apart, apart)
    what = f"the differences of {int(counts[0]):,} and {int(counts[1]):,} vectors"
    return _components(_root(c), apart, dims, DIMS, moments, what)


def components_of_means(moments: Sequence[Moments], dims: int | None = None) -> Subspace:
    """Return the components of the differences between the means of each label of some rows."""
    # Of two dimensions or more one is kept.
    rows = np.concatenate([moment.means - moment.means.mean(0) for moment in moments])
    most = sum(len(moment.classes) - 1 for moment in moments)
    what = f"the means of {' and '.join(str(len(moment.classes)) for moment in moments)} groups"
    return _components(rows, rows[0], dims, most, moments[0], what)


def _components(
    rows: Floats, towards: Floats, dims: int | None, most: int, moments: Moments, what: str
) -> Subspace:
    """Return the components of rows, by default as many as there are, `most` at the most."""
    d, constant = moments.dim, constant_coordinates(moments)

    def fitted(k: int) -> Subspace:
        basis, shares = principal(rows, towards, k, moments.noise, what)
        return Subspace(np.where(constant, 0, basis), shares)

    if dims is not None:
        check_dims(dims, d)
        return fitted(dims)
    for k in range(min(most, d - 1), 1, -1):
        with suppress(WordbiasError):
            return fitted(k)
    return fitted(1)


def _root(c: Floats) -> Floats:
    """Return rows `r` with ``r.T @ r`` equal to a covariance, up to rounding."""
    values, vectors = np.linalg.eigh(c)
    positive = values > values[-1] * len(c) * np.finfo(float).eps
    positive[-1] = True  # a row of zeros if nothing varies
    rows: Floats = (vectors[:, positive] * np.sqrt(np.maximum(values[positive], 0))).T
    return rows


def group_vectors(
    embedding: Embedding, attribute: Attribute | WordGroups
) -> list[NDArray[np.float32]]:
    """Return the vectors of each group's words, an array for each group."""
    return [embedding.take(group.found) for group in resolve_groups(embedding, attribute)]


def resolve_groups(embedding: Embedding, attribute: Attribute | WordGroups) -> list[Resolved[str]]:
    """Look up the words of each group; see `group_vectors`."""
    check_embedding(embedding)
    return list(wordlists.resolve_groups(attribute, embedding, embedding.name))


def check_dims(dims: int, d: int) -> None:
    """Refuse more components than the vectors have dimensions."""
    if isinstance(dims, bool) or not isinstance(dims, (int, np.integer)):
        raise WordbiasError(f"dims: expected a whole number of components, got {dims!r}")
    if not 1 <= dims <= d:
        raise WordbiasError(
            f"{dims} components cannot be fitted: the vectors have {d} dimensions; "
            f"take 1 to {d} (dims)"
        )
