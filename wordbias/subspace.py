"""The one idea everything here runs through: a subspace with an information weight a direction.

Measured along, it is MIDB; removed softly, it is MISP; removed whole, it is a projection.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wordbias.arrays import frozen, matrix, rounding
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import replacing
from wordbias.principal import principal

_ORTHONORMAL = 1e-4  # also takes a basis that was stored as float16


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
        for name in ("basis", "weights"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        k = len(self.basis) if self.basis.ndim == 2 else 0
        if k == 0 or self.weights.shape != (k,):
            raise WordbiasError(
                "expected a basis of shape (k, d) and k weights, "
                f"got {self.basis.shape} and {self.weights.shape}"
            )
        if not np.allclose(self.basis @ self.basis.T, np.eye(k), atol=_ORTHONORMAL):
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
        return cls(*principal(np.concatenate(rows), f_mean - m_mean, dims, noise, what))

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
        a, b = matrix(first), matrix(second)
        if a.shape != b.shape or not len(a):
            raise WordbiasError(
                f"expected pairs of vectors, got the shapes {a.shape} and {b.shape}"
            )
        half = (a - b) / 2
        noise = max(rounding(first), rounding(second))
        return cls(*principal(half, half.mean(0), dims, noise, f"{len(a)} differences"))

    @classmethod
    def from_sets(cls, sets: Sequence[ArrayLike], dims: int = 2) -> Subspace:
        """Fit to what the members of each set differ in (Manzini et al. 2019).

        The principal components of all vectors, each less the mean of its set. With sets of two
        this is `from_pairs`. Components point towards the sets' first members.

        Parameters
        ----------
        sets
            Vectors of each set, shape ``(n_i, d)``, n_i ≥ 2.
        dims
            Number of components `k`.
        """
        vectors = [matrix(x) for x in sets]
        if not vectors or min(map(len, vectors)) < 2 or len({x.shape[1] for x in vectors}) > 1:
            shapes = ", ".join(str(x.shape) for x in vectors) or "none"
            raise WordbiasError(
                f"expected sets of at least two vectors of one dimension, got the shapes {shapes}"
            )
        rows = np.concatenate([x - x.mean(0) for x in vectors])
        first = np.mean([x[0] - x.mean(0) for x in vectors], axis=0)
        noise = max(map(rounding, sets))
        return cls(*principal(rows, first, dims, noise, f"{len(sets)} sets of words"))

    @classmethod
    def from_means(cls, groups: Sequence[ArrayLike], dims: int | None = None) -> Subspace:
        r"""Fit to what the means of groups differ in: the space that they span around their mean.

        .. math:: B = \sum_j (\bar x_j - \bar{\bar x})(\bar x_j - \bar{\bar x})^\top,
                  \quad \bar{\bar x} = \tfrac1k \sum_j \bar x_j

        Every group counts alike, however many words it has. The k means differ in k − 1 directions
        at most; taken out whole, all of these, the means are equal. For two groups it is the
        difference of their means. Components point towards the first group's mean; their weights
        are shares of this variance *between* the means.

        Parameters
        ----------
        groups
            Vectors of two groups or more, shape ``(n_j, d)`` each.
        dims
            Number of components; by default all in which the means differ.

        Raises
        ------
        WordbiasError
            If the shapes do not fit, or the means differ in fewer components, or not at all.
        """
        vectors = [matrix(x) for x in groups]
        if len(vectors) < 2 or min(map(len, vectors)) < 1 or len({x.shape[1] for x in vectors}) > 1:
            shapes = ", ".join(str(x.shape) for x in vectors) or "none"
            raise WordbiasError(
                f"expected two groups of vectors or more, of one dimension, got the shapes {shapes}"
            )
        means = np.stack([x.mean(0) for x in vectors])
        rows = means - means.mean(0)
        noise = max(map(rounding, groups))
        what = f"the means of {len(means)} groups"
        k = min(len(means) - 1, means.shape[1]) if dims is None else dims
        return cls(*principal(rows, rows[0], k, noise, what))

    @classmethod
    def from_direction(cls, direction: ArrayLike, weight: float = 1.0) -> Subspace:
        """Make a subspace of one direction, shape ``(d,)``, of any length but zero."""
        v = np.asarray(direction, np.float64)
        norm = np.linalg.norm(v)
        if norm == 0:
            raise WordbiasError("a direction must not be zero")
        return cls(v[None] / norm, np.array([weight]))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Subspace:
        """Read what `save` wrote.

        Raises
        ------
        WordbiasError
            If there is no such file or it holds something else.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            stored = load_file(path)
        except (OSError, SafetensorError, TypeError, AttributeError) as error:
            raise WordbiasError(f"{path}: cannot be read as a subspace: {error}") from None
        if set(stored) != {"basis", "weights"}:
            found = ", ".join(sorted(stored)) or "none"
            raise WordbiasError(f"{path}: expected the tensors basis and weights, found {found}")
        try:
            return cls(stored["basis"], stored["weights"])
        except WordbiasError as error:
            raise WordbiasError(f"{path}: holds no subspace: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a safetensors file with the tensors `basis` and `weights`."""
        from safetensors.numpy import save

        with replacing(path) as file:
            file.write(save({"basis": self.basis, "weights": self.weights}))

    @property
    def dims(self) -> int:
        """Number of directions, `k`."""
        return int(self.basis.shape[0])

    def __repr__(self) -> str:
        weights = ", ".join(f"{float(a):.4f}" for a in self.weights)
        return f"<Subspace: {self.dims} of {self.basis.shape[1]} dimensions, weights {weights}>"

    def like(self, x: Any) -> Subspace:
        """Return the same subspace in the array library, dtype and device of `x`.

        Arrays of integers are met with float64.
        """
        if hasattr(x, "new_tensor"):  # a torch tensor, without importing torch
            if hasattr(self.basis, "new_tensor"):
                return self._cast(self.basis.to(x), self.weights.to(x))
            # copies, for torch does not take arrays that are read-only
            return self._cast(x.new_tensor(self.basis.copy()), x.new_tensor(self.weights.copy()))
        if hasattr(self.basis, "new_tensor"):
            basis, weights = (t.detach().cpu().double().numpy() for t in (self.basis, self.weights))
            return self._cast(basis, weights).like(x)
        dtype = x.dtype if x.dtype.kind == "f" else np.dtype(float)
        if self.basis.dtype == dtype:
            return self
        return self._cast(self.basis.astype(dtype), self.weights.astype(dtype))

    @classmethod
    def _cast(cls, basis: Any, weights: Any) -> Subspace:
        """Make one of arrays that were checked before they were cast."""
        made = object.__new__(cls)
        object.__setattr__(made, "basis", basis)
        object.__setattr__(made, "weights", weights)
        return made

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
        # the product with one row is a few times quicker element by element
        return x - (along * self.basis[0] if len(self.basis) == 1 else along @ self.basis)

    def with_weights(self, weights: ArrayLike) -> Subspace:
        """Return the same directions with other weights."""
        return Subspace(self.basis, np.asarray(weights, np.float64))
