r"""RIPA: relational inner product association (Ethayarajh, Duvenaud and Hirst 2019, "RIPA").

.. math:: \beta(w; b) = \langle w, b \rangle

with b the unit vector of x − y for one pair of words (x, y). Neutral is 0; positive leans to the
first word of the pairs. The vectors keep their length, as in the paper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError
from wordbias.measures.direct_bias import UNDEFINED_BELOW


def relation(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return b of pairs of words: the first principal component of their differences, not centred.

    For one pair it is ``(x − y)/‖x − y‖``. For several this is the paper's definition; WEFE
    averages over pairs, each with its own b, instead. Its sign is that of the mean difference.

    Parameters
    ----------
    first, second
        Vectors of the pairs' first and second words, both ``(n, d)``.

    Raises
    ------
    WordbiasError
        If the shapes differ, or so little is left of the differences that b would be noise.
    """
    x, y = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if x.shape != y.shape or x.ndim != 2 or not len(x):
        raise WordbiasError(f"expected pairs of vectors, got the shapes {x.shape} and {y.shape}")
    difference = x - y
    gap = np.linalg.norm(difference, axis=1).mean()
    size = np.linalg.norm(np.concatenate([x, y]), axis=1).mean()
    if gap == 0 or gap < UNDEFINED_BELOW * size:
        raise WordbiasError(f"the pairs differ by less than {UNDEFINED_BELOW} of their mean length")
    b: NDArray[np.float64] = np.linalg.svd(difference, full_matrices=False)[2][0]
    return -b if (difference @ b).mean() < 0 else b


def ripa_of_words(w: ArrayLike, b: NDArray[np.float64]) -> NDArray[np.float64]:
    """β of every word, shape ``(n,)``, for vectors as they are, shape ``(n, d)``."""
    values: NDArray[np.float64] = np.asarray(w, np.float64) @ b
    return values


def ripa(w: ArrayLike, b: NDArray[np.float64]) -> float:
    """Mean of `ripa_of_words`."""
    return float(ripa_of_words(w, b).mean())
