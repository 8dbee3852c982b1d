"""Controls: labels that mean nothing, and vectors that know nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.intp]
_STREAM = 1  # keeps these draws apart from those of orders and weights


def control_labels(labels: Integers, types: Integers | None, seed: int) -> Integers:
    """Draw the labels of a control task (Hewitt and Liang 2019).

    Every type, such as a word, gets one label at random, drawn as often as the labels occur; a
    probe can only learn them by heart. Selectivity is how much better it does on the true ones.

    Parameters
    ----------
    labels
        Codes of the true labels, shape ``(n,)``.
    types
        Code of each example's type, shape ``(n,)``; by default every example is of its own.
    seed
        Of the draws.

    Returns
    -------
    array of int, shape (n,)
    """
    rng = np.random.default_rng([seed, _STREAM])
    codes = np.arange(len(labels)) if types is None else np.unique(types, return_inverse=True)[1]
    drawn = labels[rng.integers(len(labels), size=int(codes.max()) + 1)]
    found: Integers = drawn[codes]
    return found


def random_vectors(vectors: NDArray[np.floating[Any]], seed: int) -> NDArray[np.float32]:
    """Draw normal vectors of the same shape and scale.

    Parameters
    ----------
    vectors
        Shape ``(L, n, d)``.
    seed
        Of the draws.

    Returns
    -------
    array of float32, shape (L, n, d)
        Independent of everything; the mean square of each layer is that of `vectors`.
    """
    rng = np.random.default_rng([seed, _STREAM])
    drawn = rng.standard_normal(vectors.shape, np.float32)
    for layer, like in zip(drawn, vectors, strict=True):
        layer *= np.sqrt(np.mean(np.square(like, dtype=np.float64)))
    return drawn
