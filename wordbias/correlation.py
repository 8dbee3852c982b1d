"""How the measures of many embeddings correlate, as in Dawkins (2021), Table 5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.comparison import Comparison, listed
from wordbias.errors import WordbiasError
from wordbias.statistics import exact_spearman_p

METHODS = ("pearson", "spearman")
LEAST = 3
_CONSTANT = 1e-12
_EXACT = 8  # embeddings from which Spearman's p is approximated


class Correlation(NamedTuple):
    """Correlation of two measures; `r` and `p` are None where undefined, for a `reason`."""

    x: str
    y: str
    r: float | None
    n: int
    p: float | None
    reason: str = ""


@dataclass(frozen=True)
class Correlations:
    """All pairs of measures, in the order of the upper triangle's rows."""

    measures: Sequence[str]
    method: str
    pairs: Sequence[Correlation]

    def matrix(self) -> NDArray[np.float64]:
        """Return r as a symmetric matrix, shape ``(m, m)``; nan where undefined."""
        found = np.eye(len(self.measures))
        for (i, j), pair in zip(combinations(range(len(found)), 2), self.pairs, strict=True):
            found[i, j] = found[j, i] = math.nan if pair.r is None else pair.r
        return found

    def strongest(self, *among: str) -> Correlation:
        """Return the pair of largest \\|r\\| that has all the measures in `among`."""
        pairs = [pair for pair in self.pairs if set(among) <= {pair.x, pair.y}]
        defined = [pair for pair in pairs if pair.r is not None]
        if not defined:
            raise WordbiasError(f"{' – '.join(among)}: correlation undefined: {pairs[0].reason}")
        return max(defined, key=lambda pair: abs(pair.r or 0))


def correlations(table: Comparison, method: str = "pearson") -> Correlations:
    """Correlate every two measures over the embeddings that have both (pairwise deletion).

    Parameters
    ----------
    table
        At least three embeddings and two measures.
    method
        "pearson" as the paper, or "spearman".

    Returns
    -------
    Correlations
        With two-sided p values: of scipy.stats, which are exact for Pearson if the measures are
        normal and the t approximation for Spearman; with fewer than eight embeddings Spearman's is
        exact, over all permutations. Not corrected for the number of pairs.

    Raises
    ------
    WordbiasError
        If there is too little to correlate, or a measure is the same for all embeddings. One that
        is constant only among the embeddings of a pair leaves that pair undefined.
    """
    if method not in METHODS:
        raise WordbiasError(f"method {method!r}: expected one of {', '.join(METHODS)}")
    _check_enough(table)
    columns = list(zip(table.measures, table.values.T, strict=True))
    pairs = [correlation(x, y, method) for x, y in combinations(columns, 2)]
    if all(pair.r is None for pair in pairs):
        counts = [f"{name} {n}" for name, n in zip(table.measures, table.counts(), strict=True)]
        raise WordbiasError(
            f"no two measures can be correlated: {pairs[0].reason}; "
            f"embeddings with a value: {listed(counts)}"
        )
    return Correlations(table.measures, method, pairs)


def _check_enough(table: Comparison) -> None:
    if len(table.subjects) < LEAST:
        raise WordbiasError(
            f"correlations need at least {LEAST} embeddings, found {len(table.subjects)}: "
            f"{listed(table.subjects)}; give the results of more, or show the values of few side "
            "by side with report"
        )
    if len(table.measures) < 2:
        raise WordbiasError(
            f"correlations need at least 2 measures, found {len(table.measures)}: "
            f"{listed(table.measures)}"
        )
    for reason in constants(table).values():
        raise WordbiasError(f"{reason}: nothing correlates with a constant; leave it out")


def constants(table: Comparison) -> dict[str, str]:
    """Return what each measure that is the same for all embeddings is, in words, by its name."""
    found = {}
    for name, column in zip(table.measures, table.values.T, strict=True):
        defined = column[np.isfinite(column)]
        if len(defined) >= LEAST and _is_constant(defined):
            found[name] = f"{name} is {defined[0]:g} for all {len(defined)} embeddings that have it"
    return found


def correlation(
    x: tuple[str, NDArray[np.float64]], y: tuple[str, NDArray[np.float64]], method: str
) -> Correlation:
    """Correlate two named columns over the rows that have both; nan is a missing value."""
    from scipy import stats

    both = np.isfinite(x[1]) & np.isfinite(y[1])
    n = int(both.sum())
    if n < LEAST:
        reason = f"{n} embeddings have both {x[0]} and {y[0]}, needed are {LEAST}"
        return Correlation(x[0], y[0], None, n, None, reason)
    for name, column in (x, y):
        if _is_constant(column[both]):
            reason = f"{name} is constant over the {n} embeddings that have both"
            return Correlation(x[0], y[0], None, n, None, reason)
    a, b = (column[both] / np.abs(column[both]).max() for _, column in (x, y))  # no overflow
    found = (stats.pearsonr if method == "pearson" else stats.spearmanr)(a, b)
    r = min(1.0, max(-1.0, float(found.statistic)))
    p = exact_spearman_p(a, b) if method == "spearman" and n < _EXACT else float(found.pvalue)
    return Correlation(x[0], y[0], r, n, p)


def _is_constant(values: NDArray[np.float64]) -> bool:
    largest = np.abs(values).max()
    return bool(largest == 0 or np.ptp(values / largest) <= _CONSTANT)
