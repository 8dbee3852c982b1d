"""2-means without chance: one start, from the first principal component."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordbias.methods.moments import Float

_ROUNDS = 300


def two_means(x: Float) -> NDArray[np.bool_]:
    """Split vectors, shape ``(n, d)``, into two clusters; returns the members of one, ``(n,)``.

    Lloyd's algorithm, from the split by the sign of the first principal component: that is where
    the relaxed problem has its optimum (Ding and He 2004, theorem 2.2). Deterministic.
    """
    x = x - x.mean(0)
    inside: NDArray[np.bool_] = x @ np.linalg.eigh(x.T @ x)[1][:, -1] > 0
    for _ in range(_ROUNDS):
        size = int(inside.sum())
        if size in (0, len(x)):  # all vectors are equal
            break
        total = inside @ x
        a, b = total / size, -total / (len(x) - size)
        nearer = x @ (a - b) > (a - b) @ (a + b) / 2
        if (nearer == inside).all():
            break
        inside = nearer
    return inside
