"""Rates of each class in each group: recall, false alarms, precision and F1 (P3, §2.1.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.outcomes.cells import Counts

RATES = ("tpr", "fpr", "precision", "f1")
Values = NDArray[np.float64]


def rates(counts: Counts, *, as_published: bool = False) -> dict[str, Values]:
    """Compute the four rates of every class, one class against all others.

    TPR = TP/(TP+FN), FPR = FP/(FP+TN), precision = TP/(TP+FP), F1 = 2·TP/(2·TP+FP+FN).

    Parameters
    ----------
    counts
        Shape ``(…, groups, classes, outcomes)``, the classes first among the outcomes; leading
        axes are samples.
    as_published
        Precision as in the released code of Orgad et al. (2022, bio/Trainer.py): TP divided by
        the number of *all* examples, of every group and class, and F1 = 2pr/(p+r) of it. Such
        numbers are near 0 and cannot give the tables of the paper, which fit TP/(TP+FP); so the
        default is the text's.

    Returns
    -------
    dict
        For each name in `RATES` an array ``(…, groups, classes)``; nan where it would be 0/0.
    """
    k = counts.shape[-2]
    tp = np.diagonal(counts, axis1=-2, axis2=-1)
    called = counts[..., :k].sum(axis=-2)
    return rates_of(tp, counts.sum(axis=-1), called, as_published=as_published)


def rates_of(
    tp: Counts, positives: Counts, called: Counts, *, as_published: bool = False
) -> dict[str, Values]:
    """Compute the rates of `rates` from sums, each of the shape ``(…, groups, classes)``.

    Parameters
    ----------
    tp, positives, called
        How many examples of each class were predicted as it, are there, and were predicted as it
        whatever they are.
    """
    n = positives.sum(axis=-1, keepdims=True)
    fp = called - tp
    found = {"tpr": ratio(tp, positives), "fpr": ratio(fp, n - positives)}
    if as_published:
        p = ratio(tp, n.sum(axis=-2, keepdims=True))
        total = p + found["tpr"]
        f1 = np.where(total == 0, 0.0, ratio(2 * p * found["tpr"], total))
        return {**found, "precision": p, "f1": f1}
    return {**found, "precision": ratio(tp, called), "f1": ratio(2 * tp, positives + called)}


def ratio(a: NDArray[Any], b: NDArray[Any]) -> Values:
    """Divide, broadcasting; nan where `b` is 0 or nan."""
    a, b = np.broadcast_arrays(a, b)
    found: Values = np.divide(a, b, out=np.full(b.shape, np.nan), where=b > 0)
    return found
