r"""Density matching: remove directions until the classes of the rows have like densities.

An orthogonal projection is learned that makes the class-conditional distributions alike
(Saillenfest and Lemberger 2025, arXiv 2507.12341). It removes the directions in which the classes'
means differ, so that the means of the fitted rows become equal, and `dims` further ones. Those
begin where the classes' covariances differ most. Descent then lowers the maximum mean discrepancy
of the projected rows (Gretton et al. 2012), averaged over the classes :math:`P_z` and the mean
:math:`P` of these,

.. math:: \frac1K \sum_z \mathrm{MMD}^2(P_z, P), \quad
          k(x, y) = \sum_w \exp\bigl(-\|x - y\|^2 / (w\, m)\bigr),

where `m` is the median squared distance in a batch and `w` runs over two widths. The paper's own
kernel and optimiser may differ: only its idea is followed. A classifier that is neither linear nor
of this kernel may read more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.methods.transform import Projection
from wordbias.subspace import Subspace

NAME = "density-matching"
Matrix = NDArray[np.float64]
Integers = NDArray[np.intp]
WIDTHS = (1.0, 0.25)
"""Widths of the kernel, in units of the median squared distance."""
_STEPS, _BATCH, _RATE = 300, 512, 0.1
_MOMENTUM, _SCALE = 0.9, 0.99
_SMALLEST = 1e-8


def fit_rows(
    x: NDArray[np.floating[Any]], labels: Sequence[Integers], settings: Mapping[str, Any]
) -> tuple[tuple[Projection, ...], tuple[str, ...]]:
    """Fit a projection to rows and their classes, label after label; return it without warnings."""
    rows: Matrix = x.astype(np.float64)
    steps = []
    for codes in labels:
        basis = directions(
            rows,
            codes,
            int(settings.get("dims", 8)),
            np.random.default_rng(settings.get("seed", 0)),
        )
        steps.append(Projection(Subspace(basis, np.ones(len(basis))), hard=True))
        if len(basis) == x.shape[1]:
            break  # nothing is left
        rows = steps[-1](rows)
    return tuple(steps), ()


def directions(x: Matrix, codes: Integers, dims: int, rng: np.random.Generator) -> Matrix:
    """Return orthonormal directions to remove, (k, d): of the means, then up to `dims` more."""
    # All of them, if the rows vary only where the means do.
    x = x - x.mean(0)
    if not (largest := np.abs(x).max()) > 0:
        raise WordbiasError(f"{len(x)} vectors are all the same: there is nothing to erase")
    x /= largest  # first, since squares of huge and tiny values are no numbers
    x /= np.sqrt((x**2).sum(1).mean())
    classes = [np.flatnonzero(codes == k) for k in range(int(codes.max()) + 1)]
    means = np.stack([x[of].mean(0) for of in classes])
    _, values, v = np.linalg.svd(means - means.mean(0))
    rank = int((values[: len(classes) - 1] > _SMALLEST).sum())
    of_means, rest = v[:rank], v[rank:]
    x = x @ rest.T
    if not np.abs(x).max(initial=0) > _SMALLEST:
        return np.eye(v.shape[1])  # exactly zero afterwards: rounding would tell the class
    dims = min(dims, len(rest) - 1)
    if dims < 1:
        return of_means
    covariances = np.stack([np.cov(x[of].T, bias=True).reshape(len(rest), -1) for of in classes])
    apart = (covariances - covariances.mean(0)).reshape(-1, len(rest))
    _, v = np.linalg.eigh(apart.T @ apart)  # the sum of the squares of symmetric differences
    return np.concatenate([of_means, _descended(x, classes, v[:, ::-1][:, :dims], rng).T @ rest])


def _descended(
    x: Matrix, classes: Sequence[Integers], basis: Matrix, rng: np.random.Generator
) -> Matrix:
    """Turn orthonormal columns down the discrepancy of batches."""
    each = max(2, min(_BATCH // len(classes), max(map(len, classes))))
    codes = np.repeat(np.arange(len(classes)), each)
    mean, scale = np.zeros_like(basis), 0.0
    for step in range(1, _STEPS + 1):
        drawn = [rng.choice(of, each, replace=len(of) < each) for of in classes]
        gradient = discrepancy(x[np.concatenate(drawn)], codes, basis)[1]
        gradient -= basis @ (basis.T @ gradient)
        mean = _MOMENTUM * mean + (1 - _MOMENTUM) * gradient
        scale = _SCALE * scale + (1 - _SCALE) * float((gradient**2).sum())
        if not scale > 0:  # the classes are alike in every direction
            break
        speed = _RATE * np.sqrt(basis.shape[1]) * (1 - step / _STEPS)
        turned = mean / (1 - _MOMENTUM**step) / np.sqrt(scale / (1 - _SCALE**step))
        basis = np.linalg.qr(basis - speed * turned)[0]
    return basis


def discrepancy(x: Matrix, codes: Integers, basis: Matrix) -> tuple[float, Matrix]:
    """Return the mean of ``MMD²(P_z, P)`` in ``x − B Bᵀ x``, and its gradient by B, (d, k)."""
    y = x - x @ basis @ basis.T
    norms = np.einsum("nd,nd->n", y, y)
    squares = np.maximum(norms[:, None] + norms - 2 * y @ y.T, 0)
    median = float(np.median(squares)) or 1.0
    shares = (codes[:, None] == np.arange(codes.max() + 1)).astype(float)
    shares /= shares.sum(0)
    shares -= 1 / len(x)
    weights = shares @ shares.T / shares.shape[1]
    value, slope = 0.0, np.zeros_like(squares)
    for width in WIDTHS:
        kernel = weights * np.exp(-squares / (width * median))
        value += float(kernel.sum())
        slope -= kernel / (width * median)
    by_row = 4 * (slope.sum(1)[:, None] * y - slope @ y)
    return value, -(x.T @ (by_row @ basis) + by_row.T @ (x @ basis))
