"""A forest plot for a page: values with their intervals under each other along one axis."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.measures.registry import measure_title
from wordbias.pages.lines import Line, interval, is_number, stages_of, value_text
from wordbias.pages.section import Markup
from wordbias.pages.svg import (
    WIDTH,
    Scale,
    axis,
    drawing,
    fitted,
    hovered,
    label,
    legend,
    line,
    mark,
    scale,
)
from wordbias.rows import Found

_STEP = 30.0
_EDGE = 12.0
_FIXED = {
    "": ("after", "circle"),
    "before": ("before", "circle"),
    "after": ("after", "circle"),
    "after, refitted": ("refitted", "diamond"),
}
_SHAPES = ("circle", "square", "diamond")


def look(stage: str, stages: Sequence[str]) -> tuple[str, str]:
    """Return the class and the shape of the mark of one of several stages."""
    if stage in _FIXED:
        return _FIXED[stage]
    columns = [one for one in stages if one not in _FIXED]
    return "after", _SHAPES[columns.index(stage) % len(_SHAPES)]


def forest(lines: Sequence[Line], title: str, text: str, *, subjects: bool = False) -> Markup:
    """Draw a row for each line along one axis, with the neutral value that they share, if any.

    Parameters
    ----------
    lines
        Lines, at least one of which has a value.
    title, text
        Title and description for screen readers.
    subjects
        Name the subject in each row.
    """
    neutral = _neutral(lines)
    known = [value for one in lines if (value := _neutral([one])) is not None]
    along = scale([*known, *(v for one in lines for v in one.values())], _EDGE, WIDTH - _EDGE)
    stages = [stage for stage in stages_of(lines) if stage]
    top = 22.0 if stages else 4.0
    bottom = top + _STEP * len(lines)
    named = [(stage, _symbol(stage, stages)) for stage in stages]
    parts = [legend(named, _EDGE, 13)] if stages else []
    of_each = "dashed: neutral" if known else ""
    parts.append(
        axis(along, top, bottom, of_each if neutral is None else f"dashed: neutral, {neutral:g}")
    )
    several = len({one.measure for one in lines}) > 1
    for i, one in enumerate(lines):
        parts.append(_row(one, along, top + _STEP * i, _row_name(one, subjects, several)))
    return drawing(bottom + 34, title, text, *parts)


def strip(one: Line) -> Markup:
    """Draw one line small, for a table with its numbers."""
    neutral = _neutral([one])
    if not one.values():
        return Markup("")
    along = scale([*one.values(), *([] if neutral is None else [neutral])], 6, 134, 0.08)
    parts = [line(6, 15, 134, 15, "grid")]
    if neutral is not None:
        parts.append(line(along(neutral), 4, along(neutral), 26, "neutral"))
    parts.append(_marks(one, along, 15.0))
    named = f"{measure_title(one.measure)}: {_stages_text(one)}"
    text = "" if neutral is None else f"The upright line is the neutral value, {neutral:g}."
    return drawing(30, named, text, *parts, width=140)


def _neutral(lines: Sequence[Line]) -> float | None:
    """Return the neutral value that all lines share, if they do."""
    known = {one.any.get("neutral") for one in lines}
    value = next(iter(known)) if len(known) == 1 else None
    return float(value) if is_number(value) and value is not None else None


def _stages_text(one: Line) -> str:
    """Write the values of all stages of a line."""
    parts = [(stage, value_text(row)) for stage, row in one.stages.items()]
    return ", ".join(f"{stage} {value}".strip() for stage, value in parts)


def _row_name(one: Line, subjects: bool, measures: bool) -> str:
    """Name a row by the properties that differ between the rows of a picture."""
    title = measure_title(one.measure) if measures or not one.variant else ""
    text = ", ".join(part for part in (title, one.variant) if part)
    return f"{one.subject}: {text}" if subjects else text


def _row(one: Line, along: Scale, top: float, named: str) -> Markup:
    neutral = _neutral([one])
    at = along(neutral) if neutral is not None else 0.0
    return hovered(
        f"{named}: {_stages_text(one)}",
        label(_EDGE, top + 10, fitted(named, WIDTH - 2 * _EDGE), class_="name halo"),
        *([] if neutral is None else [line(at, top + 13, at, top + 28, "neutral")]),
        _marks(one, along, top + 20),
    )


def _marks(one: Line, along: Scale, y: float) -> Markup:
    drawn = [(stage, row) for stage, row in one.stages.items() if is_number(row["value"])]
    offset = {1: 0.0, 2: 3.0, 3: 4.0}.get(len(drawn), 6.0)
    stages = list(one.stages)
    parts = [
        _mark(
            stage,
            stages,
            row,
            along,
            y + offset * (i * 2 - len(drawn) + 1) / max(len(drawn) - 1, 1),
        )
        for i, (stage, row) in enumerate(drawn)
    ]
    return Markup("".join(parts))


def _mark(stage: str, stages: Sequence[str], row: Found, along: Scale, y: float) -> Markup:
    class_, shape = look(stage, stages)
    ends, x = interval(row), along(float(row["value"]))
    whisker = Markup("")
    if ends is not None:
        whisker = line(along(ends[0]), y, along(ends[1]), y, f"whisker {class_}")
    return Markup(whisker + mark(x, y, f"mark {class_}", shape=shape))


def _symbol(stage: str, stages: Sequence[str]) -> Markup:
    class_, shape = look(stage, stages)
    return mark(0, 0, f"mark {class_}", shape=shape)
