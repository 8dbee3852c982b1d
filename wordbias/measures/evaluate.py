"""The classic measures by name, each taken on a panel: the row of Dawkins (2021), Table 6.

Parallel evaluation: measures of several embeddings and their chance levels, in many jobs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from wordbias.arrays import aligned
from wordbias.errors import WordbiasError
from wordbias.measures.chance import chance_of, with_chance
from wordbias.measures.family import Family, Key, MeasureInputs
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, STANDARD, TAKEN
from wordbias.measures.sembias import SemBias
from wordbias.results import Row
from wordbias.workers import Workers

FAMILIES = STANDARD


def table_rows(
    panel: Panel,
    only: Collection[str] = FAMILIES,
    *,
    sembias: SemBias | None = None,
    isolated: float = 1.0,
) -> list[Row]:
    """Take the measures of some families, in the order of `wordbias.measures.registry.FAMILIES`.

    Parameters
    ----------
    panel
        What is measured.
    only
        Some of `wordbias.measures.registry.TAKEN`.
    sembias
        The SemBias questions, which are not part of the package.
    isolated
        GIPE's weight of a word that is nobody's neighbour; see `wordbias.measures.gipe.gipe`.

    Raises
    ------
    WordbiasError
        If a family is unknown.
    """
    return rows_of(MeasureInputs(panel, sembias, isolated), only)


def rows_of(inputs: MeasureInputs, only: Collection[str]) -> list[Row]:
    """Take the measures of some families; see `table_rows`."""
    check_families(only)
    rows: list[Row] = []
    for together in families_together(only):
        wanted = {one.name for family in together for one in family.measures}
        taken = together[0].taken
        if taken is not None:
            rows += [row for row in taken().rows(inputs) if row.measure in wanted]
    return rows


def families_together(only: Collection[str]) -> Iterator[list[Family]]:
    """Yield the named families in their order, those that are taken by one function together."""
    left = [BY_KEY[key] for key in TAKEN if key in only]
    while left:
        together = [family for family in left if family.taken is left[0].taken]
        left = [family for family in left if family not in together]
        yield together


def check_families(only: Collection[str]) -> None:
    """Refuse families that there are not.

    Raises
    ------
    WordbiasError
        Naming the first of them, and those there are.
    """
    for family in only:
        if family not in TAKEN:
            raise WordbiasError(f"measure {family!r}: expected some of {', '.join(TAKEN)}")


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
    """Return the rows of every panel, as `wordbias.measures.evaluate.table_rows` does.

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
