"""Direct bias along one direction (Bolukbasi et al. 2016, section 5.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import blocks

UNDEFINED_BELOW = 0.1
"""Length of a − b, relative to the mean length of a and b, below which its direction is noise."""


def projections_of_unit(x: NDArray[np.float64], axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """``⟨x, g⟩ / ‖x‖`` of every vector with every axis, 0 for a vector of length 0.

    With axes of length one these are cosines.

    Parameters
    ----------
    x
        Shape ``(n, d)``.
    axes
        Shape ``(d,)`` or ``(d, m)``; the result is ``(n,)`` or ``(n, m)``.
    """
    norm = np.linalg.norm(x, axis=1)
    length = np.where(norm == 0, 1, norm)
    found: NDArray[np.float64] = x @ axes / (length if axes.ndim == 1 else length[:, None])
    return found


def direct_bias_of_words(
    vectors: NDArray[np.float32], direction: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Cosine of every word with the direction, shape ``(n,)``; 0 for a word of length 0."""
    g = direction / np.linalg.norm(direction)
    return np.concatenate([np.zeros(0), *(projections_of_unit(x, g) for x in blocks(vectors))])


def direct_bias(
    vectors: NDArray[np.float32], direction: NDArray[np.float64], c: float = 1.0
) -> float:
    """Mean of ``|cos(w, g)|^c`` over the rows of `vectors`; 0 is neutral.

    Parameters
    ----------
    vectors
        Shape ``(n, d)``, n ≥ 1.
    direction
        Shape ``(d,)``; Dawkins (2021) takes she − he, Bolukbasi et al. the first principal
        component of definitional pairs.
    c
        Strictness; 1 in both papers.
    """
    return float((np.abs(direct_bias_of_words(vectors, direction)) ** c).mean())


def difference_direction(
    a: ArrayLike, b: ArrayLike, names: tuple[str, str] = ("a", "b")
) -> tuple[NDArray[np.float64], str]:
    """Return a − b, and why direct bias along it is undefined, or an empty string.

    Debiasing can bring `a` and `b` so close together that only noise is left of their difference;
    the paper reports such cells as NA.
    """
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    length = np.linalg.norm(x - y)
    mean = (np.linalg.norm(x) + np.linalg.norm(y)) / 2
    if length >= UNDEFINED_BELOW * mean and length > 0:
        return x - y, ""
    share = length / mean if mean else 0.0
    return x - y, (
        f"undefined: ‖{names[0]} − {names[1]}‖ is {share:.3f} of their mean length, "
        f"below {UNDEFINED_BELOW}"
    )
