"""Several embeddings side by side: a shaded table of their measures."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.measures.registry import FAMILY_OF, full_title
from wordbias.pages.lines import Line, ideal, is_number, make_lines, minus, stages_of
from wordbias.pages.section import Grid, Section
from wordbias.pages.views.family import claims
from wordbias.rendering import Table, how_many
from wordbias.results import number
from wordbias.rows import Found

_SHADES = 9
_MEANING = (
    "The darker a cell, the further it is from the measure’s neutral value, compared with the "
    "furthest in its line; lines without a neutral value are not shaded. Shades do not compare "
    "between lines, and a light cell is not a fair embedding: it is the least biased of those "
    "shown, by that measure."
)


def build(rows: Sequence[Found]) -> list[Section]:
    """Show measures by embeddings, each stage a column; nothing for a single embedding."""
    known = make_lines(row for row in rows if claims(row))
    lines = [ln for ln in known if ln.values() and FAMILY_OF[ln.measure].kind != "change"]
    subjects = list(dict.fromkeys(line.subject for line in lines))
    if len(subjects) < 2:
        return []
    grid = _grid(lines, subjects)
    lead = f"{len(subjects)} embeddings, {how_many(len(grid.table.cells), 'measure')}. {_MEANING}"
    return [Section("matrix", "Embeddings side by side", [lead], (), [grid], _citations(lines))]


def _grid(lines: Sequence[Line], subjects: Sequence[str]) -> Grid:
    heads = [
        (subject, stage)
        for subject in subjects
        for stage in stages_of([line for line in lines if line.subject == subject])
    ]
    by_key = {(line.measure, line.variant, line.subject): line for line in lines}
    cells, shades = [], []
    for measure, variant in dict.fromkeys((line.measure, line.variant) for line in lines):
        across = [_row(by_key.get((measure, variant, subject)), stage) for subject, stage in heads]
        first = next(row for row in across if row is not None)
        cells.append([_named(measure, variant), *map(_cell, across), ideal(first)])
        shades.append([*shaded(across), None])
    names = [f"{subject}, {stage}".strip(", ") for subject, stage in heads]
    table = Table("Measures by embedding", ["measure", *names, "ideal"], cells)
    return Grid(table, (), shades, stacked=False)


def shaded(across: Sequence[Found | None]) -> list[int | None]:
    """Grade the distances of one line from neutral: 0 is neutral, 9 the furthest in the line."""
    known = [_distance(row) for row in across]
    furthest = max((value for value in known if value is not None), default=0.0)
    return [
        None if value is None else round(_SHADES * value / furthest) if furthest else 0
        for value in known
    ]


def _distance(row: Found | None) -> float | None:
    if row is None or not is_number(row["value"]) or not is_number(row.get("neutral")):
        return None
    return abs(float(row["value"]) - float(row["neutral"]))


def _row(line: Line | None, stage: str) -> Found | None:
    return None if line is None else line.stages.get(stage)


def _cell(row: Found | None) -> str:
    return "" if row is None else minus(number(row["value"], 3))


def _named(measure: str, variant: str) -> str:
    named = full_title(measure)
    return f"{named} ({variant})" if variant else named


def _citations(lines: Sequence[Line]) -> list[str]:
    families = dict.fromkeys(FAMILY_OF[line.measure] for line in lines)
    return [f"{family.title}: {family.told}" for family in families]
