"""Scores of coreference, summed over documents: CoNLL F1 of MUC, B³ and CEAFφ4, and LEA.

CoNLL F1 is that of Pradhan et al. (2014). Recall and precision of each metric are quotients of
sums. A document is therefore sixteen numbers, a corpus their sum, and a bootstrap sample of
documents a product of matrices.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

METRICS = ("muc", "b3", "ceafe", "lea")
AVERAGED = 3
"""Number of metrics, the first ones, whose mean is CoNLL F1."""
Clusters = Iterable[Iterable[Hashable]]
Tally = NDArray[np.float64]
"""Array ``(…, 4, 4)``: for each metric numerator and denominator of recall, then of precision."""


def tally(key: Clusters, response: Clusters) -> Tally:
    """Count one document, (4, 4), of clusters of mentions."""
    # A repeated mention counts only where it comes first: precision cannot be bought by repetition.
    # The reference scorer keeps repeated mentions of the key, and those that the key has not.
    # Singletons count.
    gold, predicted = distinct(key), distinct(response)
    similarity = _ceaf(gold, predicted)
    return np.array(
        [
            [*_muc(gold, predicted), *_muc(predicted, gold)],
            [*_b3(gold, predicted), *_b3(predicted, gold)],
            [similarity, len(gold), similarity, len(predicted)],
            [*_lea(gold, predicted), *_lea(predicted, gold)],
        ],
        dtype=np.float64,
    )


def scores(tallies: Tally) -> NDArray[np.float64]:
    """Return recall, precision and F1 of each metric, shape ``(…, 4, 3)``; 0/0 is 0."""
    recall, precision = (
        np.divide(a, b, out=np.zeros(a.shape), where=b > 0)
        for a, b in ((tallies[..., i], tallies[..., i + 1]) for i in (0, 2))
    )
    total = recall + precision
    f1 = np.divide(2 * recall * precision, total, out=np.zeros(total.shape), where=total > 0)
    return np.stack([recall, precision, f1], axis=-1)


def conll_f1(tallies: Tally) -> NDArray[np.float64]:
    """Return the mean of the F1 of MUC, B³ and CEAFφ4, shape ``(…,)``."""
    mean: NDArray[np.float64] = scores(tallies[..., :AVERAGED, :])[..., 2].mean(axis=-1)
    return mean


def distinct(clusters: Clusters) -> list[set[Hashable]]:
    """Remove mentions that occurred before, and empty clusters."""
    seen: set[Hashable] = set()
    cleaned = []
    for cluster in clusters:
        new = set(cluster) - seen
        seen |= new
        if new:
            cleaned.append(new)
    return cleaned


def _muc(of: Sequence[set[Hashable]], by: Sequence[set[Hashable]]) -> tuple[int, int]:
    """Return the number of links of `of` that `by` has, and of all (Vilain et al. 1995)."""
    linked = total = 0
    for cluster in of:
        shared = [len(cluster & other) for other in by]
        parts = sum(n > 0 for n in shared) + len(cluster) - sum(shared)
        linked += len(cluster) - parts
        total += len(cluster) - 1
    return linked, total


def _b3(of: Sequence[set[Hashable]], by: Sequence[set[Hashable]]) -> tuple[float, int]:
    """Return Σ |C∩D|²/|C| over clusters, and the number of mentions (Bagga and Baldwin 1998)."""
    right = sum(len(c & d) ** 2 / len(c) for c in of for d in by)
    return right, sum(map(len, of))


def _ceaf(gold: Sequence[set[Hashable]], predicted: Sequence[set[Hashable]]) -> float:
    """Return φ4 = 2|K∩R|/(|K|+|R|) summed over the best one-to-one alignment (Luo 2005)."""
    if not gold or not predicted:
        return 0.0
    phi = np.array([[2 * len(k & r) / (len(k) + len(r)) for r in predicted] for k in gold])
    if len(gold) == 1 or len(predicted) == 1:
        return float(phi.max())
    from scipy.optimize import linear_sum_assignment

    return float(phi[linear_sum_assignment(phi, maximize=True)].sum())


def _lea(of: Sequence[set[Hashable]], by: Sequence[set[Hashable]]) -> tuple[float, int]:
    """Return Σ |C| · (share of C's links that are in `by`), and Σ |C| (Moosavi and Strube 2016).

    A cluster of one mention has one link, to itself, which only another such cluster has.
    """
    # A cluster of one mention has one link, to itself, which only another such cluster has.
    right = 0.0
    for cluster in of:
        if len(cluster) == 1:
            right += cluster in by
        else:
            shared = (len(cluster & other) for other in by)
            links = sum(n * (n - 1) for n in shared)
            right += links / (len(cluster) - 1)  # |C| · links/2 over |C|(|C| − 1)/2
    return right, sum(map(len, of))
