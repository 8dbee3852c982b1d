"""Figure of a comparison: the matrix of correlations beside the scatter of one pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wordbias.comparison import Comparison, Correlations
from wordbias.correlation import Correlation
from wordbias.pages.plots import INK, draw_panels, label_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

SYMBOLS = {"pearson": "r", "spearman": "ρ"}
_DARK = 0.55  # |r| above which a cell needs white text
_CELL = 0.42  # inches


def plot_comparison(
    table: Comparison,
    found: Correlations,
    pair: Correlation,
    report: Report,
    ax: Axes | None = None,
) -> Axes:
    """Draw the matrix beside the scatter of one pair.

    Parameters
    ----------
    table, found
        Values of the measures, and their correlations.
    pair
        Measures of the scatter.
    report
        Report whose title a new figure has.
    ax
        Axes to draw on; by default a new figure.
    """
    side = max(2.4, _CELL * (len(found.measures) - 1))
    longest = max(map(len, found.measures))
    width = max(3.8, side * 0.9)

    def draw(panels: list[Axes]) -> None:
        left, right = panels
        draw_matrix(left, found)
        draw_scatter(right, table, pair, SYMBOLS[found.method])

    size = (side + width + 0.07 * longest + 0.8, side + 0.05 * longest + 0.5)
    return draw_panels(ax, size, report.title, draw, 1, 2, widths=(side, width))


def draw_matrix(axes: Axes, found: Correlations) -> Axes:
    """Draw the triangle of correlations; undefined ones are hatched.

    It is the lower triangle, whose cells are next to both names; the diagonal is left out.
    """
    r = found.matrix()[1:, :-1]
    lower = np.tri(len(r), dtype=bool)
    shown = np.ma.masked_invalid(np.where(lower, r, np.nan))
    image = axes.pcolormesh(shown, cmap="RdBu_r", vmin=-1, vmax=1, edgecolors="white", lw=1.5)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    places = np.arange(len(r)) + 0.5
    for i, j in np.argwhere(lower).tolist():
        _draw_cell(axes, i, j, float(r[i, j]))
    axes.set_xticks(places, found.measures[:-1], rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(places, found.measures[1:])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(
        f"{found.method.capitalize()} correlation {SYMBOLS[found.method]}{_sizes(found)}"
    )
    if len(r) > 1:  # the single cell of two measures leaves no room, and needs no scale
        _draw_scale(axes, image)
    return axes


def draw_scatter(axes: Axes, table: Comparison, pair: Correlation, symbol: str = "r") -> Axes:
    """Draw one measure against another, with the name of each embedding.

    Draw it last: its labels are placed in the layout that the figure then has.
    """
    x, y = table.column(pair.x), table.column(pair.y)
    both = np.isfinite(x) & np.isfinite(y)
    points = np.stack([x[both], y[both]], axis=1)
    axes.scatter(points[:, 0], points[:, 1], s=18, color=INK, linewidths=0, zorder=3)
    axes.margins(0.12)
    axes.set(xlabel=pair.x, ylabel=pair.y, title=_title(pair, symbol))
    names = [name for name, given in zip(table.subjects, both, strict=True) if given]
    label_points(axes, points, names)
    return axes


def _draw_cell(axes: Axes, i: int, j: int, r: float) -> None:
    if np.isnan(r):
        x, y = np.array([0.03, 0.97, 0.97, 0.03]) + j, np.array([0.03, 0.03, 0.97, 0.97]) + i
        axes.fill(x, y, facecolor="none", hatch="////", edgecolor="#999999", linewidth=0)
        return
    color = "white" if abs(r) > _DARK else INK
    axes.text(j + 0.5, i + 0.5, short(r), ha="center", va="center", color=color, size=8)


def short(r: float) -> str:
    """Write a correlation with two digits, as papers do: .67, −.17, 1.00."""
    text = f"{r:z.2f}".replace("-", "−")
    return text.replace("0.", ".", 1) if abs(float(f"{r:.2f}")) < 1 else text


def _draw_scale(axes: Axes, image: Any) -> None:
    scale = axes.inset_axes((0.62, 0.93, 0.36, 0.03))
    bar = axes.figure.colorbar(image, cax=scale, orientation="horizontal", ticks=[-1, 0, 1])
    bar.ax.set_xticklabels(["−1", "0", "1"])
    bar.ax.tick_params(length=0, labelsize=8)
    bar.outline.set_visible(False)


def _sizes(found: Correlations) -> str:
    sizes = [pair.n for pair in found.pairs]
    low, high = min(sizes), max(sizes)
    return f", n = {low}" if low == high else f", n = {low} to {high}"


def _title(pair: Correlation, symbol: str) -> str:
    if pair.r is None or pair.p is None:
        return f"{symbol} undefined, n = {pair.n}"
    p = "p < .001" if pair.p < 0.001 else f"p = {f'{pair.p:.3f}'.removeprefix('0')}"
    return f"{symbol} = {short(pair.r)}, n = {pair.n}, {p}"
