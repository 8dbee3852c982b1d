"""Summary of an experiment: means over seeds, tests, verdicts and associations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wordbias.correlation import correlation
from wordbias.draws import change_interval, seed_keys
from wordbias.results import Row
from wordbias.retraining.arms import ORIGINAL, OWN
from wordbias.retraining.results import (
    AFTER,
    BEFORE,
    CEAT,
    COMPRESSED,
    COMPRESSED_AS_PUBLISHED,
    COMPRESSED_WITHIN,
    OCCUPATION,
    PROBED,
    READ,
    REPRESENTATION,
    RESTORED,
    Metric,
    Runs,
    Spread,
    Task,
)
from wordbias.statistics import LEAST_PAIRS, Interval, holm
from wordbias.verdicts import RETURNS_OVER_SEEDS, Return, Seeds, decide, smallest_p

FEWEST = 6
"""Smallest number of pairs whose p can be below .05: with n pairs it is at least 2/2ⁿ."""
NAME = "sign-flip permutation test of the mean difference over paired seeds, two-sided"
INTRINSIC = (COMPRESSED, COMPRESSED_WITHIN, CEAT)
STAGES = (BEFORE, AFTER, RESTORED)
OF_VECTORS = (COMPRESSED, COMPRESSED_AS_PUBLISHED, COMPRESSED_WITHIN, PROBED, READ, CEAT)
R_SQUARED = "r-squared"
ALL_RUNS = "all runs"
_KEPT = ("neutral", "better", "classes_measured")

Key = tuple[Metric, str, str, str]


@dataclass(frozen=True)
class Cell:
    """One metric of one strategy."""

    metric: Metric  # key of the cell
    strategy: str
    stage: str
    view: str
    spread: Spread  # mean and standard deviation over seeds
    test: PairedTest | None = None  # test against the strategy without debiasing, if it makes sense
    null_test: PairedTest | None = None  # test against the strategy's random change, if it was run
    reason: str = ""  # reason why the value is undefined


@dataclass(frozen=True, eq=False)
class Summary:
    """Summary of all runs."""

    task: Task
    runs: Runs
    cells: Mapping[Key, Cell] = field(repr=False)  # cells by metric, strategy, stage and view
    # associations on the texts as each strategy rewrites them
    associations: Sequence[Association] = field(repr=False)
    is_corrected: bool = False  # True if tests are corrected for their number

    @classmethod
    def of(cls, rows: Sequence[Row], task: Task = OCCUPATION, *, correct: bool = False) -> Summary:
        """Summarise the rows of all jobs; `correct` p by Holm's method within a stage and view."""
        runs = Runs.of(rows)
        cells: dict[Key, Cell] = {}
        measured = {
            REPRESENTATION: OF_VECTORS,
            **dict.fromkeys((BEFORE, AFTER), task.of_predictions),
        }
        for stage, metrics in measured.items():
            for view in (OWN, ORIGINAL):
                for cell in _cells(runs, metrics, stage, view, correct=correct):
                    cells[cell.metric, cell.strategy, stage, view] = cell
        return cls(task, runs, cells, tuple(associations(runs, task)), correct)

    @property
    def main(self) -> Metric:
        """Gap that verdicts are about."""
        return self.task.main

    @cached_property
    def returns(self) -> Sequence[Returned]:
        """Verdicts on the main gap after retraining, one for each strategy that debiases."""
        return tuple(returns(self))

    def cell(self, metric: Metric, strategy: str, stage: str, view: str = OWN) -> Cell:
        """Return one cell, empty if nothing was measured."""
        key = metric, strategy, stage, view
        return self.cells.get(key) or Cell(*key, Spread(None, None, 0))

    def association(self, x: Metric, y: Metric, stage: str, strategy: str = "") -> Association:
        """Return one association, by default over all runs."""
        return next(
            association
            for association in self.associations
            if (association.x, association.y, association.stage, association.strategy)
            == (x, y, stage, strategy)
        )

    def rows(self) -> list[Row]:
        """Return cells and associations as rows, with `seeds` in place of a seed."""
        means = [self._row(cell) for cell in self.cells.values()]
        back = [self._returned_row(returned) for returned in self.returns]
        return [
            *means,
            *back,
            *(self._association_row(association) for association in self.associations),
        ]

    def _returned_row(self, returned: Returned) -> Row:
        main = self.main
        details: dict[str, Any] = {
            "unit": "seeds",
            "stage": RESTORED,
            "view": OWN,
            "set": main.set,
            "sd": self.runs.spread(main, returned.strategy, RESTORED).sd,
            "n": returned.test.n,
            "seeds": list(self.runs.seeds),
            "neutral": 0,
            "better": "neutral",
            **_test_details(returned.test),
            "verdict": returned.verdict,
        }
        details |= {"correction": "holm"} if self.is_corrected else {}
        return Row(returned.strategy, main.measure, returned.test.difference, details)

    def _row(self, cell: Cell) -> Row:
        metric, strategy, stage, view = cell.metric, cell.strategy, cell.stage, cell.view
        about = self.runs.details(metric, strategy, stage, view)
        details: dict[str, Any] = {
            "unit": "seeds",
            "stage": stage,
            "view": view,
            "set": metric.set,
            "sd": cell.spread.sd,
            "n": cell.spread.n,
            "seeds": list(self.runs.seeds),
            **{key: about[key] for key in _KEPT if key in about},
        }
        for prefix, test in (("", cell.test), ("null_", cell.null_test)):
            if test is not None:
                details |= {f"{prefix}{key}": value for key, value in _test_details(test).items()}
        if cell.null_test is not None:
            details["null"] = self.runs.random_change(strategy)
        if self.is_corrected and (cell.test is not None or cell.null_test is not None):
            details["correction"] = "holm"
        if cell.reason:
            details["reason"] = cell.reason
        return Row(strategy, metric.measure, cell.spread.mean, details)

    def _association_row(self, association: Association) -> Row:
        details: dict[str, Any] = {
            "unit": "runs",
            "x": association.x.measure,
            "x_set": association.x.set,
            "y": association.y.measure,
            "set": association.y.set,
            "stage": association.stage,
            "view": OWN,
            "r": association.r,
            "p": association.p,
            "n": association.n,
            "seeds": list(self.runs.seeds),
            "neutral": 0,
            "better": "neutral",
        }
        if association.reason:
            details["reason"] = association.reason
        return Row(association.strategy or ALL_RUNS, R_SQUARED, association.r2, details)


def _test_details(test: PairedTest) -> dict[str, Any]:
    details: dict[str, Any] = {"p": test.p, "pairs": test.n, "test": NAME}
    details |= {"p_undefined": test.reason} if test.reason else {}
    details["change"] = test.difference
    if test.interval is not None:
        details |= {**change_interval(test.interval), "excluded": test.excluded}
    return details


def _cells(
    runs: Runs, metrics: Sequence[Metric], stage: str, view: str, *, correct: bool
) -> list[Cell]:
    """Return the cells of one stage and view, with tests against none and random changes."""
    subjects = runs.rewritten() if view == ORIGINAL else runs.strategies
    baselines = runs.baselines if stage == REPRESENTATION and view == OWN else ()
    base = runs.base()
    cells = []
    for metric in metrics:
        for name in (*baselines, *subjects):
            if not runs.details(metric, name, stage, view):
                continue
            spread = runs.spread(metric, name, stage, view)
            test = null_test = None
            own, null = (name, stage, view), runs.random_change(name)
            if base is not None and name not in (base, *runs.baselines) and spread.n:
                test = paired_test(*runs.paired(metric, own, (base, stage, OWN)))
            if null is not None and spread.n:
                null_test = paired_test(*runs.paired(metric, own, (null, stage, view)))
            reason = runs.reason(metric, name, stage, view)
            cells.append(Cell(metric, name, stage, view, spread, test, null_test, reason))
    return _corrected(cells) if correct else cells


def _corrected(cells: Sequence[Cell]) -> list[Cell]:
    """Correct the tests against none, and those against random changes, each for their number."""
    tests = with_holm([cell.test for cell in cells])
    null_tests = with_holm([cell.null_test for cell in cells])
    return [
        replace(cell, test=test, null_test=null_test)
        for cell, test, null_test in zip(cells, tests, null_tests, strict=True)
    ]


# paired tests over seeds


class PairedTest(NamedTuple):
    """Paired test of a strategy against another one."""

    p: float | None  # the p-value; None with a `reason` if the test was not made
    n: int  # number of pairs
    reason: str = ""
    difference: float | None = None  # mean difference over the pairs
    interval: Interval | None = None  # its 95 % interval by Student's t; None for one pair
    # the smallest effect that the pairs exclude, see `wordbias.statistics.excluded_effect`
    excluded: float | None = None

    @property
    def is_significant(self) -> bool:
        """True if p is below .05."""
        return Seeds(self.difference or 0.0, self.p).is_clear


def paired_test(values: ArrayLike, base: ArrayLike) -> PairedTest:
    """Test whether a strategy differs from another over seeds, (seeds,), and by how much."""
    # Orgad et al. (2022) put stars at p < .05 and do not name their test. Here it is the exact
    # sign-flip permutation test of the mean difference (Fisher 1935). A seed decides the split, the
    # head and the order of training alike for every strategy; runs of one seed are therefore pairs.
    # The interval takes the differences as normally distributed.
    differences = np.asarray(values, np.float64) - np.asarray(base, np.float64)
    d = differences[np.isfinite(differences)]
    estimates = seed_keys(d)
    mean = float(d.mean()) if len(d) else None
    ends = Interval(estimates["low"], estimates["high"]) if estimates else None
    reason = too_few(len(d)) if len(d) < FEWEST else ""
    p = None if reason else estimates["p"]
    return PairedTest(p, len(d), reason, mean, ends, estimates.get("excluded"))


def too_few(n: int) -> str:
    """Return why so few pairs are not tested."""
    if n == 0:
        return "no seed has both"
    pairs = "pair" if n == 1 else "pairs"
    return f"the smallest p that {n} {pairs} of seeds can have is {smallest_p(n):.3g}"


def with_holm(tests: Sequence[PairedTest | None]) -> list[PairedTest | None]:
    """Correct the tests that were made for their number; see `wordbias.statistics.holm`."""
    corrected = iter(holm([test.p for test in tests if test and test.p is not None]).tolist())
    return [
        test._replace(p=next(corrected)) if test and test.p is not None else test for test in tests
    ]


# what retraining brings back


class Returned(NamedTuple):
    """Test of what retraining changes in the main gap of a strategy, and the verdict on it."""

    strategy: str
    test: PairedTest
    verdict: str
    says: str


def returns(summary: Summary) -> Iterator[Returned]:
    """Judge for each strategy that debiases whether retraining brings the main gap back."""
    # The tests are those of the cells, before and after retraining against no debiasing and against
    # the random change, and that of after against before.
    runs, main, base = summary.runs, summary.main, summary.runs.base()
    if base is None:
        return
    names = [name for name in runs.debiased() if runs.spread(main, name, RESTORED).n]
    tests = [
        paired_test(*runs.paired(main, (name, AFTER, OWN), (name, BEFORE, OWN))) for name in names
    ]
    corrected = with_holm(tests) if summary.is_corrected else tests
    families = _families(summary, len(tests))
    for name, test in zip(names, corrected, strict=True):
        before, after = (summary.cell(main, name, stage) for stage in (BEFORE, AFTER))
        if test is None or before.test is None or after.test is None:
            continue
        null = after.null_test
        least = [smallest_p(test.n, family) for family in families]
        beyond = null is None or (null.is_significant and (null.difference or 0) < 0)
        rule = decide(
            RETURNS_OVER_SEEDS,
            Return(
                Seeds(
                    0.0 if is_turned(summary, name) else before.test.difference or 0.0,
                    before.test.p,
                    least[0],
                ),
                Seeds(test.difference or 0.0, test.p, least[1]),
                Seeds(after.test.difference or 0.0, after.test.p, least[2], beyond),
                restored_share(summary, main, name),
            ),
        )
        yield Returned(name, test, rule.verdict, rule.says)


def _families(summary: Summary, rises: int) -> tuple[int, int, int]:
    """Return with how many tests each of the three of a verdict is corrected."""
    before, after = (
        sum(
            cell.test is not None and cell.test.p is not None
            for cell in summary.cells.values()
            if (cell.stage, cell.view) == (stage, OWN)
        )
        for stage in (BEFORE, AFTER)
    )
    return (before, rises, after) if summary.is_corrected else (1, 1, 1)


def is_turned(summary: Summary, strategy: str) -> bool:
    """Return whether a strategy turned the main gap round, and left as much of it or more."""
    none, before = (
        summary.cell(summary.main, name, BEFORE).spread.mean or 0.0
        for name in (summary.runs.base() or "", strategy)
    )
    return none * before < 0 and abs(before) >= abs(none)


def restored_share(summary: Summary, metric: Metric, strategy: str) -> float | None:
    """Return the share of a gap's reduction by a strategy that retraining undoes."""
    # 0 if retraining changes nothing, 1 if the gap is again that of no debiasing as trained; None
    # if the strategy did not lower the gap.
    base = summary.runs.base()
    if base is None or strategy == base:
        return None
    at = {
        (name, stage): summary.cell(metric, name, stage).spread.mean
        for name in (base, strategy)
        for stage in (BEFORE, AFTER)
    }
    none, before, after = at[base, BEFORE], at[strategy, BEFORE], at[strategy, AFTER]
    if none is None or before is None or after is None or none <= before:
        return None
    if metric == summary.main and is_turned(summary, strategy):
        return None
    return (after - before) / (none - before)


# associations of intrinsic and extrinsic bias


@dataclass(frozen=True)
class Association:
    """Pearson's correlation of an intrinsic and an extrinsic measure over runs."""

    x: Metric  # intrinsic and extrinsic measure
    y: Metric
    stage: str  # stage of `y`: before or after retraining, or the difference
    strategy: str  # strategy of the runs; empty for all strategies
    r: float | None  # correlation and its p; None with a `reason` if undefined
    p: float | None
    n: int  # number of runs that have both
    reason: str = ""

    @property
    def r2(self) -> float | None:
        """Squared correlation."""
        return None if self.r is None else self.r**2


def associate(
    runs: Runs,
    x: Metric,
    y: Metric,
    stage: str,
    strategies: Sequence[str] | None = None,
    view: str = OWN,
) -> Association:
    """Correlate two measures over the runs of some strategies, by default all but random ones."""
    named_x, named_y = (
        (metric.title, runs.every(metric, at, strategies, view))
        for metric, at in ((x, REPRESENTATION), (y, stage))
    )
    pearson = correlation(named_x, named_y, "pearson")
    reason = ""
    if pearson.r is None and pearson.n < LEAST_PAIRS:
        runs_have = "1 run has" if pearson.n == 1 else f"{pearson.n} runs have"
        reason = f"{runs_have} both, needed are {LEAST_PAIRS}"
    elif pearson.r is None:
        reason = (
            f"{pearson.reason.partition(' is constant')[0]} is the same in all {pearson.n} runs"
        )
    name = strategies[0] if strategies and len(strategies) == 1 else ""
    return Association(x, y, stage, name, pearson.r, pearson.p, pearson.n, reason)


def associations(runs: Runs, task: Task, view: str = OWN) -> Iterator[Association]:
    """Yield every association: over all runs, then within each strategy."""
    # Table 2 of Orgad et al. (2022, §4.3) is of squared Pearson correlations over all runs, a point
    # for each strategy and seed. Runs of one strategy are similar: p takes every run for a draw of
    # its own and is too small. The same within each strategy shows the effect of seeds. The paper
    # keeps only the CEAT effects with p < .05; as p of CEAT falls with the number of its draws, all
    # are kept here. The change by retraining is taken over the runs of strategies that debias: the
    # others have nothing to restore. Random changes are in none of them.
    for strategies in ((), *((name,) for name in runs.studied())):
        for x in INTRINSIC:
            for y in task.gaps:
                for stage in STAGES:
                    every = runs.debiased() if stage == RESTORED else None
                    yield replace(
                        associate(runs, x, y, stage, strategies or every, view),
                        strategy=strategies[0] if strategies else "",
                    )
