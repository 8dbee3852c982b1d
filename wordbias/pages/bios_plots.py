"""Figure of the occupation experiment: gaps against compression, before and after retraining."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
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
from wordbias.errors import WordbiasError, need
from wordbias.formats.files import replacing
from wordbias.pages.plots import INK, STYLE, check_plot
from wordbias.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
_SEEN_THROUGH = 0.45  # where marks are above each other: those of a frozen encoder are
_SHOWN = tuple(GAPS[i] for i in (0, 1, 3, 5, 7, 8))
"""TPR gaps, P and S, and the sums of the others; independence is separation's small sister."""
_PANEL = (3.4, 2.9)  # inches
_BESIDE = 3
_FAINT = "#9a9a9a"


def save_compression_fairness(path: str | Path, rows: Sequence[Row]) -> None:
    """Draw small multiples in the manner of Figure 3 (Orgad et al. 2022), and write them.

    A panel a metric, those that are undefined in all runs left out. Retraining the last layer does
    not touch the vectors, so that the two marks of a run, empty before and filled after, stand
    above each other.

    Parameters
    ----------
    path
        A .png, .pdf or .svg, written whole or not at all.
    rows
        Of all jobs of the experiment.

    Raises
    ------
    WordbiasError
        If no run has both a compression and a gap, or the file cannot be drawn.
    """
    check_plot(path)
    found = Summary.of(rows)
    shown = [metric for metric in _SHOWN if _has_points(found.runs, metric)]
    if not shown:
        raise WordbiasError(f"{path}: no run has both a compression and a gap; nothing to draw")
    matplotlib = need("matplotlib", extra="plot", purpose="A figure")
    kind = Path(path).suffix[1:].lower()
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a name that no font here can draw
        figure = _drawn(found, shown)
        with replacing(path) as file:
            figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else {})


def _drawn(found: Summary, shown: Sequence[Metric]) -> Any:
    figures = need("matplotlib.figure", extra="plot", purpose="A figure")
    lines, beside = (
        -(-len(shown) // _BESIDE),
        min(len(shown), _BESIDE),
    )
    size = (
        max(_PANEL[0] * beside, 4.6),
        _PANEL[1] * lines + 0.5,
    )
    figure = figures.Figure(figsize=size, layout="constrained")
    panels = list(figure.subplots(lines, beside, squeeze=False).flat)
    for axes, metric in zip(panels, shown, strict=False):
        draw_compression_fairness(axes, found, metric)
    for unused in panels[len(shown) :]:
        unused.remove()
    handles, labels = panels[0].get_legend_handles_labels()
    style: dict[str, Any] = {"ncols": min(len(labels), 2 * beside), "frameon": False, "fontsize": 8}
    figure.legend(handles, labels, loc="outside lower center", **style)
    figure.get_layout_engine().set(wspace=0.06, hspace=0.06)
    return figure


def draw_compression_fairness(axes: Axes, found: Summary, metric: Metric) -> Axes:
    """Draw one metric against compression: a colour a strategy, empty before, filled after."""
    for i, name in enumerate(found.runs.strategies):
        colour = _COLOURS[i % len(_COLOURS)]
        x = found.runs.column(COMPRESSED, name, REPRESENTATION)
        before, after = (found.runs.column(metric, name, stage) for stage in (BEFORE, AFTER))
        both = np.isfinite(x) & np.isfinite(before) & np.isfinite(after)
        axes.vlines(x[both], before[both], after[both], color=colour, lw=0.8, alpha=0.5)
        style: dict[str, Any] = {"s": 22, "edgecolor": colour, "lw": 0.9, "zorder": 3}
        style["marker"] = _MARKERS[i % len(_MARKERS)]
        axes.scatter(x, before, facecolor="none", **style)
        axes.scatter(x, after, facecolor=(colour, _SEEN_THROUGH), label=name, **style)
    for stage, line in ((BEFORE, ":"), (AFTER, "-")):
        _draw_fit(axes, found.runs, found.association(COMPRESSED, metric, stage), line)
    axes.axvline(1, color=_FAINT, lw=0.6, ls=(0, (1, 3)))
    axes.set(xlabel="compression of gender (1: none shows)", ylabel=metric.title)
    axes.set_title(_fits(found, metric), color=INK, fontsize=9)
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


def _fits(found: Summary, metric: Metric) -> str:
    squares = [found.association(COMPRESSED, metric, stage).r2 for stage in (BEFORE, AFTER)]
    said = [
        f"{square:.2f} {stage}"
        for square, stage in zip(squares, (BEFORE, AFTER), strict=True)
        if square is not None
    ]
    return f"R² {', '.join(said) or 'undefined'}"
