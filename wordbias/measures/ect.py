r"""ECT: embedding coherence test (Dev and Phillips 2019, "ECT").

Take the mean vector of each of two groups of words, the cosine of each neutral word with both
means, and Spearman's correlation of the two lists: do both groups rank the words alike? Neutral is
1, where the order is the same; lower is more biased. Only the order matters: a bias that moves all
words alike is not seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.measures.weat import cosines


def similarities(w: ArrayLike, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Cosine of every word with the mean of X and with that of Y, shape ``(2, n)``.

    Parameters
    ----------
    w, x, y
        Vectors, shapes ``(n, d)``, ``(k, d)`` and ``(l, d)``. The means are those of the vectors as
        they are, as in the paper: in a group, long vectors weigh more.
    """
    means = np.stack([np.asarray(group, np.float64).mean(axis=0) for group in (x, y)])
    return cosines(means, w)


def rank_correlation(pairs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spearman's ρ along the last axis, equal values sharing their mean rank.

    Parameters
    ----------
    pairs
        Shape ``(2, …, n)``.

    Returns
    -------
    ndarray
        Shape ``(…,)``; nan where one of the lists is constant.
    """
    from scipy.stats import rankdata

    ranks = rankdata(pairs, axis=-1)
    x, y = ranks - ranks.mean(axis=-1, keepdims=True)
    spread = np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
    rho: NDArray[np.float64] = np.where(
        spread > 0, (x * y).sum(axis=-1) / np.where(spread > 0, spread, 1), np.nan
    )
    return rho


def ect(w: ArrayLike, x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's ρ of the two lists of `similarities`; nan if one of them is constant."""
    return float(rank_correlation(similarities(w, x, y)))
