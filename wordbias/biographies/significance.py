"""Paired test over seeds of whether a strategy differs from no debiasing.

Orgad et al. (2022) put stars at p < .05 and do not name their test. Here it is the exact sign-flip
permutation test of the mean difference (Fisher 1935): a seed decides the split, the head and the
order of training alike for every strategy, so that runs of one seed are pairs; if the strategy
makes no difference, each pair's difference is as likely to have the other sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wordbias.statistics import holm, sign_flip_p

FEWEST = 6
"""Pairs from which on p can be below .05: with n it is at least 2/2ⁿ."""
LEVEL = 0.05
NAME = "sign-flip permutation test of the mean difference over paired seeds, two-sided"


class PairedTest(NamedTuple):
    """A test: its p, None if it was not made, for a `reason`; and the number of pairs."""

    p: float | None
    n: int
    reason: str = ""

    @property
    def is_significant(self) -> bool:
        """Whether p is below .05."""
        return self.p is not None and self.p < LEVEL


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


def with_holm(tests: Sequence[PairedTest]) -> list[PairedTest]:
    """Correct for the number of tests that were made; see `wordbias.statistics.holm`."""
    made = [(i, test.p) for i, test in enumerate(tests) if test.p is not None]
    corrected = list(tests)
    for (i, _), p in zip(made, holm([p for _, p in made]).tolist(), strict=True):
        corrected[i] = tests[i]._replace(p=p)
    return corrected
