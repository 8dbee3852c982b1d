"""Does a strategy differ from doing nothing? A paired test over seeds.

Orgad et al. (2022) put stars at p < .05 and do not name their test. Here it is the exact sign-flip
permutation test of the mean difference (Fisher 1935): a seed decides the split, the head and the
order of training alike for every strategy, so that runs of one seed are pairs; if the strategy
makes no difference, each pair's difference is as likely to have the other sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError

FEWEST = 6
"""Pairs from which on p can be below .05: with n it is at least 2/2ⁿ."""
EXACT = 20
SAMPLES = 100_000
LEVEL = 0.05
NAME = "sign-flip permutation test of the mean difference over paired seeds, two-sided"
_TIE = 1e-12


class PairedTest(NamedTuple):
    """A test: its p, None if it was not made, for a `reason`; and the number of pairs."""

    p: float | None
    n: int
    reason: str = ""

    @property
    def is_significant(self) -> bool:
        """Whether p is below .05."""
        return self.p is not None and self.p < LEVEL


def sign_flip_p(differences: ArrayLike, seed: int = 0) -> float:
    r"""Return the two-sided p of a mean difference.

    Parameters
    ----------
    differences
        One for each pair, shape ``(n,)``.
    seed
        Of the sample of signs that stands for all of them beyond 20 pairs.

    Returns
    -------
    float
        The share of the :math:`2^n` signs under which \|Σ±d\| is at least \|Σd\|, these among
        them; beyond 20 pairs (r + 1)/(N + 1) of 100,000 drawn. Sums that differ by less than
        1e-12 Σ\|d\| are ties.

    Raises
    ------
    WordbiasError
        If there is no pair, or a difference is not finite.
    """
    d = np.asarray(differences, np.float64)
    if d.ndim != 1 or not len(d) or not np.isfinite(d).all():
        raise WordbiasError(
            f"expected one finite difference for each pair, shape (n,), found {d.shape}"
        )
    largest = np.abs(d).max()
    if largest == 0:
        return 1.0
    d = d / largest
    sums = _all_sums(d) if len(d) <= EXACT else _drawn_sums(d, seed)
    r = int(np.count_nonzero(np.abs(sums) >= abs(d.sum()) - _TIE * np.abs(d).sum()))
    extra = 0 if len(d) <= EXACT else 1
    return (r + extra) / (len(sums) + extra)


def _all_sums(d: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ±d for all signs, each addition one of whole arrays."""
    sums = np.zeros(1)
    for value in d:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _drawn_sums(d: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    signs = rng.integers(0, 2, (SAMPLES, len(d)), np.int8)
    sums: NDArray[np.float64] = (2.0 * signs - 1.0) @ d
    return sums


def compared(values: ArrayLike, base: ArrayLike) -> PairedTest:
    """Test one strategy's values against those of another, seed by seed.

    Parameters
    ----------
    values, base
        One for each seed, shape ``(seeds,)``, nan where a seed has none.
    """
    differences = np.asarray(values, np.float64) - np.asarray(base, np.float64)
    d = differences[np.isfinite(differences)]
    if len(d) < FEWEST:
        return PairedTest(None, len(d), too_few(len(d)))
    return PairedTest(sign_flip_p(d), len(d))


def too_few(n: int) -> str:
    """Say why so many pairs are not tested."""
    if n == 0:
        return "no seed has both"
    least = f"{min(1.0, 2 / 2**n):.3g}"
    return f"the smallest p that {n} {'pair' if n == 1 else 'pairs'} of seeds can have is {least}"


def holm(tests: Sequence[PairedTest]) -> list[PairedTest]:
    """Correct for the number of tests (Holm 1979): those that were not made do not count.

    Ordered by p, the i-th smallest of m is multiplied by m − i + 1, and is at least its forerunner.
    """
    made = sorted((test.p, i) for i, test in enumerate(tests) if test.p is not None)
    corrected = list(tests)
    least = 0.0
    for rank, (p, i) in enumerate(made):
        least = max(least, min(1.0, p * (len(made) - rank)))
        corrected[i] = tests[i]._replace(p=least)
    return corrected
