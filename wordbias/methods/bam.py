"""Bias alignment model: the mean of a space and its alignment to itself (Lauscher et al. 2020)."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wordbias.arrays import matrix
from wordbias.devices import blas_threads
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Fitted
from wordbias.methods.transform import Linear
from wordbias.methods.words import Float, Pairs, as_attribute, check_embedding, pair_vectors
from wordbias.rendering import how_many
from wordbias.results import Row
from wordbias.wordlists import Attribute

_TURNED = float(np.sqrt(np.finfo(float).eps))


@blas_threads(1)
def fit(
    embedding: Embedding,
    attribute: Attribute | str | Path | None = None,
    *,
    as_published: bool = False,
) -> Fitted:
    r"""Fit the bias alignment model (Lauscher et al. 2020).

    The first words of the pairs are the rows of ``A``, the second words those of ``B``; ``W`` is
    the orthogonal map that best takes one to the other. A vector becomes the mean of itself and its
    image, which brings a first word half way to its second one:

    .. math:: W = \arg\min_{W^\top W = I} \|A W - B\|_F, \quad X' = (X + X W) / 2

    ``W`` may be a reflection: a direction that it reverses vanishes from the mean.
    """
    # The released code takes every first word with every second one, and W = V^T instead of U V^T.
    # That is no minimiser, and no function of the data either: flip the signs of a pair of singular
    # vectors, which leaves U V^T as it is, and a row of V^T changes its sign. And A^T B of all
    # combinations has rank 1 (it is the product of two sums): all rows of V^T but one are whatever
    # the library makes of rounding.
    check_embedding(embedding)
    attribute = as_attribute(attribute)
    listed = (*attribute.pairs, *attribute.equalise)
    pairs = pair_vectors(embedding, attribute, listed, "bam")
    alignment = align_as_published(pairs) if as_published else align(pairs.first, pairs.second)
    return Fitted(
        "bam",
        (Linear((np.eye(embedding.dim) + alignment.W) / 2),),
        found=_rows(embedding.name, pairs, alignment),
        settings={"as_published": as_published},
        warnings=_remarks(alignment, embedding.dim, as_published),
    )


class Alignment(NamedTuple):
    """Orthogonal map, and the share of it that the pairs determine."""

    W: Float  # shape `(d, d)`, orthogonal, multiplied from the right
    rank: int  # number of dimensions in which the pairs determine it
    # number of other dimensions in which two choices are equally near the identity; above 0 only
    # for artificial vectors
    turned: int = 0


def align(first: ArrayLike, second: ArrayLike) -> Alignment:
    r"""Solve the orthogonal Procrustes problem; of all solutions take the nearest to the identity.

    With ``A^T B = U S V^T`` of rank `r` in `d` dimensions, ``W`` minimises ``‖AW − B‖`` just if it
    takes ``U_r`` to ``V_r`` column by column; the complement ``U_⊥`` may go to ``V_⊥`` by any
    orthogonal ``Z``:

    .. math:: W = U_r V_r^\top + U_\perp Z V_\perp^\top, \quad
              \|W - I\|_F^2 = c - 2\,\mathrm{tr}(Z\, V_\perp^\top U_\perp)

    The trace is largest, and ``W`` nearest to the identity, where ``Z`` is the orthogonal polar
    factor of ``U_⊥^T V_⊥``. Such a ``W`` depends on no choice of singular vectors, and keeps
    whatever is orthogonal to all pairs. A full SVD would fill the complement arbitrarily, and `d`
    exceeds the number of pairs as a rule. With ``r = d`` this is
    `scipy.linalg.orthogonal_procrustes`.
    """
    A, B = matrix(first), matrix(second)
    if A.shape != B.shape:
        raise WordbiasError(f"expected pairs of vectors, got the shapes {A.shape} and {B.shape}")
    U, s, Vt = np.linalg.svd(A.T @ B)
    r = int((s > _noise(first, second)).sum())
    if not r:
        raise WordbiasError(
            f"{len(A)} pairs determine no alignment: first and second words have nothing in "
            "common; give other pairs"
        )
    P, cosines, Qt = np.linalg.svd(U[:, r:].T @ Vt[r:].T)
    W = U[:, :r] @ Vt[:r] + U[:, r:] @ (P @ Qt) @ Vt[r:]
    return Alignment(W, r, int((cosines < _TURNED).sum()))


def align_as_published(pairs: Pairs) -> Alignment:
    """Return ``V^T`` of all combinations of the pairs' words, as the released code does."""
    first, second = (list(words) for words in zip(*pairs.words, strict=True))
    # the first place of every distinct word
    places = ([words.index(word) for word in dict.fromkeys(words)] for words in (first, second))
    every = list(product(*places))
    A = np.array([pairs.first[i] for i, _ in every])
    B = np.array([pairs.second[j] for _, j in every])
    _, s, Vt = np.linalg.svd(A.astype(float).T @ B)
    return Alignment(Vt, int((s > _noise(A, B)).sum()))


def _noise(first: ArrayLike, second: ArrayLike) -> float:
    """Bound the effect of rounding, of vectors and of sums, on a singular value of A^T B."""
    A, B = matrix(first), matrix(second)
    types = (np.asarray(x).dtype for x in (first, second))
    given = max(np.finfo(dtype if dtype.kind == "f" else float).eps for dtype in types)
    return float((given + len(A) * np.finfo(float).eps) * np.linalg.norm(A) * np.linalg.norm(B))


def _rows(name: str, pairs: Pairs, found: Alignment) -> tuple[Row, Row]:
    A, B = matrix(pairs.first), matrix(pairs.second)
    before, after = (float(np.linalg.norm(A @ W - B)) for W in (np.eye(A.shape[1]), found.W))
    common = {"n": len(pairs.words), "dimensions": found.rank, "neutral": 0.0, "better": "lower"}
    return (
        Row(name, "procrustes-error", before, {"stage": "before", **common}),
        Row(name, "procrustes-error", after, {"stage": "after", **common}),
    )


def _remarks(found: Alignment, d: int, as_published: bool) -> tuple[str, ...]:
    if as_published:
        return (
            f"as published, the pairs determine {found.rank} of {d} rows of W, and these up to "
            "their sign; other versions of a library or another machine may give other vectors",
        )
    if found.turned:
        return (
            f"the pairs turn {how_many(found.turned, 'dimension')} by 90°, and which way the rest "
            "turns with them is a choice: others are as near to the identity",
        )
    return ()
