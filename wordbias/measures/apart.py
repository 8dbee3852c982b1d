"""Parallel evaluation: measures of several embeddings and their chance levels, in many jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from wordbias.arrays import aligned
from wordbias.measures.chance import chance_of, with_chance
from wordbias.measures.family import Key, MeasureInputs
from wordbias.measures.panel import Panel
from wordbias.measures.sembias import SemBias
from wordbias.measures.table import FAMILIES, check_families, families_together, rows_of
from wordbias.results import Row
from wordbias.workers import Workers


class Job(NamedTuple):
    """Families to evaluate on one panel: its values, its chance levels, or both."""

    place: int
    families: tuple[str, ...]
    measured: bool
    chance: bool


def panel_rows(
    panels: Sequence[Panel],
    only: Collection[str] = FAMILIES,
    *,
    sembias: SemBias | None = None,
    isolated: float = 1.0,
    chance: bool = True,
    workers: Workers | None = None,
) -> list[Row]:
    """Return the rows of every panel, as `wordbias.measures.table.table_rows` does.

    Parameters
    ----------
    chance
        Add the chance level to each value; see `wordbias.measures.chance`. It is computed once
        for each original, and added to the values of all embeddings that have it.
    workers
        Processes that evaluate the measures; the rows do not depend on them.

    Raises
    ------
    WordbiasError
        If a family is unknown, or a worker process died.
    """
    check_families(only)
    take = partial(_measured, sembias=sembias, isolated=isolated)
    originals = _originals(panels) if chance else {}
    extra = [panel for panel in originals.values() if panel not in panels]
    every = [*panels, *extra]
    jobs = [
        Job(i, group, panel in panels, panel in originals.values())
        for i, panel in enumerate(every)
        for group in (tuple(f.key for f in families) for families in families_together(only))
    ]
    found = (workers or Workers()).results(take, jobs, "measuring", shared=(every,))
    levels: dict[int, dict[Key, Any]] = {}
    for job, (_, values) in zip(jobs, found, strict=True):
        levels.setdefault(id(every[job.place].original), {}).update(values)
    return [
        row
        for job, (rows, _) in zip(jobs, found, strict=True)
        for row in with_chance(rows, levels[id(every[job.place].original)])
    ]


def _originals(panels: Sequence[Panel]) -> dict[int, Panel]:
    """Return a panel of each original, measured as its own."""
    found = {id(panel.original): panel for panel in panels if panel.is_own}
    for panel in panels:
        if id(panel.original) not in found:
            found[id(panel.original)] = replace(panel, embedding=panel.original)
    return found


def _measured(
    panels: Sequence[Panel], job: Job, *, sembias: SemBias | None, isolated: float
) -> tuple[list[Row], dict[Key, Any]]:
    inputs = MeasureInputs(_aligned(panels[job.place]), sembias, isolated)
    rows = rows_of(inputs, job.families) if job.measured else []
    return rows, chance_of(inputs, job.families) if job.chance else {}


def _aligned(panel: Panel) -> Panel:
    """Copy vectors that came over a network to an address at which numpy is quick."""
    embedding, original = panel.embedding, panel.original
    if embedding.vectors.flags.aligned and original.vectors.flags.aligned:
        return panel
    moved = replace(embedding, vectors=aligned(embedding.vectors))
    before = replace(original, vectors=aligned(original.vectors))
    return replace(panel, embedding=moved, original=moved if original is embedding else before)
