r"""How far words lean to each group, and which lean most: along the axis, or to the groups' means.

Two groups with an axis (she − he) are told apart along it. Groups without one, and more than two,
are told apart by their means: a word leans to group `j` by its cosine with

.. math:: \bar x_j - \tfrac1k \sum_i \bar x_i

the mean of that group's words less the mean of all groups' means. For two groups this is their
mean difference and its negative.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.biased import most_biased
from wordbias.measures.direct_bias import UNDEFINED_BELOW
from wordbias.measures.direction import projections
from wordbias.measures.lens import axis
from wordbias.methods.misp import group_vectors
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, WordGroups

Matrix = NDArray[np.float64]


def leans(
    embedding: Embedding, attribute: Attribute | WordGroups, vectors: NDArray[np.float32]
) -> Matrix:
    """Return the cosine of every vector with the axis of each group, shape ``(n, k)``.

    Parameters
    ----------
    embedding
        Where the axis comes from.
    attribute
        The groups.
    vectors
        Shape ``(n, d)``.

    Raises
    ------
    WordbiasError
        If there is no axis here: its words are missing, or the groups do not differ.
    """
    if isinstance(attribute, Attribute) and (attribute.direction or not all(attribute.members)):
        first = projections(vectors, _axis(embedding, attribute))
        return np.stack([first, -first], axis=1)
    along = [Subspace.from_direction(row) for row in _from_the_mean(embedding, attribute)]
    return np.stack([projections(vectors, one) for one in along], axis=1)


def most_leaning(lean: Matrix, count: int) -> NDArray[np.intp]:
    """Choose the `count` words that lean most to each group, and to no other more.

    Parameters
    ----------
    lean
        Shape ``(n, k)``.

    Returns
    -------
    ndarray
        Places of words, group by group, shape ``(k, count)``.

    Raises
    ------
    WordbiasError
        If fewer lean to a group.
    """
    k = lean.shape[1]
    if k == 2:
        return most_biased((lean[:, 0] - lean[:, 1]) / 2, count).rows.reshape(2, count)
    nearest = np.where(lean.max(1) > 0, lean.argmax(1), -1)
    sizes = np.bincount(nearest[nearest >= 0], minlength=k)
    if sizes.min() < count:
        raise WordbiasError(
            f"{count} words a group asked for, but only {', '.join(map(str, sizes))} words lean to "
            "the groups; ask for fewer, or give a larger vocabulary"
        )
    order = [np.argsort(-np.where(nearest == j, lean[:, j], -2), kind="stable") for j in range(k)]
    return np.stack([places[:count] for places in order])


def _from_the_mean(embedding: Embedding, attribute: Attribute | WordGroups) -> Matrix:
    vectors = group_vectors(embedding, attribute)
    means = np.stack([x.mean(0, np.float64) for x in vectors])
    away: Matrix = means - means.mean(0)
    length, size = np.linalg.norm(away, axis=1), np.linalg.norm(means, axis=1).mean()
    least = int(length.argmin())
    if not (length[least] > UNDEFINED_BELOW * size):
        raise WordbiasError(
            f"{embedding.name}: the mean of group {attribute.groups[least]} lies "
            f"{length[least]:.2g} from that of all groups of {attribute.name}, whose means have a "
            f"length of {size:.2g}: too near to tell words apart; give groups that differ"
        )
    return away


def _axis(embedding: Embedding, attribute: Attribute) -> Subspace:
    vector, reason = axis(embedding, attribute)
    if vector is None or not np.isfinite(vector).all():
        raise WordbiasError(
            f"{embedding.name}: words are labelled by the axis of {attribute.name}, which is "
            f"{reason or 'not finite'}; give direction = [FIRST, SECOND] in the attribute's file, "
            "two words of opposite groups that the vectors have and tell apart"
        )
    return Subspace.from_direction(vector)
