"""The one idea everything here runs through: a subspace with an information weight a direction.

Measured along, it is MIDB; removed softly, it is MISP; removed whole, it is a projection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError

_TIE = 1e-6


@dataclass(frozen=True, eq=False)
class Subspace:
    """Orthonormal directions ``g_i`` and their weights ``a_i``.

    Parameters
    ----------
    basis
        Shape ``(k, d)``, orthonormal rows.
    weights
        Shape ``(k,)``, each in [0, 1]. From a fit, the share of the **total** variance that lies
        along a direction, not of the variance that the `k` directions keep.

    Raises
    ------
    WordbiasError
        If the shapes do not fit, the rows are not orthonormal or a weight is outside [0, 1].

    Notes
    -----
    Fitted in float64. `like` casts to another array's library, type and device, and `remove` is
    written with operators only, so that one implementation serves numpy and torch.
    """

    basis: Any
    weights: Any

    def __post_init__(self) -> None:
        if not isinstance(self.basis, np.ndarray):
            return  # made by `like`, from arrays that were checked
        k = len(self.basis) if self.basis.ndim == 2 else 0
        if k == 0 or self.weights.shape != (k,):
            raise WordbiasError(
                "expected a basis of shape (k, d) and k weights, "
                f"got {self.basis.shape} and {self.weights.shape}"
            )
        if not np.allclose(self.basis @ self.basis.T, np.eye(k), atol=1e-4):
            raise WordbiasError(f"the {k} rows of the basis are not orthonormal")
        if not ((self.weights >= 0) & (self.weights <= 1)).all():
            raise WordbiasError(f"weights must lie in [0, 1], got {self.weights.tolist()}")

    @classmethod
    def from_groups(
        cls, first: ArrayLike, second: ArrayLike, dims: int = 4, *, center: bool = True
    ) -> Subspace:
        r"""Fit to all pairwise differences of two groups (Dawkins 2021, section 4).

        The principal components of ``{f_j - m_k}`` over all pairs, in closed form from the
        groups' moments:

        .. math:: C = \mathrm{Cov}(F) + \mathrm{Cov}(M) \; [+ \; \Delta\Delta^\top],
                  \quad \Delta = \bar f - \bar m

        Parameters
        ----------
        first, second
            Vectors of the groups, shapes ``(n, d)`` and ``(m, d)``.
        dims
            Number of components `k`.
        center
            True, as in the paper, whose PCA centres: the components then describe how vectors
            vary *within* the groups, and the difference between the groups' means drops out.
            False keeps it: the bracketed term.

        Raises
        ------
        WordbiasError
            If a group has fewer than two vectors, `dims` exceeds the rank, or nothing varies.
        """
        f, m = (np.asarray(group, np.float64) for group in (first, second))
        for group in (f, m):
            if group.ndim != 2 or len(group) < 2:
                raise WordbiasError(f"a group needs at least two vectors, got {group.shape}")
        f_mean, m_mean = f.mean(0), m.mean(0)
        rows = [(f - f_mean) / np.sqrt(len(f)), (m - m_mean) / np.sqrt(len(m))]
        if not center:
            rows.append((f_mean - m_mean)[None])
        return cls._principal(np.concatenate(rows), f_mean - m_mean, dims)

    @classmethod
    def from_pairs(cls, first: ArrayLike, second: ArrayLike, dims: int = 1) -> Subspace:
        """Fit to ± half the differences of definitional pairs (Bolukbasi et al. 2016).

        Parameters
        ----------
        first, second
            Vectors of the pairs' first and second words, both ``(n, d)``.
        dims
            Number of components `k`.
        """
        half = (np.asarray(first, np.float64) - np.asarray(second, np.float64)) / 2
        return cls._principal(half, half.mean(0), dims)

    @classmethod
    def from_direction(cls, direction: ArrayLike, weight: float = 1.0) -> Subspace:
        """Make a subspace of one direction, shape ``(d,)``, of any length but zero."""
        v = np.asarray(direction, np.float64)
        norm = np.linalg.norm(v)
        if norm == 0:
            raise WordbiasError("a direction must not be zero")
        return cls(v[None] / norm, np.array([weight]))

    @classmethod
    def _principal(cls, rows: NDArray[np.float64], towards: NDArray[Any], dims: int) -> Subspace:
        """Principal components of ``rows.T @ rows``, oriented, weighted by their share of it."""
        _, s, vt = np.linalg.svd(rows, full_matrices=False)
        variance = s**2
        rank = int((s > s[0] * max(rows.shape) * np.finfo(float).eps).sum())
        if not 1 <= dims <= rank:
            raise WordbiasError(
                f"{dims} components asked for, but the differences span {rank} of "
                f"{rows.shape[1]} dimensions; ask for fewer (--dims) or give more words"
            )
        basis = orient(vt[:dims], towards)
        return cls(basis, variance[:dims] / variance.sum())

    @property
    def dims(self) -> int:
        """Number of directions, `k`."""
        return int(self.basis.shape[0])

    def like(self, x: Any) -> Subspace:
        """Return the same subspace in the array library, dtype and device of `x`."""
        if isinstance(x, np.ndarray):
            if self.basis.dtype == x.dtype:
                return self
            return Subspace(self.basis.astype(x.dtype), self.weights.astype(x.dtype))
        if isinstance(self.basis, np.ndarray):  # `new_tensor` saves importing torch here
            return Subspace(x.new_tensor(self.basis), x.new_tensor(self.weights))
        return Subspace(self.basis.to(x), self.weights.to(x))

    def coordinates(self, x: Any) -> Any:
        """Return ``⟨g_i, x⟩``, shape ``(…, k)``, for `x` of shape ``(…, d)``."""
        return x @ self.basis.T

    def remove(self, x: Any, hard: bool = False) -> Any:
        r"""Attenuate every direction by its weight: ``x - Σ a_i ⟨g_i, x⟩ g_i`` (eq. 4).

        Parameters
        ----------
        x
            Shape ``(…, d)``, of the library and dtype of this subspace (see `like`).
        hard
            Take all weights as 1: the projection onto the orthogonal complement (MHD).
        """
        along = x @ self.basis.T
        if not hard:
            along = along * self.weights
        return x - along @ self.basis

    def with_weights(self, weights: ArrayLike) -> Subspace:
        """Return the same directions with other weights."""
        return Subspace(self.basis, np.asarray(weights, np.float64))


def orient(basis: NDArray[np.float64], towards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fix the sign of each row: towards a vector, or by its largest coordinate on a tie.

    A tie is a cosine below 1e-6, where the sign of the inner product is rounding noise.
    """
    inner = basis @ towards
    largest = basis[np.arange(len(basis)), np.abs(basis).argmax(axis=1)]
    tie = np.abs(inner) <= _TIE * np.linalg.norm(towards)
    return basis * np.where(np.where(tie, largest, inner) < 0, -1.0, 1.0)[:, None]
