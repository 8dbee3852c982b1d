"""The components that MIDB weighs: their variance, and their contributions before and after."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.pages.lines import FIRST, make_lines, minus, stages_of, value_text
from wordbias.pages.section import Figure, Grid, Markup, Section
from wordbias.pages.svg import WIDTH, Scale, axis, bar, drawing, hovered, label, legend
from wordbias.pages.words import subjects
from wordbias.rendering import Table
from wordbias.results import number
from wordbias.rows import Found, given
from wordbias.verdicts import is_number

VARIANCE = "explained-variance"
CONTRIBUTION = "midb-component"
_NAMES, _STEP, _TOP = 26.0, 30.0, 40.0
_LEFT_END, _GAP = 176.0, 40.0
_NOT_SHOWN = (
    "Along these fixed components the filled bar is (1 − aᵢ) times the pale one by construction. "
    "The components say what the groups’ words differ in, within a group too; whether that is "
    "the difference between the groups is what cos(gᵢ, Δ) tells: near 0, it is something else."
)


def claims_components(row: Found) -> bool:
    """Return whether a row is about a component."""
    return row["measure"] in (VARIANCE, CONTRIBUTION) and given(row, "component")


def component_sections(rows: Sequence[Found]) -> list[Section]:
    """Draw and list the components of every subject, as a part of the section on MIDB."""
    parts = [
        (subject, [row for row in rows if row["subject"] == subject]) for subject in subjects(rows)
    ]
    parts = [(subject, found) for subject, found in parts if _by_component(found, VARIANCE)]
    figures = [_figure(subject, found) for subject, found in parts]
    grids = [_grid(subject, found) for subject, found in parts]
    return [Section("midb", "Components", (), figures, grids)]


def _by_component(rows: Sequence[Found], measure: str, *, after: bool = False) -> dict[int, Found]:
    later = [stage for stage in dict.fromkeys(map(_stage, rows)) if stage not in FIRST]
    return {
        int(row["component"]): row
        for row in rows
        if row["measure"] == measure
        and is_number(row["value"])
        and _stage(row) in (later[:1] if after else FIRST)
    }


def _stage(row: Found) -> str:
    return str(row.get("stage") or "")


def _figure(subject: str, rows: Sequence[Found]) -> Figure:
    weights = _by_component(rows, VARIANCE)
    before, after = (_by_component(rows, CONTRIBUTION, after=done) for done in (False, True))
    bottom = _TOP + _STEP * len(weights)
    end = _LEFT_END if before else WIDTH - 10
    left = Scale(0, _limit(weights), _NAMES, end)
    parts = [
        label(_NAMES, 30, "share of variance aᵢ", class_="axis"),
        axis(left, _TOP - 4, bottom, "", 3),
    ]
    for i, (component, row) in enumerate(weights.items()):
        y = _TOP + _STEP * i
        parts.append(label(_NAMES - 6, y + 17, f"g{component}", anchor="end", class_="name"))
        parts.append(_bar(left, y + 6, 16, row, "bar weight", f"g{component}: variance"))
    if before:
        parts += _contributions(before, after, bottom)
    shows = "Left: the variance that each component explains, which is how much of it MISP removes."
    if before:
        shows += " Right: what it contributes to MIDB, the mean of |aᵢ⟨gᵢ, x⟩| over neutral words."
    title = f"MIDB spectrum of {subject}"
    return Figure(title, drawing(bottom + 24, title, shows, *parts), shows, _NOT_SHOWN)


def _contributions(
    before: dict[int, Found], after: dict[int, Found], bottom: float
) -> list[Markup]:
    right = Scale(0, _limit(before), _LEFT_END + _GAP, WIDTH - 10)
    stages = [("before", "bar before")]
    stages += [(_stage(row), "bar after") for row in list(after.values())[:1]]
    parts = [
        label(_LEFT_END + _GAP, 30, "mean |aᵢ⟨gᵢ, x⟩|", class_="axis"),
        axis(right, _TOP - 4, bottom, "", 3),
        legend([(stage, bar(-5, -4, 10, 8, look)) for stage, look in stages], _LEFT_END + _GAP, 12),
    ]
    for i, component in enumerate(before):
        y = _TOP + _STEP * i
        parts.append(_bar(right, y + 3, 10, before[component], "bar before", "before"))
        if component in after:
            parts.append(_bar(right, y + 14, 10, after[component], "bar after", "after"))
    return parts


def _limit(rows: dict[int, Found]) -> float:
    return max([0.0, *(float(row["value"]) for row in rows.values())]) * 1.05 or 1.0


def _bar(along: Scale, y: float, height: float, row: Found, class_: str, name: str) -> Markup:
    start = along(0.0)
    drawn = bar(start, y, along(float(row["value"])) - start, height, class_)
    return hovered(f"{name}: {value_text(row)}", drawn)


def _grid(subject: str, rows: Sequence[Found]) -> Grid:
    weights = _by_component(rows, VARIANCE)
    lines = {
        int(line.any["component"]): line
        for line in make_lines(row for row in rows if row["measure"] == CONTRIBUTION)
    }
    stages = stages_of(list(lines.values()))
    heads = ["component", "weight aᵢ", "cos(gᵢ, Δ)", "sign stability"]
    heads += [stage or "contribution" for stage in stages]
    cells = []
    for component, row in weights.items():
        known = lines[component].stages if component in lines else {}
        about = (_cell(row, "cos_difference"), _cell(row, "sign_stability"))
        parts = (value_text(known.get(stage), 4) for stage in stages)
        cells.append([f"g{component}", number(row["value"]), *about, *parts])
    note = "Δ is the difference of the groups’ means; below a stability of 0.95 a sign is noise."
    return Grid(Table(f"Components of {subject}", heads, cells, note))


def _cell(row: Found, key: str) -> str:
    return minus(number(float(row[key]), 3)) if is_number(row.get(key)) else "–"
