"""Squared correlations of the occupation experiment as tables: over all runs, within strategies."""

from __future__ import annotations

from wordbias.biographies.association import INTRINSIC, Association
from wordbias.biographies.runs import AFTER, BEFORE, COMPRESSED, GAPS, Metric
from wordbias.biographies.summary import Summary
from wordbias.commands.bios_cells import in_parts, reasons
from wordbias.rendering import Table, how_many
from wordbias.results import number

PAPER = "as Orgad et al. 2022"
STAGES = {BEFORE: "before", AFTER: "after"}


def association_tables(found: Summary) -> list[Table]:
    """Arrange squared correlations: over all runs, as Table 2, and within each strategy.

    Where none is defined there is no table; `wordbias.biographies.reading` says why.
    """
    made = [_over_all(found, x) for x in INTRINSIC if _defined(found, x)]
    defined = _defined(found, COMPRESSED)
    if not defined:
        return made
    within = [
        (f"{name}, {STAGES[stage]}", [_squared(found, y, stage, name) for y in defined])
        for name in found.runs.strategies
        for stage in stages_of(found)
    ]
    title = "R² of compression and each metric within each strategy, over seeds"
    note = f"− where r < 0; – where undefined. {how_many(len(found.runs.seeds), 'seed')}."
    return made + in_parts(title, ["", *(y.title for y in defined)], within, note)


def _defined(found: Summary, x: Metric) -> list[Metric]:
    """Return the metrics whose correlation with `x` over all runs is defined at some stage."""
    return [
        y
        for y in GAPS
        if any(found.association(x, y, stage).r is not None for stage in stages_of(found))
    ]


def _over_all(found: Summary, x: Metric) -> Table:
    stages = stages_of(found)
    made = {(y, stage): found.association(x, y, stage) for y in GAPS for stage in stages}
    heads = [f"{head} {STAGES[stage]}" for stage in stages for head in ("R²", "r", "p")]
    cells = [
        [y.title, *(cell for stage in stages for cell in _association_cells(made[y, stage]))]
        for y in _defined(found, x)
    ]
    undefined = reasons((one.y, one.reason) for one in made.values() if one.reason)
    counts = sorted({one.n for one in made.values() if one.r is not None})
    ends = " to ".join(str(n) for n in dict.fromkeys(counts[:1] + counts[-1:]))
    n = f"n = {ends} runs. " * bool(counts)
    warning = "Runs of one strategy are alike: p, which takes each for a draw of its own, is too "
    return Table(
        f"{x.title} and extrinsic bias over all runs ({PAPER}, Table 2)",
        ["", *heads],
        cells,
        f"{n}{warning}small. {undefined}".strip(),
    )


def stages_of(found: Summary) -> list[str]:
    """Return the stages at which anything was measured."""
    return [stage for stage in (BEFORE, AFTER) if found.runs.has(stage)]


def _association_cells(one: Association) -> list[str]:
    if one.r is None or one.p is None:
        return ["–", "–", "–"]
    return [number(one.r2, 3), number(one.r, 2), _p(one.p)]


def _p(p: float) -> str:
    return f"{p:.1e}" if 0 < p < 0.001 else f"{p:.3f}"


def _squared(found: Summary, y: Metric, stage: str, strategy: str) -> str:
    one = found.association(COMPRESSED, y, stage, strategy)
    if one.r is None:
        return "–"
    return f"{one.r**2:.3f}{'−' if one.r < 0 else ''}"
