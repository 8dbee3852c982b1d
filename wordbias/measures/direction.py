"""The direction that measures run along: she − he, PCA of pairs, groups of names, or from a file.

Clustering, recoverability, GIPE and SemBias were published with one direction; with a subspace of
several weighted ones they become the family that Dawkins (2021, section 4) proposes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import blocks
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.subspace import Subspace, read_subspace
from wordbias.wordlists import Attribute, resolve_groups, resolve_pairs

RECIPES = ("she-he", "axis", "pca", "names", "means")
UNDEFINED_BELOW = 0.1
"""Length of a − b, relative to the mean length of a and b, below which its direction is noise."""
_NO_PAIRS_NEEDED = "; the direction means or names does without"


@dataclass(frozen=True)
class Direction:
    """A subspace with its recipe, or the reason why it is undefined and perhaps a remedy."""

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
    centre: bool = False,
) -> Direction:
    """Fit a direction by its recipe.

    Parameters
    ----------
    embedding
        Embedding that it is fitted on.
    attribute
        Groups and pairs.
    recipe
        ``axis``, also called ``she-he`` after gender's: the difference of the attribute's axis
        pair. ``pca``: the first principal component of its definitional pairs. ``names``: the
        weighted subspace of all pairwise differences between its groups. ``means``: the difference
        of its groups' means. Anything else: a file, see `Subspace.save`.
    dims, centre
        Settings of ``names``.

    Raises
    ------
    WordbiasError
        If a group has too few words, or the file does not fit the embedding.
    """
    if recipe in ("she-he", "axis"):
        named = "−".join(attribute.direction or ("axis",))
        remedy = "" if attribute.direction else _NO_PAIRS_NEEDED
        return _of_vector(named, *axis(embedding, attribute), remedy)
    if recipe == "pca":
        remedy = "" if attribute.pairs else _NO_PAIRS_NEEDED
        return _of_vector(
            "pca of definitional pairs", *pair_component(embedding, attribute), remedy
        )
    if recipe == "means":
        named = "−".join(f"mean {group}" for group in attribute.groups)
        return Direction(Subspace.from_means(_members(embedding, attribute)), named)
    if recipe == "names":
        first, second = _members(embedding, attribute)
        kind = "centred" if centre else "not centred"
        subspace = Subspace.from_groups(first, second, dims, centre=centre)
        return Direction(subspace, f"{dims} components of name differences, {kind}")
    if not Path(recipe).exists():
        raise WordbiasError(
            f"direction {recipe!r}: expected {', '.join(RECIPES)}, or a file; there is none of "
            "that name"
        )
    return Direction(_from_file(Path(recipe), embedding), recipe)


def _of_vector(
    named: str, vector: NDArray[np.float64] | None, reason: str, remedy: str
) -> Direction:
    subspace = None if vector is None else Subspace.from_direction(vector)
    return Direction(subspace, named, reason, remedy)


def _members(embedding: Embedding, attribute: Attribute) -> list[NDArray[np.float32]]:
    return [embedding.take(found.found) for found in resolve_groups(attribute, embedding)]


def _from_file(path: Path, embedding: Embedding) -> Subspace:
    subspace = read_subspace(path)
    d = subspace.basis.shape[1]
    if d != embedding.dim:
        raise WordbiasError(
            f"{path}: the subspace has {d} dimensions, {embedding.name} has {embedding.dim}"
        )
    return subspace


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


def difference_direction(
    a: ArrayLike, b: ArrayLike, names: tuple[str, str] = ("a", "b")
) -> tuple[NDArray[np.float64], str]:
    """Return a − b, and the reason why direct bias along it is undefined, or an empty string.

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


def projections(
    vectors: NDArray[np.float32], subspace: Subspace, *, by_length: bool = False
) -> NDArray[np.float64]:
    """Return the weighted projection of every vector, ``Σ a_i ⟨g_i, x⟩ / ‖x‖``, shape ``(n,)``.

    Positive towards the first group. For one direction this is the cosine; 0 for a zero vector.
    With `by_length` vectors are taken as they are, so that longer ones have larger projections.
    """
    g = subspace.basis.T @ subspace.weights
    if by_length:
        return np.concatenate([np.zeros(0), *(x @ g for x in blocks(vectors))])
    return np.concatenate([np.zeros(0), *(projections_of_unit(x, g) for x in blocks(vectors))])


def projections_of_unit(x: NDArray[np.float64], axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``⟨x, g⟩ / ‖x‖`` of every vector with every axis, 0 for a vector of length 0.

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


class Biased(NamedTuple):
    """Rows of the vocabulary that lean most, and whether each leans to the first group."""

    rows: NDArray[np.intp]
    labels: NDArray[np.bool_]


def most_biased(projection: NDArray[np.float64], per_side: int) -> Biased:
    """Choose the `per_side` words that lean most to each group.

    Parameters
    ----------
    projection
        Projection of every word of the vocabulary, ``(n,)``, positive towards the first group.
    per_side
        Number of words of each side.

    Raises
    ------
    WordbiasError
        If fewer words than that lean to a side.
    """
    order = np.argsort(-projection, kind="stable")
    first, second = int((projection > 0).sum()), int((projection < 0).sum())
    if min(first, second) < per_side:
        raise WordbiasError(
            f"{per_side} words a side needed, but only {first} and {second} words lean to the "
            "groups; take fewer, or give a larger vocabulary"
        )
    rows = np.concatenate([order[:per_side], order[::-1][:per_side]])
    return Biased(rows, np.repeat([True, False], per_side))
