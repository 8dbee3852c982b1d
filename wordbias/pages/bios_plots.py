"""Figure of the occupation experiment: gaps against compression, before and after retraining."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wordbias.biographies.results import (
    AFTER,
    BEFORE,
    COMPRESSED,
    GAPS,
    REPRESENTATION,
    Metric,
    Runs,
    Values,
)
from wordbias.biographies.summary import Association, Summary
from wordbias.errors import WordbiasError
from wordbias.pages.plots import INK, draw_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

_COLOURS = (
    "#1b6ca8",
    "#c8553d",
    "#3d8b5f",
    "#8457a3",
    "#9a7b1f",
    "#5b6770",
    "#b5527a",
    "#444444",
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_ALPHA = 0.45  # marks of a frozen encoder cover each other
_SHOWN = tuple(GAPS[i] for i in (0, 1, 3, 5, 7, 8))
"""TPR gaps, and the sums of the others but independence, which is close to separation."""
_PANEL = (3.4, 2.9)  # inches
_COLUMNS = 3
_FAINT = "#9a9a9a"


def plot_compression_fairness(report: Report, ax: Axes | None = None) -> Axes:
    """Draw small multiples in the manner of Figure 3 (Orgad et al. 2022).

    Each metric has a panel, unless it is undefined in all runs. Retraining the last layer does not
    change the vectors, so that the two marks of a run, empty before and filled after, have the same
    horizontal position.

    Raises
    ------
    WordbiasError
        If no run has both a compression and a gap.
    """
    found = Summary.of(report.rows)
    shown = [metric for metric in _SHOWN if _has_points(found.runs, metric)]
    if not shown:
        raise WordbiasError("no run has both a compression and a gap; nothing to draw")
    lines, beside = -(-len(shown) // _COLUMNS), min(len(shown), _COLUMNS)

    def draw(panels: list[Axes]) -> None:
        for axes, metric in zip(panels, shown, strict=False):
            draw_compression_fairness(axes, found, metric)
        handles, labels = panels[0].get_legend_handles_labels()
        about: dict[str, Any] = {"frameon": False, "fontsize": 8}
        if ax is not None:
            panels[0].legend(handles, labels, **about)
            return
        figure: Any = panels[0].figure
        columns = min(len(labels), 2 * beside)
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, **about)
        figure.get_layout_engine().set(wspace=0.06, hspace=0.06)

    size = max(_PANEL[0] * beside, 4.6), _PANEL[1] * lines + 0.5
    return draw_panels(ax, size, report.title, draw, lines, beside)


def draw_compression_fairness(axes: Axes, found: Summary, metric: Metric) -> Axes:
    """Draw one metric against compression: a colour for each strategy, filled after."""
    for i, name in enumerate(found.runs.strategies):
        colour = _COLOURS[i % len(_COLOURS)]
        x = found.runs.column(COMPRESSED, name, REPRESENTATION)
        before, after = (found.runs.column(metric, name, stage) for stage in (BEFORE, AFTER))
        both = np.isfinite(x) & np.isfinite(before) & np.isfinite(after)
        axes.vlines(x[both], before[both], after[both], color=colour, lw=0.8, alpha=0.5)
        style: dict[str, Any] = {"s": 22, "edgecolor": colour, "lw": 0.9, "zorder": 3}
        style["marker"] = _MARKERS[i % len(_MARKERS)]
        axes.scatter(x, before, facecolor="none", **style)
        axes.scatter(x, after, facecolor=(colour, _ALPHA), label=name, **style)
    for stage, line in ((BEFORE, ":"), (AFTER, "-")):
        _draw_fit(axes, found.runs, found.association(COMPRESSED, metric, stage), line)
    axes.axvline(1, color=_FAINT, lw=0.6, ls=(0, (1, 3)))
    axes.set(xlabel="compression of gender (about 1: none shows)", ylabel=metric.title)
    axes.set_title(_title(found, metric), color=INK, fontsize=9)
    axes.margins(0.08)
    return axes


def _draw_fit(axes: Axes, runs: Runs, one: Association, line: str) -> None:
    """Draw the least squares line through all runs at one stage."""
    if one.r is None:
        return
    label = f"fit, {one.stage}" + (" (empty)" if one.stage == BEFORE else " (filled)")
    x, y = _points(runs, one.y, one.stage)
    slope, level = np.polyfit(x, y, 1)
    ends = np.array([x.min(), x.max()])
    axes.plot(ends, level + slope * ends, color=_FAINT, ls=line, lw=1.1, label=label)


def _points(runs: Runs, metric: Metric, stage: str) -> tuple[Values, Values]:
    x, y = runs.every(COMPRESSED, REPRESENTATION), runs.every(metric, stage)
    both = np.isfinite(x) & np.isfinite(y)
    return x[both], y[both]


def _has_points(runs: Runs, metric: Metric) -> bool:
    return any(len(_points(runs, metric, stage)[0]) > 0 for stage in (BEFORE, AFTER))


def _title(found: Summary, metric: Metric) -> str:
    squares = [found.association(COMPRESSED, metric, stage).r2 for stage in (BEFORE, AFTER)]
    parts = [
        f"{square:.2f} {stage}"
        for square, stage in zip(squares, (BEFORE, AFTER), strict=True)
        if square is not None
    ]
    return f"R² {', '.join(parts) or 'undefined'}"
