"""Forest plots: values with their intervals under each other, on a page also small, in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from wordbias.measures.registry import measure_title
from wordbias.pages.lines import FIRST, Line, known_values, stages_of, value_text
from wordbias.pages.panel import SERIES, SHAPES, Bar, Dot, Look, Panel, Path, Row
from wordbias.pages.section import Markup
from wordbias.pages.svg import NAME_HEIGHT, legend_picture, panel_picture
from wordbias.rows import Found
from wordbias.verdicts import chance_ends, interval, is_number

_APART = 8.0  # between the marks of two stages
_STRIP = 140.0
_KNOWN = Look("known", "stroke")


def look(stage: str, stages: Sequence[str]) -> Look:
    """Return the look of a stage's mark, by its place among the later stages."""
    if stage == "before":
        return Look("before")
    if stage == "after, refitted":
        return Look("refitted", "diamond")
    later = [other for other in stages if other not in FIRST and other != "after, refitted"]
    laps, place = divmod(later.index(stage) if stage in later else 0, len(SHAPES))
    return Look(SERIES[place], SHAPES[(place + laps) % len(SHAPES)])


Values = Mapping[str, Found]
"""Result rows of one row of a forest plot, by the series that gives each its look."""


def forest_panel(
    rows: Sequence[tuple[str, str, Values]],
    looks: Mapping[str, Look],
    height: Callable[[str], float],
    slot: float,
    *,
    chance: bool = True,
) -> Panel:
    """Describe values with their intervals under each other along one axis."""
    # A series has the same place in each row.
    series, top = list(looks), 0.0
    named: list[Row] = []
    dots: list[Dot] = []
    paths: list[Path] = []
    bars: list[Bar] = []
    for name, text, values in rows:
        bottom = top + height(name)
        named.append(Row(name, top, bottom, text))
        ranges = {key: ends for key, row in values.items() if chance and (ends := chance_ends(row))}
        shared = len({*ranges.values()}) == 1
        for stage, row in values.items():
            y = (top + bottom) / 2 + slot * (series.index(stage) - (len(series) - 1) / 2)
            if stage in ranges:
                low, high = ranges[stage]
                first, last = (top, bottom) if shared else (y - slot / 2, y + slot / 2)
                bars.append(Bar(low, high, first, last))
            if is_number(row.get("neutral")):
                paths.append(Path(((row["neutral"], top), (row["neutral"], bottom)), "neutral"))
            around = interval(row)
            whisker = None if around is None else ((around[0], y), (around[1], y))
            dots.append(Dot((float(row["value"]), y), looks[stage], whisker))
        top = bottom
    return Panel(dots, list(dict.fromkeys(paths)), list(dict.fromkeys(bars)), named)


def forest(lines: Sequence[Line], title: str, text: str, *, subjects: bool = False) -> Markup:
    """Draw a row for each line along one axis, with the neutral value that they share, if any."""
    neutral = _neutral(lines)
    known = any(_neutral([any_line]) is not None for any_line in lines)
    stages = stages_of(lines)
    several = len({any_line.measure for any_line in lines}) > 1
    rows = []
    for line in lines:
        named = _row_name(line, subjects, several)
        values = {stage: row for stage, row in line.stages.items() if is_number(row["value"])}
        rows.append((named, f"{named}: {_stages_text(line)}", values))
    count = len([stage for stage in stages if stage])
    step = Panel.step + _APART * max(0, count - 3)
    looks = {stage: look(stage, stages) for stage in stages}
    slot = _apart(count) / (step - NAME_HEIGHT)
    panel = forest_panel(rows, looks, lambda name: 1.0, slot, chance=False)
    of_each = "dashed: neutral" if known else ""
    panel = replace(
        panel,
        x=of_each if neutral is None else f"dashed: neutral, {neutral:g}",
        legend=[(stage, looks[stage]) for stage in stages if stage],
        step=step,
    )
    return panel_picture(panel, title, text)


def _apart(count: int) -> float:
    """Return how far the marks of so many stages are from each other."""
    return _APART if count > 3 else 6.0 if count == 2 else 4.0


def strip(line: Line, stages: Sequence[str]) -> Markup:
    """Draw one line small, for a table with its numbers."""
    # A band is the range of chance, the dashed line the neutral value, and small strokes on the
    # axis the values of embeddings that people know.
    values = {stage: row for stage, row in line.stages.items() if is_number(row["value"])}
    if not values:
        return Markup("")
    neutral, known, levels = _neutral([line]), known_values(line.first), chance_ends(line.any) or ()
    step = 8.0 + _APART * len(values)
    looks = {stage: look(stage, stages) for stage in values}
    panel = forest_panel([("", "", values)], looks, lambda name: 1.0, _apart(len(values)) / step)
    strokes = [
        Dot((value, 1.0), _KNOWN, text=f"{name}: {value_text({'value': value})}")
        for name, value in known.items()
    ]
    panel = replace(panel, dots=[*strokes, *panel.dots], step=step)
    named = f"{measure_title(line.measure)}: {_stages_text(line)}"
    return panel_picture(panel, named, _strip_text(neutral, known, levels), width=_STRIP)


def strip_legend(lines: Sequence[Line], stages: Sequence[str]) -> Markup:
    """Name the marks of `strip`."""
    entries = [(stage, look(stage, stages)) for stage in stages if stage]
    if any(chance_ends(line.any) for line in lines):
        entries.append(("chance", Look("chance", "bar")))
    if any(_neutral([line]) is not None for line in lines):
        entries.append(("neutral", Look("neutral", "stroke")))
    if any(known_values(line.first) for line in lines):
        entries.append(("known embeddings", _KNOWN))
    return legend_picture(entries) if len(entries) > 1 else Markup("")


def _strip_text(neutral: float | None, known: Mapping[str, float], levels: Sequence[float]) -> str:
    """Describe the lines of a strip for screen readers."""
    parts = [] if neutral is None else [f"The dashed line is the neutral value, {neutral:g}."]
    if levels:
        parts.append(
            f"The band is chance, {value_text({'value': levels[0]})} to "
            f"{value_text({'value': levels[1]})}."
        )
    if known:
        values = ", ".join(
            f"{name} {value_text({'value': value})}" for name, value in known.items()
        )
        parts.append(f"Strokes are known embeddings: {values}.")
    return " ".join(parts)


def _neutral(lines: Sequence[Line]) -> float | None:
    """Return the neutral value that all lines share, if they do."""
    known = {line.any.get("neutral") for line in lines}
    value = next(iter(known)) if len(known) == 1 else None
    return float(value) if is_number(value) and value is not None else None


def _stages_text(line: Line) -> str:
    """Write the values of all stages of a line."""
    parts = [(stage, value_text(row)) for stage, row in line.stages.items()]
    return ", ".join(f"{stage} {value}".strip() for stage, value in parts)


def _row_name(line: Line, subjects: bool, measures: bool) -> str:
    """Name a row by the properties that differ between the rows of a picture."""
    title = measure_title(line.measure) if measures or not line.variant else ""
    text = ", ".join(part for part in (title, line.variant) if part)
    return f"{line.subject}: {text}" if subjects else text
