"""A forest plot for a page: values with their intervals under each other along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    pass


_STEP = 30.0
_EDGE = 12.0
LOOKS = {
    "": ("after", "circle"),
    "before": ("before", "circle"),
    "after": ("after", "circle"),
    "after, refitted": ("refitted", "diamond"),
}
"""Class and shape of a mark, by stage."""


def forest(lines: Sequence[Line], title: str, text: str, *, subjects: bool = False) -> Markup:
    """Draw one row a line, all along one axis, with their common neutral value if they have one.

    Parameters
    ----------
    lines
        At least one with a value.
    title, text
        Read out to whoever cannot see the picture.
    subjects
        Whether each row names its subject.
    """
    neutral = common_neutral(lines)
    known = [value for one in lines if (value := common_neutral([one])) is not None]
    along = scale([*known, *(v for one in lines for v in one.values())], _EDGE, WIDTH - _EDGE)
    stages = [stage for stage in stages_of(lines) if stage]
    top = 22.0 if stages else 4.0
    bottom = top + _STEP * len(lines)
    parts = [legend([(stage, _symbol(stage)) for stage in stages], _EDGE, 13)] if stages else []
    parts.append(axis(along, top, bottom, _name(neutral, bool(known))))
    several = len({one.measure for one in lines}) > 1
    for i, one in enumerate(lines):
        parts.append(_row(one, along, top + _STEP * i, named(one, subjects, several)))
    return drawing(bottom + 34, title, text, *parts)


def strip(one: Line) -> Markup:
    """Draw one line small, to stand in a table beside its numbers."""
    neutral = common_neutral([one])
    values = [*one.values(), *([] if neutral is None else [neutral])]
    if not one.values():
        return Markup("")
    along = scale(values, 6, 134, 0.08)
    parts = [line(6, 15, 134, 15, "grid")]
    if neutral is not None:
        parts.append(line(along(neutral), 4, along(neutral), 26, "neutral"))
    parts += [_marks(one, along, 15.0)]
    named = f"{measure_title(one.measure)}: {said(one)}"
    return drawing(30, named, _about(neutral), *parts, width=140)


def common_neutral(lines: Sequence[Line]) -> float | None:
    """Return the neutral value that all lines share, if they do."""
    known = {one.any.get("neutral") for one in lines}
    value = next(iter(known)) if len(known) == 1 else None
    return float(value) if is_number(value) and value is not None else None


def said(one: Line) -> str:
    """Say all stages of a line in one sentence's part."""
    told = [(stage, value_text(row)) for stage, row in one.stages.items()]
    return ", ".join(f"{stage} {value}".strip() for stage, value in told)


def named(one: Line, subjects: bool, measures: bool) -> str:
    """Name a row by what the rows of a picture differ in."""
    title = measure_title(one.measure) if measures or not one.variant else ""
    text = ", ".join(part for part in (title, one.variant) if part)
    return f"{one.subject}: {text}" if subjects else text


def _name(neutral: float | None, known: bool) -> str:
    if neutral is None:
        return "dashed: neutral" if known else ""
    return f"dashed: neutral, {neutral:g}"


def _about(neutral: float | None) -> str:
    return "" if neutral is None else f"The upright line is the neutral value, {neutral:g}."


def _row(one: Line, along: Scale, top: float, named: str) -> Markup:
    neutral = common_neutral([one])
    at = along(neutral) if neutral is not None else 0.0
    return hovered(
        f"{named}: {said(one)}",
        label(_EDGE, top + 10, fitted(named, WIDTH - 2 * _EDGE), class_="name halo"),
        *([] if neutral is None else [line(at, top + 13, at, top + 28, "neutral")]),
        _marks(one, along, top + 20),
    )


def _marks(one: Line, along: Scale, y: float) -> Markup:
    drawn = [(stage, row) for stage, row in one.stages.items() if is_number(row["value"])]
    offset = {1: 0.0, 2: 3.0, 3: 4.0}.get(len(drawn), 0.0)
    parts = [
        _mark(stage, row, along, y + offset * (i * 2 - len(drawn) + 1) / max(len(drawn) - 1, 1))
        for i, (stage, row) in enumerate(drawn)
    ]
    return Markup("".join(parts))


def _mark(stage: str, row: Found, along: Scale, y: float) -> Markup:
    class_, shape = LOOKS[stage]
    ends, x = interval(row), along(float(row["value"]))
    whisker = Markup("")
    if ends is not None:
        whisker = line(along(ends[0]), y, along(ends[1]), y, f"whisker {class_}")
    return Markup(whisker + mark(x, y, f"mark {class_}", shape=shape))


def _symbol(stage: str) -> Markup:
    class_, shape = LOOKS[stage]
    return mark(0, 0, f"mark {class_}", shape=shape)
