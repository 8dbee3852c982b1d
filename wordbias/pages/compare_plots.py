"""Figure of a comparison: the matrix of correlations beside the scatter of one pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wordbias.comparison import Comparison, Correlations
from wordbias.correlation import Correlation
from wordbias.pages.panel import Bar, Dot, Look, Panel, Row
from wordbias.pages.plots import draw_panel, draw_panels
from wordbias.rendering import how_many

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

SYMBOLS = {"pearson": "r", "spearman": "ρ"}
_CELL, _GAP = 0.42, 0.02  # inches; of a cell, around it


def plot_comparison(
    table: Comparison,
    correlations: Correlations,
    pair: Correlation,
    report: Report,
    ax: Axes | None = None,
) -> Axes:
    """Draw the matrix beside the scatter of one pair, on a new figure or some axes."""
    side = max(2.4, _CELL * (len(correlations.measures) - 1))
    longest = max(map(len, correlations.measures))
    width = max(3.8, side * 0.9)
    symbol = SYMBOLS[correlations.method]

    def draw(panels: list[Axes]) -> None:
        left, right = panels
        draw_panel(left, matrix_panel(correlations))
        left.set_aspect("equal")
        draw_panel(right, scatter_panel(table, pair, symbol))

    size = (side + width + 0.07 * longest + 0.8, side + 0.05 * longest + 0.5)
    of = f"{how_many(len(correlations.measures), 'measure')} over {len(table.subjects)} embeddings"
    title = (
        f"{report.command}: {correlations.method.capitalize()} correlation {symbol} between {of}"
    )
    return draw_panels(ax, size, title, draw, 1, 2, widths=(side, width))


def matrix_panel(correlations: Correlations) -> Panel:
    """Describe the triangle of correlations below the diagonal; undefined ones have a dash."""
    r = correlations.matrix()[1:, :-1]
    bars = []
    for i, j in np.argwhere(np.tri(len(r), dtype=bool)).tolist():
        css = "undefined" if np.isnan(r[i, j]) else "m1" if r[i, j] > 0 else "after"
        name, strength = ("–", 1.0) if css == "undefined" else (short(r[i, j]), abs(r[i, j]))
        ends = j + _GAP, j + 1 - _GAP, i + _GAP, i + 1 - _GAP
        bars.append(Bar(*ends, css, float(strength), name))
    return Panel(
        bars=bars,
        rows=[Row(name, i, i + 1) for i, name in enumerate(correlations.measures[1:])],
        ticks={i + 0.5: name for i, name in enumerate(correlations.measures[:-1])},
        ends=(0.0, len(r)),
        axes=False,
        title=_sizes(correlations),
    )


def scatter_panel(table: Comparison, pair: Correlation, symbol: str = "r") -> Panel:
    """Describe one measure against another, with the name of each embedding."""
    places = zip(table.subjects, table.column(pair.x), table.column(pair.y), strict=True)
    dots = [
        Dot((float(x), float(y)), Look("plain"), name=name)
        for name, x, y in places
        if np.isfinite([x, y]).all()
    ]
    return Panel(dots, x=pair.x, y=pair.y, title=_title(pair, symbol))


def short(r: float) -> str:
    """Write a correlation with two digits, as papers do: .67, −.17, 1.00."""
    text = f"{r:z.2f}".replace("-", "−")
    return text.replace("0.", ".", 1) if abs(float(f"{r:.2f}")) < 1 else text


def _sizes(correlations: Correlations) -> str:
    sizes = [pair.n for pair in correlations.pairs]
    low, high = min(sizes), max(sizes)
    return f"n = {low}" if low == high else f"n = {low} to {high}"


def _title(pair: Correlation, symbol: str) -> str:
    if pair.r is None or pair.p is None:
        return f"{symbol} undefined, n = {pair.n}"
    p = "p < .001" if pair.p < 0.001 else f"p = {f'{pair.p:.3f}'.removeprefix('0')}"
    return f"{symbol} = {short(pair.r)}, n = {pair.n}, {p}"
