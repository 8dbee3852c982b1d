"""The subspace that measures run along: she − he, PCA of pairs, groups of names, or from a file.

Classically clustering, recoverability, GIPE and SemBias use one direction; with a subspace of
several weighted ones they become the family that Dawkins (2021, section 4) proposes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import blocks
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direct_bias import projections_of_unit
from wordbias.measures.lens import axis, pair_component
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, resolve_groups

RECIPES = ("she-he", "axis", "pca", "names", "means")
_WITHOUT = "; --direction=means or names does without"


@dataclass(frozen=True)
class Direction:
    """A subspace, how it was made, why it is undefined if it is, and perhaps what to do then."""

    subspace: Subspace | None
    recipe: str
    reason: str = ""
    remedy: str = ""

    def defined(self) -> Subspace:
        """Return the subspace.

        Raises
        ------
        WordbiasError
            If it is undefined.
        """
        if self.subspace is None:
            raise WordbiasError(f"direction {self.recipe}: {self.reason}{self.remedy}")
        return self.subspace


def find_direction(
    embedding: Embedding,
    attribute: Attribute,
    recipe: str = "she-he",
    *,
    dims: int = 4,
    center: bool = False,
) -> Direction:
    """Fit a direction by its recipe.

    Parameters
    ----------
    embedding
        What it is fitted on.
    attribute
        The groups and pairs.
    recipe
        ``axis``, also called ``she-he`` after gender's: the difference of the attribute's axis
        pair. ``pca``: the first principal component of its definitional pairs. ``names``: the
        weighted subspace of all pairwise differences between its groups. ``means``: the difference
        of its groups' means. Anything else: a file, see `Subspace.load`.
    dims, center
        For ``names``.

    Raises
    ------
    WordbiasError
        If a group has too few words, or the file does not fit the embedding.
    """
    if recipe in ("she-he", "axis"):
        named = "−".join(attribute.direction or ("axis",))
        remedy = "" if attribute.direction else _WITHOUT
        return _one(named, *axis(embedding, attribute), remedy)
    if recipe == "pca":
        remedy = "" if attribute.pairs else _WITHOUT
        return _one("pca of definitional pairs", *pair_component(embedding, attribute), remedy)
    if recipe == "means":
        named = "−".join(f"mean {group}" for group in attribute.groups)
        return Direction(Subspace.from_means(_members(embedding, attribute)), named)
    if recipe == "names":
        first, second = _members(embedding, attribute)
        kind = "centred" if center else "not centred"
        subspace = Subspace.from_groups(first, second, dims, center=center)
        return Direction(subspace, f"{dims} components of name differences, {kind}")
    if not Path(recipe).exists():
        raise WordbiasError(
            f"direction {recipe!r}: expected {', '.join(RECIPES)}, or a file; there is none of "
            "that name"
        )
    return Direction(_from_file(Path(recipe), embedding), recipe)


def _one(named: str, vector: NDArray[np.float64] | None, reason: str, remedy: str) -> Direction:
    subspace = None if vector is None else Subspace.from_direction(vector)
    return Direction(subspace, named, reason, remedy)


def _members(embedding: Embedding, attribute: Attribute) -> list[NDArray[np.float32]]:
    return [embedding.take(found.found) for found in resolve_groups(attribute, embedding)]


def projections(
    vectors: NDArray[np.float32], subspace: Subspace, *, by_length: bool = False
) -> NDArray[np.float64]:
    """Weighted projection of every vector on unit length: ``Σ a_i ⟨g_i, x⟩ / ‖x‖``, shape ``(n,)``.

    Positive towards the first group. For one direction this is the cosine; 0 for a zero vector.
    With `by_length` vectors are taken as they are, so that longer ones have larger projections.
    """
    g = subspace.basis.T @ subspace.weights
    if by_length:
        return np.concatenate([np.zeros(0), *(x @ g for x in blocks(vectors))])
    return np.concatenate([np.zeros(0), *(projections_of_unit(x, g) for x in blocks(vectors))])


def _from_file(path: Path, embedding: Embedding) -> Subspace:
    subspace = Subspace.load(path)
    d = subspace.basis.shape[1]
    if d != embedding.dim:
        raise WordbiasError(
            f"{path}: the subspace has {d} dimensions, {embedding.name} has {embedding.dim}"
        )
    return subspace
