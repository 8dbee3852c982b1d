"""Figure of an experiment: gaps against compression, before and after retraining."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.pages.panel import SERIES, SHAPES, Dot, Look, Panel, Path
from wordbias.pages.plots import draw_legend, draw_panel, draw_panels
from wordbias.rendering import how_many
from wordbias.retraining.results import (
    AFTER,
    BEFORE,
    COMPRESSED,
    OCCUPATION,
    REPRESENTATION,
    Metric,
    Runs,
    Task,
    Values,
)
from wordbias.retraining.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

_PANEL = (3.4, 2.9)  # inches
_COLUMNS = 3


def plot_compression_fairness(
    report: Report, ax: Axes | None = None, *, task: Task = OCCUPATION
) -> Axes:
    """Draw small multiples in the manner of Figures 3 and 4 (Orgad et al. 2022)."""
    # Each metric has a panel, unless it is undefined in all runs. Retraining the last layer does
    # not change the vectors: the two marks of a run, empty before and filled after, have the same
    # horizontal position.
    summary = Summary.of(report.rows, task)
    metrics = [metric for metric in summary.task.drawn if _has_points(summary.runs, metric)]
    if not metrics:
        raise WordbiasError("no run has both a compression and a gap; nothing to draw")
    lines, beside = -(-len(metrics) // _COLUMNS), min(len(metrics), _COLUMNS)
    looks = _looks(summary)

    def draw(panels: list[Axes]) -> None:
        for axes, metric in zip(panels, metrics, strict=False):
            draw_panel(axes, compression_panel(summary, metric))
        below = "empty: before, filled: after retraining; lines: least squares, before dashed"
        draw_legend(panels[0], [*looks.items()], below, outside=ax is None)

    size = max(_PANEL[0] * beside, 4.6), _PANEL[1] * lines + 0.5
    title = f"{report.command}: {how_many(len(looks), 'strategy', 'strategies')}"
    return draw_panels(ax, size, title, draw, lines, beside)


def _looks(summary: Summary) -> dict[str, Look]:
    """Return a colour and a shape for each strategy."""
    return {
        name: Look(css, shape)
        for name, css, shape in zip(summary.runs.strategies, cycle(SERIES), cycle(SHAPES))
    }


def compression_panel(summary: Summary, metric: Metric) -> Panel:
    """Describe one metric against compression: a colour for each strategy, filled after."""
    dots, paths = [], []
    for name, look in _looks(summary).items():
        hollow = Look(f"{look.css} hollow", look.shape)
        x = summary.runs.column(COMPRESSED, name, REPRESENTATION)
        before, after = (summary.runs.column(metric, name, stage) for stage in (BEFORE, AFTER))
        ends = [np.stack([x, y], axis=1) for y in (before, after)]
        for first, last in zip(*(part.tolist() for part in ends), strict=True):
            known = [
                (p, mark) for p, mark in ((first, hollow), (last, look)) if np.isfinite(p).all()
            ]
            dots += [Dot(tuple(place), mark) for place, mark in known]
            if len(known) > 1:
                paths.append(Path([tuple(first), tuple(last)], f"link {look.css}"))
    for stage, css in ((BEFORE, "grid effect"), (AFTER, "grid")):
        if summary.association(COMPRESSED, metric, stage).r is not None:
            x, y = _points(summary.runs, metric, stage)
            slope, level = np.polyfit(x, y, 1)
            paths.append(Path([(end, level + slope * end) for end in (x.min(), x.max())], css))
    heights = [dot.place[1] for dot in dots]
    if heights:
        paths.append(Path([(1.0, min(heights)), (1.0, max(heights))], "neutral"))
    return Panel(
        dots,
        paths,
        x="compression of gender (about 1: none shows)",
        y=metric.title,
        title=_title(summary, metric),
    )


def _points(runs: Runs, metric: Metric, stage: str) -> tuple[Values, Values]:
    x, y = runs.every(COMPRESSED, REPRESENTATION), runs.every(metric, stage)
    both = np.isfinite(x) & np.isfinite(y)
    return x[both], y[both]


def _has_points(runs: Runs, metric: Metric) -> bool:
    return any(len(_points(runs, metric, stage)[0]) > 0 for stage in (BEFORE, AFTER))


def _title(summary: Summary, metric: Metric) -> str:
    squares = [summary.association(COMPRESSED, metric, stage).r2 for stage in (BEFORE, AFTER)]
    parts = [
        f"{square:.2f} {stage}"
        for square, stage in zip(squares, (BEFORE, AFTER), strict=True)
        if square is not None
    ]
    return f"R² {', '.join(parts) or 'undefined'}"
