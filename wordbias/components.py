"""Which differences a subspace is fitted to: of two groups, of pairs, within sets, of means.

Each function returns the principal components of its differences, the rows of a basis of shape
``(k, d)``, and their shares ``(k,)`` of the **total** variance, not of what the `k` keep.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from wordbias.arrays import matrix, rounding
from wordbias.errors import WordbiasError
from wordbias.principal import Float, principal


def of_groups(
    first: ArrayLike, second: ArrayLike, dims: int, *, center: bool
) -> tuple[Float, Float]:
    r"""Components of all pairwise differences of two groups (Dawkins 2021, section 4).

    Those of ``{f_j - m_k}`` over all pairs, in closed form from the groups' moments:

    .. math:: C = \mathrm{Cov}(F) + \mathrm{Cov}(M) \; [+ \; \Delta\Delta^\top],
              \quad \Delta = \bar f - \bar m

    Parameters
    ----------
    first, second
        Vectors of the groups, shapes ``(n, d)`` and ``(m, d)``.
    dims
        Number of components `k`.
    center
        False adds the bracketed term: the components of f − m and their mirror images m − f, whose
        mean is zero. True leaves it out, as the paper's PCA of f − m alone does, which centres.

    Raises
    ------
    WordbiasError
        If a group has fewer than two vectors, `dims` exceeds the rank, or nothing varies.
    """
    f, m = matrix(first), matrix(second)
    if min(len(f), len(m)) < 2 or f.shape[1] != m.shape[1]:
        raise WordbiasError(
            "expected two groups of at least two vectors of the same dimension, "
            f"got the shapes {f.shape} and {m.shape}"
        )
    f_mean, m_mean = f.mean(0), m.mean(0)
    rows = [(f - f_mean) / np.sqrt(len(f)), (m - m_mean) / np.sqrt(len(m))]
    if not center:
        rows.append((f_mean - m_mean)[None])
    noise = max(rounding(first), rounding(second))
    what = f"the differences of {len(f)} and {len(m)} vectors"
    return principal(np.concatenate(rows), f_mean - m_mean, dims, noise, what)


def of_pairs(first: ArrayLike, second: ArrayLike, dims: int) -> tuple[Float, Float]:
    """Components of ± half the differences of pairs (Bolukbasi et al. 2016).

    Parameters
    ----------
    first, second
        Vectors of the pairs' first and second words, both ``(n, d)``.
    dims
        Number of components `k`.

    Raises
    ------
    WordbiasError
        If the shapes do not fit, `dims` exceeds the rank, or nothing differs.
    """
    a, b = matrix(first), matrix(second)
    if a.shape != b.shape or not len(a):
        raise WordbiasError(f"expected pairs of vectors, got the shapes {a.shape} and {b.shape}")
    half = (a - b) / 2
    noise = max(rounding(first), rounding(second))
    return principal(half, half.mean(0), dims, noise, f"{len(a)} differences")


def of_sets(sets: Sequence[ArrayLike], dims: int) -> tuple[Float, Float]:
    """Components of all vectors, each less the mean of its set (Manzini et al. 2019).

    Parameters
    ----------
    sets
        Vectors of each set, shape ``(n_i, d)``, n_i ≥ 2.
    dims
        Number of components `k`.

    Raises
    ------
    WordbiasError
        If the shapes do not fit, `dims` exceeds the rank, or nothing differs.
    """
    vectors = [matrix(x) for x in sets]
    if not vectors or min(map(len, vectors)) < 2 or len({x.shape[1] for x in vectors}) > 1:
        raise WordbiasError(
            "expected sets of at least two vectors of one dimension, got the shapes "
            f"{_shapes(vectors)}"
        )
    rows = np.concatenate([x - x.mean(0) for x in vectors])
    first = np.mean([x[0] - x.mean(0) for x in vectors], axis=0)
    noise = max(map(rounding, sets))
    return principal(rows, first, dims, noise, f"{len(sets)} sets of words")


def of_means(groups: Sequence[ArrayLike], dims: int | None) -> tuple[Float, Float]:
    r"""Components of the groups' means around their mean.

    .. math:: B = \sum_j (\bar x_j - \bar{\bar x})(\bar x_j - \bar{\bar x})^\top,
              \quad \bar{\bar x} = \tfrac1k \sum_j \bar x_j

    Parameters
    ----------
    groups
        Vectors of two groups or more, shape ``(n_j, d)`` each.
    dims
        Number of components; by default all in which the means can differ, k − 1.

    Raises
    ------
    WordbiasError
        If the shapes do not fit, or the means differ in fewer components, or not at all.
    """
    vectors = [matrix(x) for x in groups]
    if len(vectors) < 2 or min(map(len, vectors)) < 1 or len({x.shape[1] for x in vectors}) > 1:
        raise WordbiasError(
            "expected two groups of vectors or more, of one dimension, got the shapes "
            f"{_shapes(vectors)}"
        )
    means = np.stack([x.mean(0) for x in vectors])
    rows = means - means.mean(0)
    noise = max(map(rounding, groups))
    what = f"the means of {len(means)} groups"
    k = min(len(means) - 1, means.shape[1]) if dims is None else dims
    return principal(rows, rows[0], k, noise, what)


def _shapes(vectors: Sequence[Float]) -> str:
    return ", ".join(str(x.shape) for x in vectors) or "none"
