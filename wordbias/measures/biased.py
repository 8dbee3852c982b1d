"""The most biased words of an embedding: whom clustering and recoverability ask about."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError


class Biased(NamedTuple):
    """Rows of the vocabulary that lean most, and whether each leans to the first group."""

    rows: NDArray[np.intp]
    labels: NDArray[np.bool_]


def most_biased(projection: NDArray[np.float64], per_side: int) -> Biased:
    """Choose the `per_side` words that lean most to each group.

    Parameters
    ----------
    projection
        Lean of every word of the vocabulary, shape ``(n,)``, positive towards the first group.
    per_side
        Words of each side.

    Raises
    ------
    WordbiasError
        If fewer words than that lean to a side.
    """
    order = np.argsort(-projection, kind="stable")
    first, second = int((projection > 0).sum()), int((projection < 0).sum())
    if min(first, second) < per_side:
        raise WordbiasError(
            f"{per_side} words a side asked for, but only {first} and {second} words lean to the "
            "groups; ask for fewer, or give a larger vocabulary"
        )
    rows = np.concatenate([order[:per_side], order[::-1][:per_side]])
    return Biased(rows, np.repeat([True, False], per_side))
