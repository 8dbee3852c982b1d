"""Subspace with an information weight for each direction: the basis of measures and methods.

MIDB measures along a subspace, MISP removes it by its weights, and a projection removes it whole.
The functions `of_groups`, `of_pairs`, `of_sets` and `of_means` return the principal components of
differences, the rows of a basis of shape ``(k, d)``, and their shares ``(k,)``. These are shares of
the **total** variance, not of the variance that the `k` components keep.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import frozen, like, matrix, rounding
from wordbias.devices import blas_threads
from wordbias.errors import WordbiasError, on_a_line
from wordbias.formats.stored import SUBSPACE, reading, write

Float = NDArray[np.float64]
_TIE = 1e-6
_ORTHONORMAL = 1e-4  # also takes a basis that was stored as float16


def random_frame(k: int, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw `k` orthonormal rows of `d` values, uniformly among all (Haar's measure)."""
    q, r = np.linalg.qr(rng.standard_normal((d, k)))
    frame: NDArray[np.float64] = (q * np.sign(np.diag(r))).T  # without the signs not uniform
    return frame


@dataclass(frozen=True, eq=False)
class Subspace:
    """Orthonormal directions ``g_i`` and their weights ``a_i``.

    Parameters
    ----------
    basis : array of shape (k, d)
        Orthonormal rows.
    weights : array of shape (k,)
        Each in [0, 1]. After a fit, the share of the **total** variance along a
        direction, not of the variance that the `k` directions keep.

    Raises
    ------
    WordbiasError
        If the shapes do not fit, the rows are not orthonormal or a weight is outside [0, 1].

    Notes
    -----
    Fitted in float64. `like` casts to another array's library, type and device, and `remove` is
    written with operators only, so that one implementation serves numpy and torch.

    Examples
    --------
    >>> import wordbias as wb
    >>> emb = wb.load()
    >>> names = wb.Subspace.from_groups(emb[["she", "her"]], emb[["he", "his"]], dims=1)
    >>> names.remove(emb["nurse"]).shape
    (100,)
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
        cls, first: ArrayLike, second: ArrayLike, dims: int = 4, *, centre: bool = False
    ) -> Subspace:
        """Fit to all pairwise differences of two groups, in both directions (Dawkins 2021).

        Parameters
        ----------
        first, second
            Vectors of the groups, shapes ``(n, d)`` and ``(m, d)``.
        dims
            Number of components `k`.
        centre
            By default the differences f − m are taken together with m − f. Their mean is then zero,
            nothing is centred, and the difference between the groups' means is kept. True is the
            paper's PCA of f − m alone, which is centred: the difference between the means drops
            out, and the components describe how vectors vary *within* the groups. See
            `wordbias.subspace.of_groups` for the formula.
        """
        return cls(*of_groups(first, second, dims, centre=centre))

    @classmethod
    def from_pairs(cls, first: ArrayLike, second: ArrayLike, dims: int = 1) -> Subspace:
        """Fit to ± half the differences of definitional pairs (Bolukbasi et al. 2016).

        `first` and `second` are the vectors of the pairs' first and second words, both ``(n, d)``.
        """
        return cls(*of_pairs(first, second, dims))

    @classmethod
    def from_sets(cls, sets: Sequence[ArrayLike], dims: int = 2) -> Subspace:
        """Fit to the differences of the members within each set (Manzini et al. 2019).

        The mean of its set is subtracted from each vector; a set has the shape ``(n_i, d)``,
        n_i ≥ 2. With sets of two this is `from_pairs`. Components point towards the sets' first
        members.
        """
        return cls(*of_sets(sets, dims))

    @classmethod
    def from_means(cls, groups: Sequence[ArrayLike], dims: int | None = None) -> Subspace:
        """Fit to the differences of the groups' means: the space that they span around their mean.

        Every group counts the same, however many words it has. The k means differ in at most k − 1
        directions; removing all of these makes the means equal. For two groups it is the
        difference of their means. Components point towards the first group's mean; their weights
        are shares of this variance *between* the means.

        `groups` are the vectors of two or more groups, shape ``(n_j, d)`` each; `dims` is by
        default all components in which the means differ.
        """
        return cls(*of_means(groups, dims))

    @classmethod
    def from_direction(cls, direction: ArrayLike, weight: float = 1.0) -> Subspace:
        """Make a subspace of one direction, shape ``(d,)``, of any length but zero."""
        v = np.asarray(direction, np.float64)
        norm = np.linalg.norm(v)
        if norm == 0:
            raise WordbiasError("a direction must not be zero")
        return cls(v[None] / norm, np.array([weight]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a safetensors file with the tensors `basis` and `weights`."""
        write(path, SUBSPACE, {"basis": self.basis, "weights": self.weights}, None)

    @property
    def dims(self) -> int:
        """Number of directions, `k`."""
        return int(self.basis.shape[0])

    def __repr__(self) -> str:
        weights = ", ".join(f"{float(a):.4f}" for a in self.weights)
        size = f"{self.dims} of {self.basis.shape[1]} dimensions"
        return on_a_line(f"<Subspace: {size}, weights {weights}>")

    def like(self, x: Any) -> Subspace:
        """Return the same subspace in the array library, dtype and device of `x`.

        For an array of integers the result is float64.
        """
        basis, weights = like(self.basis, x), like(self.weights, x)
        if basis is self.basis and weights is self.weights:
            return self
        subspace = object.__new__(type(self))  # checked before it was cast
        object.__setattr__(subspace, "basis", basis)
        object.__setattr__(subspace, "weights", weights)
        return subspace

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
        # with one row, multiplying element by element is a few times faster
        return x - (along * self.basis[0] if len(self.basis) == 1 else along @ self.basis)

    def with_weights(self, weights: ArrayLike) -> Subspace:
        """Return the same directions with other weights."""
        return Subspace(self.basis, np.asarray(weights, np.float64))


def of_groups(
    first: ArrayLike, second: ArrayLike, dims: int, *, centre: bool
) -> tuple[Float, Float]:
    r"""Return the components of all pairwise differences of two groups (Dawkins 2021, section 4).

    The components of ``{f_j - m_k}`` over all pairs, in closed form from the groups' moments:

    .. math:: C = \mathrm{Cov}(F) + \mathrm{Cov}(M) \; [+ \; \Delta\Delta^\top], \quad \Delta = \bar
    f - \bar m

    Without `centre` the bracketed term is added: the differences f − m together with m − f, whose
    mean is zero. With it, it is left out: the paper's PCA of f − m alone, which is centred.
    """
    f, m = matrix(first), matrix(second)
    if min(len(f), len(m)) < 2 or f.shape[1] != m.shape[1]:
        raise WordbiasError(
            "expected two groups of at least two vectors of the same dimension, "
            f"got the shapes {f.shape} and {m.shape}"
        )
    f_mean, m_mean = f.mean(0), m.mean(0)
    rows = [(f - f_mean) / np.sqrt(len(f)), (m - m_mean) / np.sqrt(len(m))]
    if not centre:
        rows.append((f_mean - m_mean)[None])
    noise = max(rounding(first), rounding(second))
    what = f"the differences of {len(f)} and {len(m)} vectors"
    return principal(np.concatenate(rows), f_mean - m_mean, dims, noise, what)


def of_pairs(first: ArrayLike, second: ArrayLike, dims: int) -> tuple[Float, Float]:
    """Return the components of ± half the differences of pairs (Bolukbasi et al. 2016)."""
    a, b = matrix(first), matrix(second)
    if a.shape != b.shape or not len(a):
        raise WordbiasError(f"expected pairs of vectors, got the shapes {a.shape} and {b.shape}")
    half = (a - b) / 2
    noise = max(rounding(first), rounding(second))
    return principal(half, half.mean(0), dims, noise, f"{len(a)} differences")


def of_sets(sets: Sequence[ArrayLike], dims: int) -> tuple[Float, Float]:
    """Return the components of all vectors, each minus its set's mean (Manzini et al. 2019)."""
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
    r"""Return the components of the groups' means around their mean.

    .. math:: B = \sum_j (\bar x_j - \bar{\bar x})(\bar x_j - \bar{\bar x})^\top,
              \quad \bar{\bar x} = \tfrac1k \sum_j \bar x_j
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


def principal(
    rows: Float, towards: Float, dims: int, noise: float, what: str
) -> tuple[Float, Float]:
    """Return the oriented principal components of ``rows.T @ rows``, shares of its trace."""
    # A component shorter than `noise`, a bound of the rounding error, does not count.
    with blas_threads(1):  # threads do not pay for a matrix this small
        _, s, vt = np.linalg.svd(rows, full_matrices=False)
    variance = s**2
    rank = int((s > max(noise, s[0] * max(rows.shape) * np.finfo(float).eps)).sum())
    if not 1 <= dims <= rank:
        remedy = f"take 1 to {rank} (dims), or give more words" if rank else "give other words"
        raise WordbiasError(
            f"{dims} components cannot be fitted: {what} span {rank} of {rows.shape[1]} "
            f"dimensions; {remedy}"
        )
    return orient(vt[:dims], towards, noise), variance[:dims] / variance.sum()


def orient(basis: Float, towards: Float, noise: float = 0.0) -> Float:
    """Fix the sign of each row: towards a vector, or by its largest coordinate on a tie."""
    # A tie is a cosine below 1e-6, where the sign of the inner product is rounding noise. All are
    # ties where the vector is no longer than `noise`, a bound of its rounding error.
    inner, length = basis @ towards, np.linalg.norm(towards)
    largest = basis[np.arange(len(basis)), np.abs(basis).argmax(axis=1)]
    tie = np.abs(inner) <= (_TIE * length if length > noise else np.inf)
    return basis * np.where(np.where(tie, largest, inner) < 0, -1.0, 1.0)[:, None]


def reweighted(subspace: Subspace, weights: str | Sequence[float]) -> Subspace:
    """Return a subspace with other weights: ``variance``, numbers, or ``perm:2134``."""
    # perm permutes them as in the paper's appendix C: digit i names the component whose weight
    # component i gets.
    if isinstance(weights, str):
        if weights == "variance":
            return subspace
        if weights.startswith("perm:"):
            return subspace.with_weights(subspace.weights[_permutation(weights, subspace.dims)])
        weights = _numbers(weights)
    if len(weights) != subspace.dims:
        raise WordbiasError(
            f"expected {subspace.dims} weights, one a component, got {len(weights)}"
        )
    return subspace.with_weights(weights)


def _permutation(text: str, k: int) -> list[int]:
    digits = text.removeprefix("perm:")
    if k > 9:
        raise WordbiasError(f"weights {text!r}: a permutation names at most 9 components, not {k}")
    if sorted(digits) != [str(i) for i in range(1, k + 1)]:
        example = "".join(str(i) for i in range(k, 0, -1))
        raise WordbiasError(
            f"weights {text!r}: expected each of the digits 1 to {k} once, such as perm:{example}"
        )
    return [int(digit) - 1 for digit in digits]


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise WordbiasError(
            f"weights {text!r}: expected variance, numbers such as 0.5,0.3 or perm:2134"
        ) from None


def read_subspace(path: str | os.PathLike[str]) -> Subspace:
    """Read a file of `Subspace.save`."""
    with reading(path, SUBSPACE) as (tensors, _):
        return Subspace(tensors["basis"], tensors["weights"])
