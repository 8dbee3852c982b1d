r"""MAC: mean average cosine (Manzini, Lim, Tsvetkov and Black 2019, "MAC").

.. math:: S(t, A_j) = \operatorname{mean}_{a \in A_j} (1 - \cos(t, a)), \quad
          \mathrm{MAC}(T, A) = \operatorname{mean}_{t \in T} \operatorname{mean}_j S(t, A_j)

The mean cosine *distance* of target words to the attribute sets, each set with the same weight;
neutral is 1, and 2 the largest value. It sees whether targets and attributes are related at all,
not which set is preferred.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError
from wordbias.measures.weat import cosines


def mac_of_words(t: ArrayLike, attributes: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """Mean distance of every target word to the sets, shape ``(n,)``.

    Parameters
    ----------
    t
        Vectors of any length, shape ``(n, d)``.
    attributes
        One array ``(k_j, d)`` a set, at least one.
    """
    if not attributes:
        raise WordbiasError("expected at least one set of attribute words, got none")
    distances = [(1 - cosines(t, a)).mean(axis=1) for a in attributes]
    mean: NDArray[np.float64] = np.mean(distances, axis=0)
    return mean


def mac(t: ArrayLike, attributes: Sequence[ArrayLike]) -> float:
    """Mean of `mac_of_words`."""
    return float(mac_of_words(t, attributes).mean())
