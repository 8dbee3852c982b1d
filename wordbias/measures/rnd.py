r"""RND: relative norm distance (Garg, Schiebinger, Jurafsky and Zou 2018, "Materials and Methods").

.. math:: \sum_{w \in W} \|w - \bar x\| - \|w - \bar y\|, \quad
          \bar x = \operatorname{mean}_{x \in X} x, \; \bar y = \operatorname{mean}_{y \in Y} y

Neutral is 0. Distances: a *positive* value means nearer to the second group. As in WEFE the mean
over W stands for the paper's sum, so that lists of different length compare.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def rnd_of_words(w: ArrayLike, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Distance to the mean of X less that to the mean of Y, shape ``(n,)``.

    Parameters
    ----------
    w, x, y
        Vectors, shapes ``(n, d)``, ``(k, d)`` and ``(l, d)``; taken as they are. On vectors that
        differ in length their length is part of the value: scaling all by c scales it by c.
    """
    words, first, second = (np.asarray(v, np.float64) for v in (w, x, y))
    to_x, to_y = (np.linalg.norm(words - v.mean(axis=0), axis=1) for v in (first, second))
    difference: NDArray[np.float64] = to_x - to_y
    return difference


def rnd(w: ArrayLike, x: ArrayLike, y: ArrayLike) -> float:
    """Mean of `rnd_of_words`."""
    return float(rnd_of_words(w, x, y).mean())
