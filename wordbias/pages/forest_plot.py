"""A forest plot in matplotlib: each value with its interval, beside chance and the neutral value.

Measures share a horizontal axis as far as their values are of about one size; the others have
panels of their own below.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordbias.errors import WordbiasError
from wordbias.measures.lean import TOLD
from wordbias.pages.lines import make_lines
from wordbias.pages.plots import (
    INK,
    STYLE,
    load_matplotlib,
    new_figure,
)
from wordbias.rows import Found, given
from wordbias.verdicts import interval, is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

_COLOURS = ("#1b6ca8", "#c8553d", "#2a9d5c", "#7b4fa3", "#b8860b", "#555555")
_CHANCE, _STRIPE, _GRID = "#d4d4d4", "#f6f6f6", "#e2e2e2"
_MOST_LINES = 80
"""Largest number of lines that are drawn."""
_RATIO = 4.0
"""Largest ratio between the values of two measures in the same panel."""
_WIDTH, _CHARACTERS = 46, 13  # characters of a label, and in an inch of the legend
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
        ends = (self.row.get(key) for key in ("value", "low", "high", "chance_low", "chance_high"))
        return max(abs(float(x)) for x in ends if is_number(x))


def forest_plot(report: Report, ax: Axes | None = None) -> Axes:
    """Draw a line for each measure and setting, in a colour for each subject and stage.

    Parameters
    ----------
    report
        Report to draw; see `drawn_rows`.
    ax
        Axes to draw on; by default those of a new figure. Panels are inset into them.

    Raises
    ------
    WordbiasError
        If there is nothing to draw, or matplotlib is not installed.
    """
    matplotlib = load_matplotlib()
    rows = drawn_rows([row.to_dict() for row in report.rows])
    marks = _marks(rows)
    lines = _lines_of(marks)
    marks = [mark for mark in marks if mark.line in lines[:_MOST_LINES]]
    series = list(dict.fromkeys(mark.series for mark in marks))
    panels = _panels(marks)
    heights = [sum(_height(line, series) for line in _lines_of(panel)) for panel in panels]
    size = (_FIGURE, 0.5 + sum(heights) + _AXIS * len(heights))
    figure: Any = new_figure(size, report.title) if ax is None else None
    with matplotlib.rc_context(STYLE):
        axes: Axes = figure.subplots() if ax is None else ax
        shown = list(_insets(axes, heights)) if len(panels) > 1 else [axes]
        for part, panel in zip(shown, panels, strict=True):
            _draw_panel(part, panel, series)
        if len(lines) > _MOST_LINES:
            shown[-1].set_xlabel(f"the first {_MOST_LINES} of {len(lines)} lines", loc="left")
        _legend(axes, marks, series, outside=ax is None)
    return axes


def drawn_rows(rows: Sequence[Found]) -> list[Found]:
    """Return the rows that a forest plot shows.

    Left out are rows without a value, values that grow with the length of the vectors where this
    was changed, and rows of single words, unless the report is about words.

    Raises
    ------
    WordbiasError
        If no row is left.
    """
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
    found = []
    for line in make_lines(rows):
        parts = [f"{key} {line.any[key]}" for key in ("component", "layer") if given(line.any, key)]
        parts += [str(line.any["word"])] if given(line.any, "word") else []
        variant = ", ".join(filter(None, [line.variant, *parts]))
        name = f"{line.measure} ({variant})" if several and variant else variant or line.measure
        again = placed[line.subject, name] = placed.get((line.subject, name), 0) + 1
        name = f"{name} ({again})".strip() if again > 1 else name
        for stage, row in line.stages.items():
            own = ", ".join(filter(None, [line.subject if len(subjects) > 1 else "", stage]))
            found.append(_Mark(name, own, row))
    if len(_lines_of(found)) == 1 and len(subjects) > 1:
        return [
            _Mark(mark.series, "", mark.row, "" if mark.line == mark.row["measure"] else mark.line)
            for mark in found
        ]
    if len({mark.series for mark in found}) > len(_COLOURS):
        return [_Mark(f"{mark.series}: {mark.line}", "", mark.row) for mark in found]
    return found


def _lines_of(marks: Sequence[_Mark]) -> list[str]:
    return list(dict.fromkeys(mark.line for mark in marks))


def _panels(marks: Sequence[_Mark]) -> list[list[_Mark]]:
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


def _height(line: str, series: Sequence[str]) -> float:
    """Return the height of a line in inches."""
    return max(_TEXT * len(_wrapped(line)), _SERIES * len(series)) + _SPACE


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, _WIDTH) or [""]


def _insets(axes: Axes, heights: Sequence[float]) -> Iterator[Axes]:
    """Divide axes into panels, one below the other, with space for the axis of each."""
    axes.set_axis_off()
    total, top = sum(heights) + _AXIS * (len(heights) - 1), 1.0
    for height in heights:
        yield axes.inset_axes((0.0, top - height / total, 1.0, height / total))
        top -= (height + _AXIS) / total


def _draw_panel(axes: Axes, panel: Sequence[_Mark], series: Sequence[str]) -> None:
    lines, middles, top = _lines_of(panel), [], 0.0
    for i, line in enumerate(lines):
        height = _height(line, series)
        if i % 2:
            axes.axhspan(top, top + height, color=_STRIPE, linewidth=0, zorder=0)
        _draw_line(axes, [mark for mark in panel if mark.line == line], series, top, height)
        middles.append(top + height / 2)
        top += height
    axes.set_yticks(middles, ["\n".join(_wrapped(line)) for line in lines])
    axes.set_ylim(top, 0.0)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.use_sticky_edges = False
    axes.margins(x=0.04)
    axes.grid(axis="x", color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    measures = {str(mark.row["measure"]) for mark in panel}
    if len(measures) == 1 and not any(measures.copy().pop() in line for line in lines):
        shared = {mark.shared for mark in panel}
        title = [measures.pop(), *(shared if len(shared) == 1 else ())]
        axes.set_title(": ".join(filter(None, title)), fontsize=9)


def _draw_line(
    axes: Axes, marks: Sequence[_Mark], series: Sequence[str], top: float, height: float
) -> None:
    """Draw the values of one line, each at its own height, and their chance range."""
    slot, middle = _SERIES, top + height / 2
    places = [middle + slot * (series.index(m.series) - (len(series) - 1) / 2) for m in marks]
    ranges = {(m.row.get("chance_low"), m.row.get("chance_high")) for m in marks}
    for mark, place in zip(marks, places, strict=True):
        row, ends = mark.row, interval(mark.row)
        low, high = row.get("chance_low"), row.get("chance_high")
        if is_number(low) and is_number(high):
            at, thick = (middle, height - _SPACE / 2) if len(ranges) == 1 else (place, slot)
            axes.barh(at, high - low, thick, left=low, color=_CHANCE, linewidth=0, zorder=1)
        if is_number(row.get("neutral")):
            axes.vlines(row["neutral"], top, top + height, color=INK, linewidth=1, zorder=2)
        colour = _colour(series, mark.series)
        if ends is not None:
            axes.plot(ends, [place] * 2, color=colour, linewidth=1.8, zorder=3)
        axes.plot([row["value"]], [place], "o", color=colour, markersize=4.5, zorder=4)


def _colour(series: Sequence[str], name: str) -> str:
    return _COLOURS[series.index(name) % len(_COLOURS)]


def _legend(axes: Axes, marks: Sequence[_Mark], series: Sequence[str], *, outside: bool) -> None:
    """Explain the marks in a legend where no value is."""
    lines = load_matplotlib("lines")
    patches = load_matplotlib("patches")
    has_interval = any(interval(mark.row) for mark in marks)
    subjects = {str(mark.row["subject"]) for mark in marks}
    whose = subjects.pop() if len(subjects) == 1 else "value"
    handles: list[Any] = [
        lines.Line2D(
            [],
            [],
            color=_colour(series, name),
            marker="o",
            markersize=4.5,
            linewidth=1.8 if has_interval else 0,
            label=name or (f"{whose}, 95 % interval" if has_interval else whose),
        )
        for name in series
    ]
    if any(is_number(mark.row.get("chance_low")) for mark in marks):
        handles.append(patches.Patch(color=_CHANCE, linewidth=0, label="range by chance"))
    if any(is_number(mark.row.get("neutral")) for mark in marks):
        handles.append(lines.Line2D([], [], color=INK, linewidth=1, label="neutral value"))
    figure: Any = axes.figure
    width = _FIGURE if outside else axes.get_window_extent().width / figure.dpi
    longest = max(len(handle.get_label()) for handle in handles)
    columns = max(1, min(len(handles), int(width * _CHARACTERS / (longest + 8))))
    about: dict[str, Any] = {"ncols": columns, "frameon": False, "handlelength": 1.6}
    if outside:
        figure.legend(handles=handles, loc="outside lower left", **about)
    else:
        axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), **about)
