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
_MARK = 3.5  # points around a mark to keep free
_PAD = 1.0  # points around a name to keep free
_STEPS = 8  # boxes that stand for a line
_PASSES = 3  # times that all names are placed again
_GAPS = {4.0: 0.0, 9.0: 0.03, 16.0: 0.08, 24.0: 0.14, 34.0: 0.22}  # points: price
_SIDES = {(1, 0): 0.0, (-1, 0): 0.01, (0, 1): 0.02, (0, -1): 0.02} | {
    (dx, dy): 0.03 for dy in (1, -1) for dx in (1, -1)
}


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


def name_offsets(
    sizes: NDArray[np.float64], marks: NDArray[np.float64], frame: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Choose where names go, relative to their marks, so that they cover as little as possible.

    Parameters
    ----------
    sizes
        Box of each name relative to its mark, before it is moved, ``(n, [x0, y0, x1, y1])`` in
        points, y upwards.
    marks
        Places of the marks, shape ``(n, 2)``.
    frame
        Box in which the names should stay.

    Returns
    -------
    ndarray
        Shape ``(n, 2)``.
    """
    blocked = np.hstack([marks - _MARK, marks + _MARK])
    offsets = np.zeros((len(marks), 2))
    placed: dict[int, NDArray[np.float64]] = {}
    for i in [*_crowded_first(marks), *list(range(len(marks))) * _PASSES]:
        others = [boxes for j, boxes in placed.items() if j != i]
        taken = np.vstack([np.delete(blocked, i, axis=0), *others])
        offsets[i] = _offset(sizes[i], marks[i], taken, frame)
        box = sizes[i] + np.tile(marks[i] + offsets[i], 2)
        placed[i] = np.vstack([box, _line_boxes(marks[i], box)])
    return offsets


def _crowded_first(marks: NDArray[np.float64]) -> list[int]:
    """Order marks by the sum of the distances to their nearest ones, the most crowded first."""
    gaps = np.hypot(*(marks[:, None] - marks[None]).T)
    order: list[int] = np.argsort(np.sort(gaps, axis=1)[:, :4].sum(1), kind="stable").tolist()
    return order


def _line_boxes(mark: NDArray[np.float64], box: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cover the line from a mark to its name with small boxes, shape ``(_STEPS, 4)``."""
    end = np.clip(mark, box[:2], box[2:])
    along = mark + np.linspace(0, 1, _STEPS)[:, None] * (end - mark)
    return np.hstack([along - 1, along + 1])


def _offset(
    size: NDArray[np.float64],
    mark: NDArray[np.float64],
    taken: NDArray[np.float64],
    frame: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Choose among places around a mark; `size` is the name's box relative to the mark."""
    width, height = size[2:] - size[:2]
    places = np.array(
        [
            [dx * (gap + 1) + width * (dx - 1) / 2, dy * gap + height * (dy - 1) / 2 + 1]
            for gap in _GAPS
            for dx, dy in _SIDES
        ]
    )
    boxes = size + np.tile(mark + places, 2)
    covered = _covered(boxes[:, None], taken).sum(1) / (width * height)
    outside = 1 - _covered(boxes, frame) / (width * height)
    lines = np.array([_covered(_line_boxes(mark, box)[:, None], taken).sum() for box in boxes])
    price = np.add.outer(list(_GAPS.values()), list(_SIDES.values())).ravel()
    best = np.argmin(2 * covered + 4 * outside + lines / (4 * _STEPS) + price)
    chosen: NDArray[np.float64] = places[best]
    return chosen


def _covered(boxes: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the areas that boxes ``(…, [x0, y0, x1, y1])`` share with others; they broadcast."""
    low = np.maximum(boxes[..., :2], others[..., :2])
    high = np.minimum(boxes[..., 2:], others[..., 2:])
    return np.asarray(np.prod(np.maximum(high - low, 0), axis=-1))


def _draw_leader(axes: Axes, point: NDArray[np.float64], end: NDArray[np.float64]) -> None:
    """Draw a thin line from a point to a place in the window."""
    x, y = np.stack([point, axes.transData.inverted().transform(end)], axis=1)
    axes.plot(x, y, color="#999999", lw=0.6, zorder=1)[0].set_in_layout(False)
