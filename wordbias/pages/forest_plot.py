"""A forest plot in matplotlib: each value with its interval, beside chance and neutral value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wordbias.errors import WordbiasError
from wordbias.measures.lean import TOLD
from wordbias.pages.forest import forest_panel, look
from wordbias.pages.lines import make_lines
from wordbias.pages.panel import SERIES, Look, Panel
from wordbias.pages.plots import draw_legend, draw_panel, draw_panels, row_lines
from wordbias.rows import Found, given
from wordbias.verdicts import chance_ends, interval, is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

_MOST_LINES = 80
"""Largest number of lines that are drawn."""
_RATIO = 4.0
"""Largest ratio between the values of two measures in the same panel."""
_FIGURE, _AXIS = 7.5, 0.42  # inches: the width of all, the height of an axis
_TEXT, _SERIES, _SPACE = 0.15, 0.13, 0.12  # inches: a line of a label, a value, the space between


@dataclass(frozen=True)
class _Mark:
    """One value, the line on which it is drawn, and the series that gives its colour."""

    line: str
    series: str
    row: Found
    shared: str = ""
    """Common name of all lines, if each line is a subject."""

    def size(self) -> float:
        """Return the largest absolute value among the value, its interval and its chance range."""
        ends = *(interval(self.row) or ()), *(chance_ends(self.row) or ())
        return max(abs(float(x)) for x in (self.row["value"], *ends))


def forest_plot(report: Report, ax: Axes | None = None) -> Axes:
    """Draw a line for each measure and setting, in a colour for each subject and stage."""
    # Panels are inset into given axes.
    marks = _marks(drawn_rows([row.to_dict() for row in report.rows]))
    lines = _lines_of(marks)
    marks = [mark for mark in marks if mark.line in lines[:_MOST_LINES]]
    looks = _looks(marks)
    panels = [_panel(of_size, looks) for of_size in _of_one_size(marks)]
    heights = [panel.rows[-1].bottom for panel in panels]

    def draw(axes: list[Axes]) -> None:
        parts = list(_below(axes[0], heights)) if len(panels) > 1 else axes
        for part, panel in zip(parts, panels, strict=True):
            draw_panel(part, panel)
        if len(lines) > _MOST_LINES:
            parts[-1].set_xlabel(f"the first {_MOST_LINES} of {len(lines)} lines", loc="left")
        _legend(axes[0], marks, looks, outside=ax is None)

    size = (_FIGURE, 0.5 + sum(heights) + _AXIS * len(heights))
    return draw_panels(ax, size, report.title, draw)


def drawn_rows(rows: Sequence[Found]) -> list[Found]:
    """Return the rows that a forest plot shows."""
    # Left out are rows without a value, values that grow with the length of the vectors where this
    # was changed, and rows of single words, unless the report is about words.
    known = [row for row in rows if is_number(row["value"]) and not given(row, "length_ratio")]
    whole = [row for row in known if not given(row, "word")]
    if any(row["measure"] != TOLD for row in whole):
        return whole
    if not known:
        raise WordbiasError(
            "no value to draw in this report; its notes and --format json say why values are "
            "undefined"
        )
    return [row for row in known if given(row, "word")] or known


def _marks(rows: Sequence[Found]) -> list[_Mark]:
    """Put each value on a line, named by its measure, if there are several, and its setting."""
    several = len({row["measure"] for row in rows}) > 1
    subjects = {row["subject"] for row in rows}
    placed: dict[tuple[str, str], int] = {}
    marks = []
    for line in make_lines(rows):
        parts = [f"{key} {line.any[key]}" for key in ("component", "layer") if given(line.any, key)]
        parts += [str(line.any["word"])] if given(line.any, "word") else []
        variant = ", ".join(filter(None, [line.variant, *parts]))
        name = f"{line.measure} ({variant})" if several and variant else variant or line.measure
        times = placed[line.subject, name] = placed.get((line.subject, name), 0) + 1
        name = f"{name} ({times})".strip() if times > 1 else name
        for stage, row in line.stages.items():
            own = ", ".join(filter(None, [line.subject if len(subjects) > 1 else "", stage]))
            marks.append(_Mark(name, own, row))
    if len(_lines_of(marks)) == 1 and len(subjects) > 1:
        return [
            _Mark(mark.series, "", mark.row, "" if mark.line == mark.row["measure"] else mark.line)
            for mark in marks
        ]
    if len({mark.series for mark in marks}) > len(SERIES):
        return [_Mark(f"{mark.series}: {mark.line}", "", mark.row) for mark in marks]
    return marks


def _lines_of(marks: Sequence[_Mark]) -> list[str]:
    return list(dict.fromkeys(mark.line for mark in marks))


def _of_one_size(marks: Sequence[_Mark]) -> list[list[_Mark]]:
    """Group measures whose values are of about one size; a family is not divided."""
    families: dict[str, list[_Mark]] = {}
    for mark in marks:
        families.setdefault(mark.row["measure"].partition("-")[0], []).append(mark)
    panels: list[tuple[float, float, list[_Mark]]] = []
    for family in families.values():
        size = max(mark.size() for mark in family)
        for i, (low, high, panel) in enumerate(panels):
            low, high = min(low, size), max(high, size)
            if high <= _RATIO * low:
                panels[i] = low, high, [*panel, *family]
                break
        else:
            panels.append((size, size, family))
    return [panel for _, _, panel in panels]


def _looks(marks: Sequence[_Mark]) -> dict[str, Look]:
    """Return the look of each series: that of its stage, or a colour for each subject."""
    series = list(dict.fromkeys(mark.series for mark in marks))
    if {mark.series for mark in marks} <= {str(mark.row.get("stage") or "") for mark in marks}:
        return {stage: look(stage, series) for stage in series}
    return {name: Look(css) for name, css in zip(series, SERIES, strict=False)}


def _panel(marks: Sequence[_Mark], looks: Mapping[str, Look]) -> Panel:
    """Describe the values of one size, titled by the measure that no line names."""
    lines = _lines_of(marks)
    rows = [
        (line, "", {mark.series: mark.row for mark in marks if mark.line == line}) for line in lines
    ]
    space = _SERIES * len(looks)
    panel = forest_panel(
        rows, looks, lambda name: max(_TEXT * len(row_lines(name)), space) + _SPACE, _SERIES
    )
    measures = list({str(mark.row["measure"]) for mark in marks})
    if len(measures) > 1 or any(measures[0] in line for line in lines):
        return panel
    shared = {mark.shared for mark in marks}
    title = [measures[0], *(shared if len(shared) == 1 else ())]
    return replace(panel, title=": ".join(filter(None, title)))


def _below(axes: Axes, heights: Sequence[float]) -> Iterator[Axes]:
    """Divide axes into panels, one below the other, with space for the axis of each."""
    axes.set_axis_off()
    total, top = sum(heights) + _AXIS * (len(heights) - 1), 1.0
    for height in heights:
        yield axes.inset_axes((0.0, top - height / total, 1.0, height / total))
        top -= (height + _AXIS) / total


def _legend(
    axes: Axes, marks: Sequence[_Mark], looks: Mapping[str, Look], *, outside: bool
) -> None:
    """Explain the marks in a legend where no value is."""
    has_interval = any(interval(mark.row) for mark in marks)
    subjects = {str(mark.row["subject"]) for mark in marks}
    whose = subjects.pop() if len(subjects) == 1 else "value"
    unnamed = f"{whose}, 95 % interval" if has_interval else whose
    entries = [(name or unnamed, of_series) for name, of_series in looks.items()]
    if any(chance_ends(mark.row) for mark in marks):
        entries.append(("range by chance", Look("chance", "bar")))
    if any(is_number(mark.row.get("neutral")) for mark in marks):
        entries.append(("neutral value", Look("neutral", "stroke")))
    draw_legend(axes, entries, outside=outside)
