"""Evaluation of measures on panels: one panel, or several in parallel with their chance levels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from wordbias.arrays import aligned
from wordbias.errors import WordbiasError, unknown_name
from wordbias.measures.chance import Key, Null, Values, draw_nulls, with_chance
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, SELECTABLE, STANDARD, Family
from wordbias.progress import progress
from wordbias.results import Row
from wordbias.workers import Workers


def rows_of(family: Family) -> Callable[[Panel], list[Row]]:
    """Return the function that evaluates a family on a panel."""
    function: Callable[[Panel], list[Row]] = _function(family.rows)
    return function


def chance_of(family: Family) -> Callable[[Panel, Sequence[Null]], Values] | None:
    """Return the function that evaluates a family along other axes; None if it has none."""
    return _function(family.chance) if family.chance else None


def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(".")
    target: Callable[..., Any] = getattr(import_module(f"wordbias.measures.{module}"), function)
    return target


def evaluate(panel: Panel, only: Collection[str] = STANDARD) -> list[Row]:
    """Evaluate families of measures on a panel, in the order of the table of measures."""
    check_families(only)
    rows: list[Row] = []
    for together in families_together(only):
        wanted = {measure.name for family in together for measure in family.measures}
        rows += [row for row in rows_of(together[0])(panel) if row.measure in wanted]
    return rows


def chance_values(panel: Panel, families: Collection[str]) -> dict[Key, Any]:
    """Evaluate families of measures on a panel's original along axes of no meaning."""
    nulls = draw_nulls(panel)
    chances: dict[Key, Any] = {}
    for together in families_together(families):
        along = chance_of(together[0])
        if along is not None:
            chances |= along(panel, nulls[: together[0].draws])
    return {key: values for key, values in chances.items() if np.isfinite(values).any()}


def families_together(only: Collection[str]) -> Iterator[list[Family]]:
    """Yield the named families in their order, those of the same functions together."""
    left = [BY_KEY[key] for key in SELECTABLE if key in only]
    while left:
        together = [family for family in left if family.rows == left[0].rows]
        left = [family for family in left if family not in together]
        yield together


def check_families(only: Collection[str]) -> None:
    """Refuse unknown families."""
    for family in only:
        if family not in SELECTABLE:
            raise unknown_name("measure", family, SELECTABLE)


def evaluate_each(
    panels: Sequence[Panel],
    only: Collection[str] = STANDARD,
    *,
    workers: Workers | None = None,
) -> Iterator[tuple[int, list[Row]]]:
    """Evaluate families of measures on several panels in parallel; see `evaluate`."""
    check_families(only)
    run = partial(_rows_of, only=only)
    measured = (workers or Workers()).unordered(run, range(len(panels)), shared=(panels,))
    with progress("measuring", len(panels), "embedding") as bar, closing(measured):
        for place, rows in measured:
            yield place, rows
            bar.update(1)


def _rows_of(panels: Sequence[Panel], place: int, *, only: Collection[str]) -> list[Row]:
    return evaluate(_aligned(panels[place]), only)


class Job(NamedTuple):
    """Families to evaluate on one panel: values, chance levels, or both."""

    place: int
    families: tuple[str, ...]
    measured: bool
    chance: bool


def evaluate_panels(
    panels: Sequence[Panel],
    only: Collection[str] = STANDARD,
    *,
    chance: bool = True,
    workers: Workers | None = None,
) -> list[Row]:
    """Evaluate families of measures on several panels, in parallel; see `evaluate`."""
    # Chance levels are computed once for each original, and added to all embeddings that have it.
    check_families(only)
    originals = _originals(panels) if chance else {}
    every = [*panels, *(panel for panel in originals.values() if panel not in panels)]
    jobs = [
        Job(i, group, panel in panels, panel in originals.values())
        for i, panel in enumerate(every)
        for group in (tuple(f.key for f in families) for families in families_together(only))
    ]
    evaluated = (workers or Workers()).results(_run, jobs, "measuring", shared=(every,))
    levels: dict[int, dict[Key, Any]] = {}
    for job, (_, values) in zip(jobs, evaluated, strict=True):
        levels.setdefault(id(every[job.place].original), {}).update(values)
    return [
        row
        for job, (rows, _) in zip(jobs, evaluated, strict=True)
        for row in with_chance(rows, levels[id(every[job.place].original)])
    ]


def refuse_undefined(rows: Sequence[Row]) -> None:
    """Refuse rows without any value: nothing was measured, as with another language."""
    if rows and not any(row.value is not None for row in rows):
        subjects = ", ".join(dict.fromkeys(row.subject for row in rows))
        reason = str(rows[0].details.get("reason", "no value is defined"))
        raise WordbiasError(f"{subjects}: nothing was measured: {reason}")


def _originals(panels: Sequence[Panel]) -> dict[int, Panel]:
    """Return a panel of each original, measured as its own."""
    originals = {id(panel.original): panel for panel in panels if panel.is_own}
    for panel in panels:
        if id(panel.original) not in originals:
            originals[id(panel.original)] = replace(panel, embedding=panel.original)
    return originals


def _run(panels: Sequence[Panel], job: Job) -> tuple[list[Row], dict[Key, Any]]:
    panel = _aligned(panels[job.place])
    rows = evaluate(panel, job.families) if job.measured else []
    return rows, chance_values(panel, job.families) if job.chance else {}


def _aligned(panel: Panel) -> Panel:
    """Copy vectors that came over a network to an address at which numpy is quick."""
    embedding, original = panel.embedding, panel.original
    if embedding.vectors.flags.aligned and original.vectors.flags.aligned:
        return panel
    moved = replace(embedding, vectors=aligned(embedding.vectors))
    before = replace(original, vectors=aligned(original.vectors))
    return replace(panel, embedding=moved, original=moved if original is embedding else before)
