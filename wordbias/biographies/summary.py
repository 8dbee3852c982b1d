"""What the runs found: means and spreads over seeds, tests against doing nothing, associations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wordbias.biographies.association import Association, associations
from wordbias.biographies.runs import (
    ACCURATE,
    AFTER,
    BEFORE,
    CEAT,
    COMPRESSED,
    COMPRESSED_AS_PUBLISHED,
    COMPRESSED_WITHIN,
    GAPS,
    PROBED,
    REPRESENTATION,
    Metric,
    Runs,
    Spread,
)
from wordbias.biographies.significance import NAME, PairedTest, compared, with_holm
from wordbias.biographies.strategies import ORIGINAL, OWN
from wordbias.results import Row

OF_VECTORS = (COMPRESSED, COMPRESSED_AS_PUBLISHED, COMPRESSED_WITHIN, PROBED, CEAT)
OF_PREDICTIONS = (ACCURATE, *GAPS)
R_SQUARED = "r-squared"
ALL_RUNS = "all runs"
_STAGES = {REPRESENTATION: OF_VECTORS, BEFORE: OF_PREDICTIONS, AFTER: OF_PREDICTIONS}
_KEPT = ("neutral", "better", "shares_from", "classes_measured")


@dataclass(frozen=True)
class Cell:
    """One metric of one strategy.

    Attributes
    ----------
    metric, strategy, stage, view
        What of.
    spread
        Over seeds.
    test
        Against the strategy that does nothing, if there is a point.
    reason
        Why it is undefined.
    """

    metric: Metric
    strategy: str
    stage: str
    view: str
    spread: Spread
    test: PairedTest | None = None
    reason: str = ""


Key = tuple[Metric, str, str, str]


@dataclass(frozen=True, eq=False)
class Summary:
    """What the runs found.

    Attributes
    ----------
    runs
        Their values.
    cells
        By metric, strategy, stage and view.
    associations
        Of the texts as each strategy writes them.
    is_corrected
        Whether tests are corrected for their number.
    """

    runs: Runs
    cells: Mapping[Key, Cell] = field(repr=False)
    associations: Sequence[Association] = field(repr=False)
    is_corrected: bool = False

    @classmethod
    def of(cls, rows: Sequence[Row], *, correct: bool = False) -> Summary:
        """Summarise the rows of all jobs.

        Parameters
        ----------
        rows
            Those without a seed and a stage are left out.
        correct
            Correct p by Holm's method, for the number of tests of one stage and view.
        """
        runs = Runs.of(rows)
        cells: dict[Key, Cell] = {}
        for stage, metrics in _STAGES.items():
            for view in (OWN, ORIGINAL):
                found = list(_cells(runs, metrics, stage, view))
                cells.update(_tested(runs, found, correct=correct))
        return cls(runs, cells, tuple(associations(runs)), correct)

    def cell(self, metric: Metric, strategy: str, stage: str, view: str = OWN) -> Cell:
        """Return one cell, empty if nothing was measured."""
        key = metric, strategy, stage, view
        return self.cells.get(key) or Cell(*key, Spread(None, None, 0))

    def association(self, x: Metric, y: Metric, stage: str, strategy: str = "") -> Association:
        """Return one association, by default over all runs."""
        return next(
            one
            for one in self.associations
            if (one.x, one.y, one.stage, one.strategy) == (x, y, stage, strategy)
        )

    def rows(self) -> list[Row]:
        """Return everything as rows for machines; they have `seeds` where those of jobs a seed."""
        means = [self._row(cell) for cell in self.cells.values()]
        return [*means, *(self._association_row(one) for one in self.associations)]

    def _row(self, cell: Cell) -> Row:
        metric, strategy, stage, view = cell.metric, cell.strategy, cell.stage, cell.view
        about = self.runs.details(metric, strategy, stage, view)
        details: dict[str, Any] = {
            "over": "seeds",
            "stage": stage,
            "view": view,
            "set": metric.set,
            "sd": cell.spread.sd,
            "n": cell.spread.n,
            "seeds": list(self.runs.seeds),
            **{key: about[key] for key in _KEPT if key in about},
        }
        if cell.test is not None:
            details |= {"p": cell.test.p, "pairs": cell.test.n, "test": NAME}
            details |= {"p_undefined": cell.test.reason} if cell.test.reason else {}
            details |= {"correction": "holm"} if self.is_corrected else {}
        if cell.reason:
            details["reason"] = cell.reason
        return Row(strategy, metric.measure, cell.spread.mean, details)

    def _association_row(self, one: Association) -> Row:
        details: dict[str, Any] = {
            "over": "runs",
            "x": one.x.measure,
            "x_set": one.x.set,
            "y": one.y.measure,
            "set": one.y.set,
            "stage": one.stage,
            "view": OWN,
            "r": one.r,
            "p": one.p,
            "n": one.n,
            "seeds": list(self.runs.seeds),
            "neutral": 0,
            "better": "neutral",
        }
        if one.reason:
            details["reason"] = one.reason
        return Row(one.strategy or ALL_RUNS, R_SQUARED, one.r2, details)


def summary_rows(rows: Sequence[Row], *, correct: bool = False) -> list[Row]:
    """Return means, tests and associations as rows; see `Summary`."""
    return Summary.of(rows, correct=correct).rows()


def _cells(runs: Runs, metrics: Sequence[Metric], stage: str, view: str) -> Iterator[Cell]:
    subjects = runs.rewritten() if view == ORIGINAL else runs.strategies
    baselines = runs.baselines if stage == REPRESENTATION and view == OWN else ()
    for metric in metrics:
        for name in (*baselines, *subjects):
            if runs.details(metric, name, stage, view):
                found = runs.spread(metric, name, stage, view)
                reason = runs.reason(metric, name, stage, view)
                yield Cell(metric, name, stage, view, found, None, reason)


def _tested(runs: Runs, cells: Sequence[Cell], *, correct: bool) -> dict[Key, Cell]:
    """Test every strategy against doing nothing, on the texts that this was measured on."""
    tests = [_test(runs, cell) for cell in cells]
    made = [test for test in tests if test is not None]
    corrected = iter(with_holm(made) if correct else made)
    return {
        (cell.metric, cell.strategy, cell.stage, cell.view): replace(
            cell, test=None if test is None else next(corrected)
        )
        for cell, test in zip(cells, tests, strict=True)
    }


def _test(runs: Runs, cell: Cell) -> PairedTest | None:
    base = runs.base()
    if base is None or cell.strategy in (base, *runs.baselines) or not cell.spread.n:
        return None
    values = runs.column(cell.metric, cell.strategy, cell.stage, cell.view)
    return compared(values, runs.column(cell.metric, base, cell.stage))
