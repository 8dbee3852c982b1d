"""A family of known measures: what it asks, the values in a table and, on one scale, a picture."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.measures.family import Family
from wordbias.measures.registry import FAMILY_OF, LISTED, SECTIONS
from wordbias.pages.lines import Line, about, asked_about, make_lines, stages_of
from wordbias.pages.section import Figure, Section
from wordbias.pages.views.forest import forest
from wordbias.pages.views.line_table import line_grid
from wordbias.rows import Found, given

_DRAWN = 40
"""Lines in one picture; a table shows them all."""


def claims(row: Found) -> bool:
    """Whether a row is a value of a known measure, not of a single word or layer."""
    return row["measure"] in LISTED and not any(
        given(row, key) for key in ("word", "component", "layer")
    )


def build(rows: Sequence[Found]) -> list[Section]:
    """Make a section of each family."""
    found = []
    for family in SECTIONS:
        lines = make_lines(row for row in rows if FAMILY_OF[row["measure"]] is family)
        if lines:
            found.append(_section(family, lines))
    return found


def _section(family: Family, lines: Sequence[Line]) -> Section:
    asked = asked_about(lines)
    own = [line for line in lines if about(line) == asked]
    others = [line for line in lines if about(line) != asked]
    drawn = [line for line in own if line.values()]
    common = family.common and len(drawn) > 1
    figures = [_figure(family, drawn[:_DRAWN])] if common else []
    title = f"Queries about {asked}: values" if others else "Values"
    grids = [line_grid(own, f"{title} with their 95 % intervals", strips=not common)]
    if others:
        grids.append(line_grid(others, "Queries about something else, and controls", strips=False))
    return Section(
        family.key, family.title, [family.asks], figures, grids, [family.told, family.limits]
    )


def _figure(family: Family, lines: Sequence[Line]) -> Figure:
    subjects = len({line.subject for line in lines}) > 1
    stages = [stage for stage in stages_of(lines) if stage]
    shows = "Each mark is a value, the bar around it its 95 % interval"
    shows += f"; {', '.join(stages)} under each other." if len(stages) > 1 else "."
    title = f"{family.short}, values and intervals"
    return Figure(title, forest(lines, title, shows, subjects=subjects), shows, family.limits)
