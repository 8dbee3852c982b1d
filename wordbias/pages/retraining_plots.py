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
    found = Summary.of(report.rows, task)
    shown = [metric for metric in found.task.drawn if _has_points(found.runs, metric)]
    if not shown:
        raise WordbiasError("no run has both a compression and a gap; nothing to draw")
    lines, beside = -(-len(shown) // _COLUMNS), min(len(shown), _COLUMNS)
    looks = _looks(found)

    def draw(panels: list[Axes]) -> None:
        for axes, metric in zip(panels, shown, strict=False):
            draw_panel(axes, compression_panel(found, metric))
        below = "empty: before, filled: after retraining; lines: least squares, before dashed"
        draw_legend(panels[0], [*looks.items()], below, outside=ax is None)

    size = max(_PANEL[0] * beside, 4.6), _PANEL[1] * lines + 0.5
    title = f"{report.command}: {how_many(len(looks), 'strategy', 'strategies')}"
    return draw_panels(ax, size, title, draw, lines, beside)


def _looks(found: Summary) -> dict[str, Look]:
    """Return a colour and a shape for each strategy."""
    return {
        name: Look(css, shape)
        for name, css, shape in zip(found.runs.strategies, cycle(SERIES), cycle(SHAPES))
    }


def compression_panel(found: Summary, metric: Metric) -> Panel:
    """Describe one metric against compression: a colour for each strategy, filled after."""
    dots, paths = [], []
    for name, look in _looks(found).items():
        hollow = Look(f"{look.css} hollow", look.shape)
        x = found.runs.column(COMPRESSED, name, REPRESENTATION)
        before, after = (found.runs.column(metric, name, stage) for stage in (BEFORE, AFTER))
        ends = [np.stack([x, y], axis=1) for y in (before, after)]
        for first, last in zip(*(part.tolist() for part in ends), strict=True):
            known = [(p, one) for p, one in ((first, hollow), (last, look)) if np.isfinite(p).all()]
            dots += [Dot(tuple(place), one) for place, one in known]
            if len(known) > 1:
                paths.append(Path([tuple(first), tuple(last)], f"link {look.css}"))
    for stage, css in ((BEFORE, "grid effect"), (AFTER, "grid")):
        if found.association(COMPRESSED, metric, stage).r is not None:
            x, y = _points(found.runs, metric, stage)
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
        title=_title(found, metric),
    )


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
