r"""Quadratic LEACE: afterwards the classes of the fitted rows have one mean and one covariance.

Each class is mapped onto the Wasserstein barycentre of all (Quirke and Belrose 2025, arXiv
2502.02820). With shares :math:`w_z`, means :math:`\mu_z` and covariances :math:`\Sigma_z`,

.. math:: r(x, z) = \bar\mu + T_z (x - \mu_z), \quad \bar\mu = \sum_z w_z \mu_z, \quad
          T_z = \Sigma_z^{-1/2} (\Sigma_z^{1/2} \bar\Sigma \Sigma_z^{1/2})^{1/2} \Sigma_z^{-1/2}

is the optimal transport of :math:`N(\mu_z, \Sigma_z)` to :math:`N(\bar\mu, \bar\Sigma)`, where

.. math:: \bar\Sigma = \sum_z w_z (\bar\Sigma^{1/2} \Sigma_z \bar\Sigma^{1/2})^{1/2}.

No quadratic classifier then tells the fitted rows apart better than a constant answer does. But
the map of a row depends on its class. Other moments of the classes may differ more than before, and
a classifier that is neither linear nor quadratic may read the label from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Fitted
from wordbias.methods.leace import shrunk_covariance
from wordbias.methods.transform import Arrays, Linear, Shift
from wordbias.moments import Moments, numbered
from wordbias.rendering import how_many

NAME = "qleace"
UNLABELLED = (
    "qleace maps each row by its label, and new rows have none; map labelled rows with "
    "wordbias erase, or transform(X, concept=labels); leace maps rows without labels"
)
Matrix = NDArray[np.float64]
Integers = NDArray[np.intp]
_STEPS = 200
"""Most steps of the fixed-point iteration of the barycentre; for two classes one is enough."""
_EXACT, _FLAT = 1e-12, 1e-6
"""Change of the barycentre in a step that is rounding; variance of a class in a direction, over
that of all, with which no map makes it that of the others."""


@dataclass(frozen=True, eq=False)
class Transport(Arrays):
    """Affine map of the rows of each class; it cannot be called without their classes."""

    kind: ClassVar[str] = "transport"
    mean: Any  # mean of all classes afterwards, shape `(d,)`
    means: Any  # mean and matrix of each class, shapes `(K, d)` and `(K, d, d)`
    maps: Any

    def __call__(self, x: Any) -> Any:
        """Refuse rows without labels."""
        raise WordbiasError(UNLABELLED)

    def of_classes(self) -> list[Fitted]:
        """Return the map of each class, which knows no other."""
        return [
            Fitted(NAME, (Shift(mean), Linear(matrix), Shift(-self.mean)))
            for mean, matrix in zip(self.means, self.maps, strict=True)
        ]


def fit_rows(
    x: NDArray[np.floating[Any]], labels: Sequence[Integers], settings: Mapping[str, Any]
) -> tuple[tuple[Transport], tuple[str, ...]]:
    """Fit the map of each class to rows and their classes, without warnings; see `fit_classes`."""
    if len(labels) > 1:
        raise WordbiasError(f"qleace: maps rows by one label, found {len(labels)}")
    (codes,) = labels
    names = numbered(codes)
    of_classes = [
        Moments.of_codes(x[codes == k], codes[codes == k], names) for k in range(len(names))
    ]
    return (fit_classes(of_classes, shrinkage=bool(settings.get("shrinkage"))),), ()


def fit_classes(of_classes: Sequence[Moments], *, shrinkage: bool = False) -> Transport:
    """Return the optimal transport of each class to the barycentre of all."""
    # Shrunk covariances are nearly equal afterwards, not exactly.
    counts = np.array([moments.n for moments in of_classes], float)
    means, weights = (
        np.concatenate([moments.means for moments in of_classes]),
        counts / counts.sum(),
    )
    covariances = np.stack([moments.covariance() for moments in of_classes])
    within = np.einsum("k,kij->ij", weights, covariances)
    if not 0 < (size := float(np.trace(within))) < np.inf:
        raise WordbiasError(
            f"qleace: the variance within the classes is {size:g}: expected a finite one above 0"
        )
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    varies = np.diag(within) > np.diag(within).max() * len(within) * np.finfo(float).eps
    for k, column in np.argwhere((variances <= _FLAT * np.diag(within)) & varies)[:1]:
        raise WordbiasError(
            f"qleace: column {column + 1} is constant in a class of "
            f"{how_many(of_classes[k].n, 'row')} and varies in others, so that it tells the class "
            "whatever the map; leave it out, or give more rows of this class"
        )
    if shrinkage:
        spread = np.sqrt(np.where(varies, np.diag(within), 0))
        covariances = np.stack(
            [
                shrunk_in_units(s, moments.n, spread)
                for s, moments in zip(covariances, of_classes, strict=True)
            ]
        )
        within = np.einsum("k,kij->ij", weights, covariances)
    values, v = np.linalg.eigh(within)
    there = values > values[-1] * len(values) * np.finfo(float).eps
    values, v = values[there], v[:, there]
    inside = v.T @ covariances @ v  # constant coordinates have the mean afterwards
    least = np.linalg.eigvalsh(inside / np.sqrt(values * values[:, None]))[:, 0]
    if not least.min() > _FLAT:
        few = of_classes[int(least.argmin())]
        raise WordbiasError(
            f"qleace: a class of {few.n:,} rows × {few.dim} does not vary in a direction in which "
            "others do: expected more rows than dimensions; give more rows, or shrink the "
            "covariances with qleace:shrinkage"
        )
    centre = barycentre(inside, weights)
    maps = np.stack([transport(covariance, centre) for covariance in inside])
    return Transport(weights @ means, means, v @ maps @ v.T)


def shrunk_in_units(s: Matrix, n: int, spread: Matrix) -> Matrix:
    """Shrink a covariance in units of the spread of each column; those of none become zero."""
    # Towards the identity, a column of tiny spread would keep its spread in each class.
    there = np.flatnonzero(spread)
    square, size = np.ix_(there, there), np.outer(spread[there], spread[there])
    shrunk = np.zeros_like(s)
    shrunk[square] = shrunk_covariance(s[square] / size, n) * size
    return shrunk


def barycentre(covariances: Matrix, weights: Matrix) -> Matrix:
    """Return the covariance of the Wasserstein barycentre of centred Gaussians, (K, d, d)."""
    # It begins with the barycentres of two, which are closed, and goes on by the fixed-point
    # iteration of Álvarez-Esteban et al. (2016, equation 7).
    centre: Matrix = covariances[0]
    total = weights[0]
    for covariance, weight in zip(covariances[1:], weights[1:], strict=True):
        total += weight
        share = weight / total
        between = (1 - share) * np.eye(len(centre)) + share * transport(centre, covariance)
        centre = between @ centre @ between
    last = np.inf
    for _ in range(_STEPS):
        root, inverse = _roots(centre)
        mean = np.einsum(
            "k,kij->ij", weights, np.stack([_root(root @ s @ root) for s in covariances])
        )
        new = inverse @ mean @ mean @ inverse
        change = float(np.linalg.norm(new - centre) / np.linalg.norm(centre))
        if not _EXACT < change < last:  # below, only rounding changes it
            break
        centre, last = new, change
    return centre


def transport(a: Matrix, b: Matrix) -> Matrix:
    """Return the symmetric matrix `T` with ``T a T = b``: the optimal transport of Gaussians."""
    root, inverse = _roots(a)
    transport_map: Matrix = inverse @ _root(root @ b @ root) @ inverse
    return transport_map


def _root(s: Matrix) -> Matrix:
    return _roots(s)[0]


def _roots(s: Matrix) -> tuple[Matrix, Matrix]:
    """Return the square root of a covariance, and the pseudo-inverse of that."""
    values, v = np.linalg.eigh((s + s.T) / 2)
    roots = np.sqrt(np.maximum(values, 0))
    there = values > values[-1] * len(values) * np.finfo(float).eps
    inverse = np.where(there, 1 / np.where(there, roots, 1), 0)
    return np.asarray(v * roots @ v.T), np.asarray(v * inverse @ v.T)
