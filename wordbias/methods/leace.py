r"""LEACE: the least change after which no linear classifier tells the fitted words apart.

Least-squares concept erasure in closed form (Belrose et al. 2023, section 4) of the classes of
labelled words (see `wordbias.methods.classes`):

.. math:: r(x) = x - W^{+} U U^\top W (x - \mathrm{E}[x]), \quad W = (\Sigma_{xx}^{1/2})^{+},
          \quad U U^\top \text{ onto the columns of } W \Sigma_{xz}

It makes the classes' means equal in the words it was fitted on, so that no linear classifier tells
those words apart better than a constant answer does (section 3). With ``shrinkage=False`` no affine
map that does so moves them less. With the shrunk covariance, the authors' default and ours, it
moves them a little more (see `erase`). The guarantee does not reach held-out words: they stay apart
as far as the fitted words do not represent them. `fit` measures how much. It does not hold in parts
of the fitted words either. The means are equal over all of them; in one half they therefore differ
in the opposite way to the other half. A classifier trained on one half reads the other backwards
(arXiv 2403.16142).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import like
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.classes import labelled_words
from wordbias.methods.fitted import Fitted
from wordbias.methods.linear_classifiers import probe_rows
from wordbias.methods.transform import Arrays, check_width
from wordbias.methods.words import as_groups, check_embedding
from wordbias.moments import Moments, constant_coordinates, numbered
from wordbias.wordlists import Attribute, WordGroups

METHODS = ("leace", "orth")
SMALLEST = 1e-8
"""Difference, over the length of the vectors, that is rounding."""
Matrix = NDArray[np.float64]


def fit(
    embedding: Embedding,
    attribute: Attribute | WordGroups | str | Path | None = None,
    *,
    classes: int | None = None,
    per_class: int | None = None,
    seed: int = 0,
    method: str = "leace",
    shrinkage: bool = True,
) -> Fitted:
    """Fit LEACE on labelled words, all but the 30 % held out."""
    check_embedding(embedding)
    attribute = as_groups(attribute)
    classes = len(attribute.groups) if classes is None else classes
    settings = {"classes": classes, "per_class": per_class, "seed": seed, "method": method}
    settings |= {} if shrinkage else {"shrinkage": False}
    words = labelled_words(embedding, attribute, classes=classes, per_class=per_class, seed=seed)
    x = words.vectors(embedding)
    erasure = fit_erasure(x[words.learned], words.labels[words.learned], method, shrinkage)
    rows = probe_rows(embedding.name, x, erasure(x), words, words.learned)
    return Fitted("leace", (erasure,), found=tuple(rows), settings=settings)


@dataclass(frozen=True, eq=False)
class Erasure(Arrays):
    """Affine map that moves rows along a few directions: ``x − L R (x − b)``, `L R` low-rank."""

    kind: ClassVar[str] = "erasure"
    left: Any  # `L` and `R`, shapes `(d, k)` and `(k, d)`
    right: Any
    bias: Any  # row that is not changed, shape `(d,)`

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.left.shape != self.right.shape[::-1] or self.left.shape[:1] != self.bias.shape:
            raise WordbiasError(
                "expected factors of shapes (d, k) and (k, d) and a bias of shape (d,), got "
                f"{self.left.shape}, {self.right.shape} and {self.bias.shape}"
            )
        for name in ("left", "right", "bias"):
            if not np.isfinite(getattr(self, name)).all():
                raise WordbiasError(f"the array {name!r} holds values that are not finite numbers")

    def __call__(self, x: Any) -> Any:
        """Map rows of shape ``(…, d)``."""
        check_width(x, len(self.bias))
        along = (x - like(self.bias, x)) @ like(self.right, x).T
        return x - along @ like(self.left, x).T


def fit_moments(moments: Sequence[Moments], settings: Mapping[str, Any]) -> tuple[Erasure]:
    """Fit LEACE to the labels of some rows, and erase all labels together; see `erase`."""
    return (erase(moments, settings.get("method", "leace"), settings.get("shrinkage", True)),)


def fit_erasure(
    x: Matrix, labels: NDArray[np.intp], method: str = "leace", shrinkage: bool = True
) -> Erasure:
    """Fit the eraser of classes, 0 to K − 1, on vectors (n, d); see `erase`."""
    return erase([Moments.of_codes(x, labels, numbered(labels))], method, shrinkage)


def erase(moments: Sequence[Moments], method: str = "leace", shrinkage: bool = True) -> Erasure:
    """Return the eraser of one label or several, by the moments of the same vectors by each."""
    # The classes' means become equal however the covariance is estimated; the estimate only decides
    # how little else moves. It is shrunk by default, as the paper's authors do: vectors that are
    # fewer than their dimensions, or constant in some of them, are then no special case. Without,
    # the map is the one that moves the vectors it is fitted on least. Of several labels the one-hot
    # columns of all are erased. `orth` is the orthogonal projection that makes the means equal.
    if method not in METHODS:
        raise WordbiasError(f"method {method!r}: expected one of {', '.join(METHODS)}")
    first = moments[0]
    if any(len(moment.classes) < 2 for moment in moments):
        raise WordbiasError(f"{first.n} vectors are of one class: expected two classes or more")
    covariance = first.covariance()
    scale = _scale(first, covariance)
    means = [moment.means for moment in moments]
    if _gap(means) <= SMALLEST * scale:
        raise WordbiasError(
            f"the classes of {first.n} vectors do not differ in their means: there is nothing to "
            "erase; are they debiased already?"
        )
    covariance /= scale**2
    estimate = shrunk_covariance(covariance, first.n) if shrinkage else covariance
    left, right = _eraser(moments, estimate, scale, method)
    erasure = Erasure(*_without_rounding(left, right, first))
    if not _gap([erasure(class_means) for class_means in means]) <= SMALLEST * scale:
        raise WordbiasError(
            f"the means of the classes of {first.n} vectors stay apart, by rounding: some of their "
            "coordinates are many orders of magnitude larger than others; bring them to one scale"
        )
    return erasure


def _without_rounding(left: Matrix, right: Matrix, moments: Moments) -> tuple[Matrix, ...]:
    """Return an eraser that leaves constant coordinates alone; those of rounding become zero."""
    # Some of all-MiniLM-L6-v2 are 1e-33, and tell the label to whom scales them.
    constant, variance = constant_coordinates(moments), np.diag(moments.covariance())
    left, right, bias = left.copy(), right.copy(), moments.mean.copy()
    left[constant], right[:, constant] = 0, 0
    silent = np.eye(len(bias))[constant & (variance > 0) & (bias**2 < variance.mean() * 1e-28)]
    bias[silent.any(0)] = 0
    return np.hstack([left, silent.T]), np.vstack([right, silent]), bias


def _eraser(
    moments: Sequence[Moments], covariance: Matrix, scale: float, method: str
) -> tuple[Matrix, Matrix]:
    """Compute ``W⁺U`` and ``UᵀW`` of vectors whose mean square length is one."""
    n, d = moments[0].n, len(covariance)
    whiten = unwhiten = np.eye(d)
    if method == "leace":
        values, v = np.linalg.eigh(covariance)
        positive = values > values[-1] * d * np.finfo(float).eps
        values, v = values[positive], v[:, positive]
        whiten, unwhiten = v * values**-0.5 @ v.T, v * values**0.5 @ v.T
    cross = np.concatenate(
        [((moment.means - moment.mean) * (moment.counts[:, None] / scale)).T for moment in moments],
        axis=1,
    )
    u, size, _ = np.linalg.svd(whiten @ cross / max(n - 1, 1), full_matrices=False)
    u = u[:, size > SMALLEST]
    return unwhiten @ u, u.T @ whiten


def shrunk_covariance(s: Matrix, n: int) -> Matrix:
    r"""Shrink a covariance towards a multiple of the identity (Bodnar, Gupta and Parolya 2014).

    .. math:: \alpha S + (1 - \alpha)\, m I, \quad m = \tfrac1d \mathrm{tr}\, S, \quad
              \alpha = 1 - \frac{(\mathrm{tr}\, S)^2}{n\, \|S - m I\|_F^2} \in [0, 1]

    The mean variance `m` is not robust. A single vector that is far longer than all others sets it,
    and `α`. The directions in which the others vary are then shrunk to nearly one variance.
    """
    d = len(s)
    level = float(np.trace(s)) / d
    target = level * np.eye(d)
    spread = float(((s - target) ** 2).sum())
    noise = (d * level) ** 2 / n
    alpha = 0.0 if spread <= noise else 1 - noise / spread
    shrunk: Matrix = alpha * s + (1 - alpha) * target
    return shrunk


def _gap(means: Sequence[Matrix]) -> float:
    """Return the largest difference between the means of two classes in any coordinate."""
    return max(float(np.ptp(class_means, axis=0).max()) for class_means in means)


def _scale(moments: Moments, covariance: Matrix) -> float:
    """Return the root mean square length, which makes absolute tolerances relative."""
    mean = moments.mean
    with np.errstate(over="ignore", invalid="ignore"):
        scale = float(np.sqrt(np.trace(covariance) + mean @ mean))
    if not 0 < scale < np.inf:
        raise WordbiasError(
            f"{moments.n} vectors have the root mean square length {scale}: expected finite "
            "vectors that are not all zero"
        )
    return scale
