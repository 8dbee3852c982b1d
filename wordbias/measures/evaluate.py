"""Evaluation of measures on panels: one panel, or several in parallel with their chance levels."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from wordbias.arrays import aligned
from wordbias.errors import WordbiasError, unknown_name
from wordbias.measures.chance import chance_of, with_chance
from wordbias.measures.family import Family, Key, MeasureInputs
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, SELECTABLE, STANDARD
from wordbias.measures.sembias import SemBias
from wordbias.progress import progress
from wordbias.results import Row
from wordbias.workers import Workers


def evaluate(
    panel: Panel,
    only: Collection[str] = STANDARD,
    *,
    sembias: SemBias | None = None,
    isolated: float = 1.0,
) -> list[Row]:
    """Evaluate families of measures on a panel, in the order of the table of measures.

    Parameters
    ----------
    panel
        Embedding to measure, with its original.
    only
        Families, some of `wordbias.measures.registry.SELECTABLE`.
    sembias
        Questions of SemBias, which are not part of the package.
    isolated
        GIPE's weight of a word that is nobody's neighbour; see `wordbias.measures.gipe.gipe`.

    Raises
    ------
    WordbiasError
        If a family is unknown.
    """
    return evaluate_inputs(MeasureInputs(panel, sembias, isolated), only)


def evaluate_inputs(inputs: MeasureInputs, only: Collection[str]) -> list[Row]:
    """Evaluate families of measures; see `evaluate`."""
    check_families(only)
    rows: list[Row] = []
    for together in families_together(only):
        wanted = {one.name for family in together for one in family.measures}
        load = together[0].evaluator
        if load is not None:
            rows += [row for row in load().rows(inputs) if row.measure in wanted]
    return rows


def families_together(only: Collection[str]) -> Iterator[list[Family]]:
    """Yield the named families in their order, those with the same evaluator together."""
    left = [BY_KEY[key] for key in SELECTABLE if key in only]
    while left:
        together = [family for family in left if family.evaluator is left[0].evaluator]
        left = [family for family in left if family not in together]
        yield together


def check_families(only: Collection[str]) -> None:
    """Refuse unknown families.

    Raises
    ------
    UsageError
        With the first of them, and the known ones.
    """
    for family in only:
        if family not in SELECTABLE:
            raise unknown_name("measure", family, SELECTABLE)


def evaluate_each(
    panels: Sequence[Panel],
    only: Collection[str] = STANDARD,
    *,
    sembias: SemBias | None = None,
    isolated: float = 1.0,
    workers: Workers | None = None,
) -> Iterator[tuple[int, list[Row]]]:
    """Evaluate families of measures on several panels in parallel; see `evaluate`.

    Yields
    ------
    int
        Place of a panel, in the order in which they are finished.
    list of Row
        Its rows.

    Raises
    ------
    WordbiasError
        If a family is unknown, or a worker process died.
    """
    check_families(only)
    run = partial(_rows_of, only=only, sembias=sembias, isolated=isolated)
    found = (workers or Workers()).unordered(run, range(len(panels)), shared=(panels,))
    with progress("measuring", len(panels), "embedding") as bar, closing(found):
        for place, rows in found:
            yield place, rows
            bar.update(1)


def _rows_of(
    panels: Sequence[Panel],
    place: int,
    *,
    only: Collection[str],
    sembias: SemBias | None,
    isolated: float,
) -> list[Row]:
    return evaluate(_aligned(panels[place]), only, sembias=sembias, isolated=isolated)


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
    sembias: SemBias | None = None,
    isolated: float = 1.0,
    chance: bool = True,
    workers: Workers | None = None,
) -> list[Row]:
    """Evaluate families of measures on several panels, in parallel; see `evaluate`.

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
    run = partial(_run, sembias=sembias, isolated=isolated)
    originals = _originals(panels) if chance else {}
    every = [*panels, *(panel for panel in originals.values() if panel not in panels)]
    jobs = [
        Job(i, group, panel in panels, panel in originals.values())
        for i, panel in enumerate(every)
        for group in (tuple(f.key for f in families) for families in families_together(only))
    ]
    found = (workers or Workers()).results(run, jobs, "measuring", shared=(every,))
    levels: dict[int, dict[Key, Any]] = {}
    for job, (_, values) in zip(jobs, found, strict=True):
        levels.setdefault(id(every[job.place].original), {}).update(values)
    return [
        row
        for job, (rows, _) in zip(jobs, found, strict=True)
        for row in with_chance(rows, levels[id(every[job.place].original)])
    ]


def refuse_undefined(rows: Sequence[Row]) -> None:
    """Refuse rows of which none has a value: nothing was measured, as with another language.

    Raises
    ------
    WordbiasError
        With the reason of the first row.
    """
    if rows and not any(row.value is not None for row in rows):
        subjects = ", ".join(dict.fromkeys(row.subject for row in rows))
        reason = str(rows[0].details.get("reason", "no value is defined"))
        raise WordbiasError(f"{subjects}: nothing was measured: {reason}")


def _originals(panels: Sequence[Panel]) -> dict[int, Panel]:
    """Return a panel of each original, measured as its own."""
    found = {id(panel.original): panel for panel in panels if panel.is_own}
    for panel in panels:
        if id(panel.original) not in found:
            found[id(panel.original)] = replace(panel, embedding=panel.original)
    return found


def _run(
    panels: Sequence[Panel], job: Job, *, sembias: SemBias | None, isolated: float
) -> tuple[list[Row], dict[Key, Any]]:
    inputs = MeasureInputs(_aligned(panels[job.place]), sembias, isolated)
    rows = evaluate_inputs(inputs, job.families) if job.measured else []
    return rows, chance_of(inputs, job.families) if job.chance else {}


def _aligned(panel: Panel) -> Panel:
    """Copy vectors that came over a network to an address at which numpy is quick."""
    embedding, original = panel.embedding, panel.original
    if embedding.vectors.flags.aligned and original.vectors.flags.aligned:
        return panel
    moved = replace(embedding, vectors=aligned(embedding.vectors))
    before = replace(original, vectors=aligned(original.vectors))
    return replace(panel, embedding=moved, original=moved if original is embedding else before)
