r"""Least-squares concept erasure in closed form, on arrays (Belrose et al. 2023, section 4).

.. math:: r(x) = x - W^{+} U U^\top W (x - \mathrm{E}[x]), \quad W = (\Sigma_{xx}^{1/2})^{+},
          \quad U U^\top \text{ onto the columns of } W \Sigma_{xz}

It makes the classes' means equal in the words it was fitted on, so that no linear classifier tells
those words apart better than a constant answer does (section 3), and of all affine maps that do so
it moves them least.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordbias.casting import like
from wordbias.errors import WordbiasError
from wordbias.methods.steps import Arrays, check_width
from wordbias.optional import need
from wordbias.torch_threads import torch_threads

METHODS = ("leace", "orth")
_SMALLEST = 1e-8

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Erasure(Arrays):
    """An affine map that moves rows along a few directions: ``x − L R (x − b)``, `L R` low-rank.

    Attributes
    ----------
    left, right
        `L` and `R`, shapes ``(d, k)`` and ``(k, d)``.
    bias
        The row that stays where it is, shape ``(d,)``.
    """

    kind: ClassVar[str] = "erasure"
    left: Any
    right: Any
    bias: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.left.shape != self.right.shape[::-1] or self.left.shape[:1] != self.bias.shape:
            raise WordbiasError(
                "expected factors of shapes (d, k) and (k, d) and a bias of shape (d,), got "
                f"{self.left.shape}, {self.right.shape} and {self.bias.shape}"
            )

    def __call__(self, x: Any) -> Any:
        """Map rows of shape ``(…, d)``."""
        check_width(x, len(self.bias))
        along = (x - like(self.bias, x)) @ like(self.right, x).T
        return x - along @ like(self.left, x).T


def fit_erasure(x: Matrix, labels: NDArray[np.intp], method: str = "leace") -> Erasure:
    """Fit the library's eraser on vectors and one-hot classes.

    The library's own settings are kept, but for two. It leaves directions whose correlation with
    the classes is below .01; here only rounding is left. And where the variance grows it mixes in a
    projection that does not erase; the variance cannot grow, so that is off. The covariance is
    shrunk, which is the library's default: that the means come to be equal does not depend on it,
    only how little else moves.

    Parameters
    ----------
    x, labels
        Vectors and their classes, shapes ``(n, d)`` and ``(n,)``.
    method
        ``leace``, or ``orth``: the orthogonal projection that makes the classes' means equal.

    Raises
    ------
    WordbiasError
        If the library is not installed, `method` is not one of its, the means do not differ, or
        they differ still.
    """
    if method not in METHODS:
        raise WordbiasError(f"method {method!r}: expected one of {', '.join(METHODS)}")
    torch, library = _libraries()
    scale = _scale(x)
    if _gap(x, labels) <= _SMALLEST * scale:
        raise WordbiasError(
            f"the classes of {len(x)} words do not differ in their means: there is nothing to "
            "erase; is the embedding debiased already?"
        )
    with torch_threads():
        left, right, bias = _eraser(torch, library, x / scale, labels, method)
    erasure = Erasure(left, right, scale * bias)
    if not _gap(erasure(x), labels) <= _SMALLEST * scale:
        raise WordbiasError(
            f"concept-erasure left the means of the classes of {len(x)} words apart: it cannot "
            "shrink a covariance that is the same in all directions; were the vectors whitened on "
            "just these words? give them as they were before"
        )
    return erasure


def _eraser(
    torch: Any, library: Any, x: Matrix, labels: NDArray[np.intp], method: str
) -> tuple[Matrix, Matrix, Matrix]:
    """Fit the library's eraser and return its factors, without the empty ones, and its bias."""
    options = {"svd_tol": _SMALLEST, "constrain_cov_trace": False, "method": method}
    z = np.eye(labels.max() + 1)[labels]
    eraser = library.LeaceEraser.fit(torch.tensor(x), torch.tensor(z), **options)
    left, right = eraser.proj_left.numpy(), eraser.proj_right.numpy()
    kept = right.any(axis=1)
    return left[:, kept], right[kept], eraser.bias.numpy()


def _gap(x: Matrix, labels: NDArray[np.intp]) -> float:
    """Largest difference between the means of two classes in any coordinate."""
    means = np.stack([x[labels == label].mean(0) for label in np.unique(labels)])
    return float(np.ptp(means, axis=0).max())


def _scale(x: Matrix) -> float:
    """Root mean square length, by which the library's absolute tolerances become relative."""
    scale = float(np.sqrt(np.einsum("nd,nd->", x, x) / len(x)))
    if not 0 < scale < np.inf:
        raise WordbiasError(
            f"{len(x)} vectors have the root mean square length {scale}: expected finite vectors "
            "that are not all zero"
        )
    return scale


def _libraries() -> tuple[ModuleType, ModuleType]:
    purpose = "LEACE"
    torch = need("torch", extra="leace", purpose=purpose)
    with warnings.catch_warnings():
        # importing concept-erasure 0.2.4 compiles a function that has nothing to do with LEACE
        warnings.filterwarnings("ignore", r"`torch\.jit\.script` is ", DeprecationWarning)
        return torch, need("concept_erasure", extra="leace", purpose=purpose)
