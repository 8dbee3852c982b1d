"""A forest plot: each value with its interval, beside chance and the neutral value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wordbias.errors import WordbiasError
from wordbias.optional import need
from wordbias.pages.plots import STYLE
from wordbias.results import Report, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#1b6ca8", "#c8553d", "#2a9d5c", "#7b4fa3", "#b8860b", "#555555")
_LINE = 0.26  # inches


def forest_plot(report: Report, ax: Axes | None = None) -> Axes:
    """Draw one line a measure and setting, one colour a subject.

    Parameters
    ----------
    report
        What was measured; rows without a value and rows of single words are left out.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    WordbiasError
        If there is nothing to draw, or matplotlib is not installed.
    """
    matplotlib = need("matplotlib", extra="plot", purpose="A figure")
    rows = [row for row in report.rows if row.value is not None and "word" not in row.details]
    if not rows:
        raise WordbiasError("no value to draw in this report")
    lines = list(dict.fromkeys(map(_line, rows)))
    subjects = list(dict.fromkeys(row.subject for row in rows))
    with matplotlib.rc_context(STYLE):
        axes = _axes(len(lines) * max(1, len(subjects))) if ax is None else ax
        for row in rows:
            place = subjects.index(row.subject)
            step = (place + 1) / (len(subjects) + 1) - 0.5
            _draw(axes, row, lines.index(_line(row)) + step, _COLOURS[place % len(_COLOURS)])
        axes.set_yticks(range(len(lines)), lines)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_title(_title(rows))
        if len(subjects) > 1:
            _legend(axes, subjects)
    return axes


def _axes(lines: int) -> Axes:
    figure = need("matplotlib.figure", extra="plot", purpose="A figure")
    made = figure.Figure(figsize=(7, 1.2 + _LINE * lines), layout="constrained")
    axes: Axes = made.subplots()
    return axes


def _line(row: Row) -> str:
    """Name what a row is: its measure and what tells it from others of that measure."""
    keys = ("set", "setting", "stage", "reference", "layer", "group")
    said = [str(row.details[key]) for key in keys if row.details.get(key) not in (None, "")]
    return f"{row.measure} ({', '.join(said)})" if said else row.measure


def _draw(axes: Axes, row: Row, height: float, colour: str) -> None:
    about: Mapping[str, Any] = row.details
    if about.get("chance_low") is not None:
        width = about["chance_high"] - about["chance_low"]
        axes.barh(
            height, width, 0.16, left=about["chance_low"], color="#d9d9d9", edgecolor="#bbbbbb"
        )
    if about.get("neutral") is not None:
        axes.plot([about["neutral"]] * 2, [height - 0.1, height + 0.1], color="black", lw=1)
    if about.get("low") is not None and about.get("high") is not None:
        axes.plot([about["low"], about["high"]], [height] * 2, color=colour, linewidth=1.6)
    axes.plot([float(row.value or 0)], [height], "o", color=colour, markersize=4)


def _legend(axes: Axes, subjects: Sequence[str]) -> None:
    for place, subject in enumerate(subjects):
        axes.plot([], [], "o-", color=_COLOURS[place % len(_COLOURS)], label=subject)
    axes.legend(loc="best", frameon=False)


def _title(rows: Sequence[Row]) -> str:
    said = ["value"]
    if any(row.details.get("low") is not None for row in rows):
        said.append("95 % interval")
    if any(row.details.get("chance_low") is not None for row in rows):
        said.append("range by chance (grey)")
    if any(row.details.get("neutral") is not None for row in rows):
        said.append("neutral value (black)")
    return ", ".join(said)
