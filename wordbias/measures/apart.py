"""The measures of several embeddings, each family of each embedding a job of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from wordbias.arrays import aligned
from wordbias.measures.panel import Panel
from wordbias.measures.sembias import SemBias
from wordbias.measures.table import FAMILIES, check_families, table_rows
from wordbias.results import Row
from wordbias.workers import Workers

_TOGETHER = ({"midb", "direct-bias"},)
"""Families that share most of their work."""
Job = tuple[int, tuple[str, ...]]
"""Which panel, and some families."""


def panel_rows(
    panels: Sequence[Panel],
    only: Collection[str] = FAMILIES,
    *,
    sembias: SemBias | None = None,
    isolated: float = 1.0,
    workers: Workers | None = None,
) -> list[Row]:
    """Return the rows of every panel, as `wordbias.measures.table.table_rows` does.

    Parameters
    ----------
    workers
        Where the measures are taken; the rows are the same wherever that is.

    Raises
    ------
    WordbiasError
        If a family is unknown, or a worker process died.
    """
    check_families(only)
    take = partial(_rows, sembias=sembias, isolated=isolated)
    jobs = [(i, group) for i in range(len(panels)) for group in _groups(only)]
    found = (workers or Workers()).results(take, jobs, "measuring", shared=(panels,))
    return [row for rows in found for row in rows]


def _groups(only: Collection[str]) -> list[tuple[str, ...]]:
    """Share out families, in their order."""
    found: list[tuple[str, ...]] = []
    for family in (family for family in FAMILIES if family in only):
        if found and any({family, *found[-1]} <= group for group in _TOGETHER):
            found[-1] = (*found[-1], family)
        else:
            found.append((family,))
    return found


def _rows(
    panels: Sequence[Panel], job: Job, *, sembias: SemBias | None, isolated: float
) -> list[Row]:
    place, families = job
    return table_rows(_aligned(panels[place]), families, sembias=sembias, isolated=isolated)


def _aligned(panel: Panel) -> Panel:
    """Copy vectors that came over a network to an address at which numpy is quick."""
    embedding, original = panel.embedding, panel.original
    if embedding.vectors.flags.aligned and original.vectors.flags.aligned:
        return panel
    moved = replace(embedding, vectors=aligned(embedding.vectors))
    before = replace(original, vectors=aligned(original.vectors))
    return replace(panel, embedding=moved, original=moved if original is embedding else before)
