"""Figures in matplotlib: style, saving, and names beside points.

matplotlib is imported when something is drawn; its pyplot, which may open windows, only in a
notebook and where a program has imported it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, need
from wordbias.formats.files import check_writable, replacing
from wordbias.pages.names import name_offsets
from wordbias.progress import in_notebook
from wordbias.rendering import FIGURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#222222"
_TITLE = 0.3  # inches
STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "wordbias",
    "savefig.dpi": 200,
}


def load_matplotlib(part: str = "") -> Any:
    """Import matplotlib, or a part of it such as ``figure``; name its extra if it is missing."""
    module = f"matplotlib.{part}".rstrip(".")
    return need(module, extra="plot", purpose="A figure")


def new_figure(size: tuple[float, float], title: str) -> Any:
    """Make a figure: by pyplot, which shows it, in a notebook or where pyplot is in use.

    The title is above what has the size.

    Make it outside of `rc_context`: the first figure of a notebook switches on a setting that
    shows all figures, and the context would switch it off again.
    """
    if "matplotlib.pyplot" in sys.modules or in_notebook():
        make = load_matplotlib("pyplot").figure
    else:
        make = load_matplotlib("figure").Figure
    figure = make(figsize=(size[0], size[1] + _TITLE), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", size=10, weight="bold", parse_math=False)
    return figure


def draw_panels(
    ax: Axes | None,
    size: tuple[float, float],
    title: str,
    draw: Callable[[list[Axes]], object],
    lines: int = 1,
    columns: int = 1,
    widths: Sequence[float] | None = None,
) -> Axes:
    """Draw on a grid of panels of a new figure, or of insets of axes; return the last panel drawn.

    Parameters
    ----------
    ax
        Axes to draw on; by default a new figure.
    size
        Width and height of a new figure in inches.
    title
        Title of a new figure.
    draw
        Called with all panels, line after line; those without anything on them are removed.
    lines, columns, widths
        Grid of the panels, and relative widths of its columns.
    """
    figure: Any = new_figure(size, title) if ax is None else None
    with load_matplotlib().rc_context(STYLE):
        if ax is None:
            grid = figure.subplots(lines, columns, squeeze=False, width_ratios=widths)
            panels = list(grid.flat)
        else:
            panels = _insets(ax, lines, columns)
        draw(panels)
        for unused in [one for one in panels if not one.has_data()]:
            panels.remove(unused)
            unused.remove()
    return ax or panels[-1]


def _insets(ax: Axes, lines: int, columns: int) -> list[Axes]:
    """Divide axes into a grid of panels, with space for titles and names of axes."""
    if lines * columns == 1:
        return [ax]
    ax.set_axis_off()
    width, height = 1 / columns, 1 / lines
    return [
        ax.inset_axes(
            (j * width + 0.15 * width, 1 - (i + 0.8) * height, 0.8 * width, 0.65 * height)
        )
        for i in range(lines)
        for j in range(columns)
    ]


def write_figure(path: str | Path, figure: Any) -> None:
    """Write a figure, whole or not at all, and close it where pyplot would show it.

    Raises
    ------
    WordbiasError
        If `check_plot` refuses the path, or the file cannot be written.
    """
    check_plot(path)
    kind = Path(path).suffix[1:].lower()
    with load_matplotlib().rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a character that no font here can draw
        with replacing(path) as file:
            figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else {})
    if "matplotlib.pyplot" in sys.modules:
        load_matplotlib("pyplot").close(figure)


def check_plot(path: str | Path) -> None:
    """Refuse a figure that cannot be drawn: wrong suffix, missing folder, no matplotlib."""
    if Path(path).suffix.lower() not in FIGURES:
        raise WordbiasError(f"{path}: cannot be drawn; name a file in {', '.join(FIGURES)}")
    check_writable(path)
    load_matplotlib()


# Names beside points

_NEAR = 7.0  # points from a mark beyond which its label needs a line
_PAD = 1.0  # points around a name to keep free


def label_points(axes: Axes, points: NDArray[np.float64], names: Sequence[str]) -> None:
    """Write each name where it covers the fewest marks, other names and their lines.

    Names are placed one after another, then each again now that the others have a place.

    Parameters
    ----------
    axes
        Axes in a figure whose layout is final; the names take no part in the layout.
    points
        Coordinates, shape ``(n, 2)``.
    names
        Name of each point.
    """
    figure: Any = axes.figure
    figure.draw_without_rendering()
    scale = figure.dpi / 72
    marks = axes.transData.transform(points) / scale
    frame = np.array(axes.get_window_extent().extents) / scale
    texts = [
        axes.annotate(name, point, (0, 0), textcoords="offset points", size=7.5, color=INK)
        for name, point in zip(names, points.tolist(), strict=True)
    ]
    for text in texts:
        text.set_in_layout(False)
    boxes = np.array([text.get_window_extent().padded(_PAD * scale).extents for text in texts])
    offsets = name_offsets(boxes / scale - np.tile(marks, 2), marks, frame)
    for text, offset, size, point, mark in zip(
        texts, offsets, boxes / scale, points, marks, strict=True
    ):
        text.set_position(tuple(offset.tolist()))
        end = np.clip(mark, size[:2] + offset, size[2:] + offset)
        if np.hypot(*(end - mark)) > _NEAR:
            _draw_leader(axes, point, end * scale)


def _draw_leader(axes: Axes, point: NDArray[np.float64], end: NDArray[np.float64]) -> None:
    """Draw a thin line from a point to a place in the window."""
    x, y = np.stack([point, axes.transData.inverted().transform(end)], axis=1)
    axes.plot(x, y, color="#999999", lw=0.6, zorder=1)[0].set_in_layout(False)
