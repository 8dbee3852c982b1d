"""Cells of the occupation experiment, and tables that are cut into parts that fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wordbias.biographies.runs import Metric
from wordbias.biographies.significance import EXACT, LEVEL, NAME, too_few
from wordbias.biographies.strategies import OWN
from wordbias.biographies.summary import Cell, Summary
from wordbias.rendering import Table
from wordbias.results import number

WIDTH = 100


def by_strategy(
    found: Summary,
    title: str,
    lines: Sequence[tuple[Metric, str, str]],
    columns: Sequence[tuple[str, str, str]] = (),
) -> list[Table]:
    """Draw a line for each metric and a column for each strategy, in tables that fit.

    Lines of which nothing is defined are left out, and named below.
    """
    columns = columns or [(name, name, OWN) for name in found.runs.strategies]
    made = [
        (label, [found.cell(metric, name, stage, view) for _, name, view in columns])
        for metric, stage, label in lines
    ]
    kept = [(label, cells) for label, cells in made if any(cell.spread.n for cell in cells)]
    texts = [
        (head, [drawn(cells[i]) for _, cells in kept]) for i, (head, _, _) in enumerate(columns)
    ]
    note = note_of(found, [cell for _, cells in made for cell in cells])
    return in_parts(title, ["", *(label for label, _ in kept)], texts, note)


def in_parts(
    title: str, first: Sequence[str], columns: Sequence[tuple[str, list[str]]], note: str
) -> list[Table]:
    """Return tables with as many of the columns as fit, each beginning with the first one."""
    room = WIDTH - 2 - max(map(len, first))
    chunks: list[list[tuple[str, list[str]]]] = []
    left = 0
    for name, cells in columns:
        width = 2 + max(map(len, (name, *cells)))
        if width > left or not chunks:
            chunks.append([])
            left = room
        chunks[-1].append((name, cells))
        left -= width
    made = []
    for i, chunk in enumerate(chunks, 1):
        part = f", part {i} of {len(chunks)}" if len(chunks) > 1 else ""
        lines = zip(first[1:], *(cells for _, cells in chunk), strict=True)
        heads = [first[0], *(name for name, _ in chunk)]
        said = note if i == len(chunks) else ""
        made.append(Table(title + part, heads, list(map(list, lines)), said))
    return made


def drawn(cell: Cell) -> str:
    """Write mean ± standard deviation, with a star where a strategy differs from none."""
    mean, sd, _ = cell.spread
    if mean is None:
        return "–"
    star = "*" if cell.test is not None and cell.test.is_significant else ""
    return number(mean, 3) + (f" ± {sd:.3f}" if sd is not None else "") + star


def note_of(found: Summary, cells: Sequence[Cell]) -> str:
    """Say what the cells are: over how many seeds, what a star means, what is undefined why."""
    seeds = len(found.runs.seeds)
    parts = [f"Mean ± sd (n − 1) over {seeds} seeds." if seeds > 1 else "One seed."]
    tests = [cell.test for cell in cells if cell.test is not None]
    made = [test for test in tests if test.p is not None]
    if made:
        holm = ", corrected by Holm's method" if found.is_corrected else ""
        exact = "exact " * all(test.n <= EXACT for test in made)
        parts.append(f"* p < {LEVEL:g} against none, {exact}{NAME}{holm}.")
    elif tests:
        parts.append(f"No stars: {too_few(max(test.n for test in tests))}.")
    fewer = sorted({cell.metric.title for cell in cells if 0 < cell.spread.n < seeds})
    if fewer:
        parts.append(f"Of fewer seeds: {', '.join(fewer)}.")
    parts.append(reasons((cell.metric, cell.reason) for cell in cells if cell.reason))
    return " ".join(parts).strip()


def reasons(undefined: Iterable[tuple[Metric, str]]) -> str:
    """Name the metrics that are undefined, by reason."""
    by_reason: dict[str, dict[str, None]] = {}
    for metric, reason in undefined:
        said = reason.removeprefix("undefined: ").partition("; ")[0].rstrip(".")
        by_reason.setdefault(said, {})[metric.title] = None
    parts = [f"{', '.join(titles)} ({reason})" for reason, titles in by_reason.items()]
    return f"Undefined: {'; '.join(parts)}." if parts else ""
