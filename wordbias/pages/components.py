"""The components that MIDB weighs: their variance, and their contributions before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wordbias.pages.lines import FIRST, make_lines, minus, stages_of, value_text
from wordbias.pages.panel import Bar, Look, Panel, Row
from wordbias.pages.section import Figure, Grid, Section
from wordbias.pages.svg import panel_picture
from wordbias.pages.words import subjects
from wordbias.rendering import Table
from wordbias.results import number
from wordbias.rows import Found, given
from wordbias.verdicts import is_number

VARIANCE = "explained-variance"
CONTRIBUTION = "midb-component"
_BESIDE = 30.0  # units that the names of components take
_NOT_SHOWN = (
    "Along these fixed components the filled bar is (1 − aᵢ) times the pale one by construction. "
    "The components are directions in which the groups’ words differ, also within a group. cos(gᵢ, "
    "Δ) tells whether a component is the difference between the groups: near 0, it is something "
    "else."
)


def claims_components(row: Found) -> bool:
    """Return whether a row is about a component."""
    return row["measure"] in (VARIANCE, CONTRIBUTION) and given(row, "component")


def component_sections(rows: Sequence[Found]) -> list[Section]:
    """Draw and list the components of every subject, as a part of the section on MIDB."""
    parts = [
        (subject, [row for row in rows if row["subject"] == subject]) for subject in subjects(rows)
    ]
    parts = [(subject, own) for subject, own in parts if _by_component(own, VARIANCE)]
    figures = [_figure(subject, own) for subject, own in parts]
    grids = [_grid(subject, own) for subject, own in parts]
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
    shows = "Left: the variance that each component explains; MISP removes this share of it."
    if before:
        shows += " Right: what it contributes to MIDB, the mean of |aᵢ⟨gᵢ, x⟩| over neutral words."
    title = f"MIDB spectrum of {subject}"
    names = [f"g{component}" for component in weights]
    marks = [("before", Look("bar before", "bar"))]
    marks += [(_stage(row), Look("bar after", "bar")) for row in [*after.values()][:1]]
    left = bar_panel("share of variance aᵢ", names, {"bar weight": weights}, _BESIDE)
    right = bar_panel("mean |aᵢ⟨gᵢ, x⟩|", names, {"bar before": before, "bar after": after})
    left = replace(left, legend=marks if before else ())
    picture = panel_picture(left, title, shows, right=right if before else None)
    return Figure(title, picture, shows, _NOT_SHOWN)


def bar_panel(
    x: str, names: Sequence[str], series: Mapping[str, dict[int, Found]], beside: float = 0.0
) -> Panel:
    """Describe bars from 0, a row for each component, and in it a bar for each series."""
    series = {css: by_component for css, by_component in series.items() if by_component}
    high = 0.7 / max(len(series), 1)
    bars = [
        Bar(0.0, float(row["value"]), top, top + high * 0.95, css, text=text)
        for k, (css, by_component) in enumerate(series.items())
        for i, (component, row) in enumerate(by_component.items())
        for top in [i + 0.15 + k * high]
        for text in [f"g{component}, {css.split()[-1]}: {value_text(row)}"]
    ]
    limit = max([0.0, *(bar.high for bar in bars)]) * 1.05 or 1.0
    rows = [Row(name if beside else "", i, i + 1) for i, name in enumerate(names)]
    return Panel(bars=bars, rows=rows, x=x, ends=(0.0, limit), beside=beside)


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
