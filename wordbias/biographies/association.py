"""How far intrinsic bias goes with extrinsic bias: squared correlations (Orgad et al. 2022, §4.3).

Table 2 of the paper is of squared Pearson correlations over all runs, a point for each strategy and
seed. Runs of one strategy are alike, so that what it shows is mostly how the strategies differ, and
p, which takes every run for a draw of its own, is too small; the same within each strategy shows
what seeds do. The paper keeps only the CEAT effects with p < .05; as p of CEAT falls with the
number of its draws, all are kept here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from wordbias.biographies.runs import (
    AFTER,
    BEFORE,
    CEAT,
    COMPRESSED,
    COMPRESSED_WITHIN,
    GAPS,
    REPRESENTATION,
    RESTORED,
    Metric,
    Runs,
)
from wordbias.biographies.strategies import OWN
from wordbias.correlation import LEAST, correlation

INTRINSIC = (COMPRESSED, COMPRESSED_WITHIN, CEAT)
STAGES = (BEFORE, AFTER, RESTORED)


@dataclass(frozen=True)
class Association:
    """Pearson's correlation of an intrinsic and an extrinsic measure over runs.

    Attributes
    ----------
    x, y
        Intrinsic, extrinsic.
    stage
        Of `y`: before or after retraining, or the difference that it made.
    strategy
        Whose runs; empty for those of all.
    r, p
        None where undefined, for a `reason`.
    n
        Runs that have both.
    """

    x: Metric
    y: Metric
    stage: str
    strategy: str
    r: float | None
    p: float | None
    n: int
    reason: str = ""

    @property
    def r2(self) -> float | None:
        """The squared correlation."""
        return None if self.r is None else self.r**2


def associated(
    runs: Runs,
    x: Metric,
    y: Metric,
    stage: str,
    strategies: Sequence[str] | None = None,
    view: str = OWN,
) -> Association:
    """Correlate two measures over the runs of some strategies, by default all."""
    named_x, named_y = (
        (metric.title, runs.every(metric, at, strategies, view))
        for metric, at in ((x, REPRESENTATION), (y, stage))
    )
    found = correlation(named_x, named_y, "pearson")
    reason = ""
    if found.r is None and found.n < LEAST:
        runs_have = "1 run has" if found.n == 1 else f"{found.n} runs have"
        reason = f"{runs_have} both, needed are {LEAST}"
    elif found.r is None:
        reason = f"{found.reason.partition(' is constant')[0]} is the same in all {found.n} runs"
    name = strategies[0] if strategies and len(strategies) == 1 else ""
    return Association(x, y, stage, name, found.r, found.p, found.n, reason)


def associations(runs: Runs, view: str = OWN) -> Iterator[Association]:
    """Yield every association: over all runs, then within each strategy.

    What retraining restored is over the runs of strategies that took something away: the others
    have nothing to restore.
    """
    for strategies in ((), *((name,) for name in runs.strategies)):
        for x in INTRINSIC:
            for y in GAPS:
                for stage in STAGES:
                    every = runs.debiased() if stage == RESTORED else None
                    yield replace(
                        associated(runs, x, y, stage, strategies or every, view),
                        strategy=strategies[0] if strategies else "",
                    )
