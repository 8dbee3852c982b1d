"""Figures in matplotlib: style, saving, and names beside points."""

from __future__ import annotations

import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, need
from wordbias.formats.files import check_writable, replacing
from wordbias.pages.names import name_offsets
from wordbias.pages.panel import Bar, Look, Panel, Row
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
    """Make a figure: by pyplot, which shows it, in a notebook or where pyplot is in use."""
    # The title is above what has the size. Make it outside of `rc_context`: the first figure of a
    # notebook switches on a setting that shows all figures, and the context would switch it off
    # again.
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
    """Draw on a grid of panels of a new figure, or of insets of axes; return the last one drawn."""
    # `draw` is called with all panels, line after line; those without anything on them are removed.
    figure: Any = new_figure(size, title) if ax is None else None
    with load_matplotlib().rc_context(STYLE):
        if ax is None:
            grid = figure.subplots(lines, columns, squeeze=False, width_ratios=widths)
            panels = list(grid.flat)
        else:
            panels = _insets(ax, lines, columns)
        draw(panels)
        for unused in [panel for panel in panels if not (panel.has_data() or panel.child_axes)]:
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
    """Write a figure, whole or not at all, and close it where pyplot would show it."""
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


# Panels

COLOURS = {
    "before": "#6b7480",
    "after": "#0b57a4",
    "refitted": "#8a5a00",
    "m1": "#a34700",
    "m2": "#1f7a3d",
    "m3": "#6f3bb3",
    "m4": "#a3195b",
    "frontier": "#0b57a4",
    "grid": "#9a9a9a",
    "chance": "#d4d4d4",
    "undefined": "#e6e6e6",
    "known": "#8a5a00",
    "first": "#6f3bb3",
    "second": "#a34700",
    "weight": "#8a5a00",
    "p0": "#9fb4c7",
    "p1": "#b8431f",
    "p2": "#5b4a9c",
}
"""Colours of the style sheet of pages, in daylight, by class."""
_SHAPES = {"circle": "o", "square": "s", "diamond": "D", "up": "^", "down": "v"}
_SHAPES |= {"stroke": "|", "bar": "s", "none": ""}
_PALE = ("chance", "undefined", "part p0")  # bars on which text is dark
_DARK = 0.55  # strength of a colour from which text on it is white
_STRIPE, _GRID = "#f6f6f6", "#e2e2e2"
_DARKEST = 0.87  # of a scale of shades, whose end looks like black
_CHARACTERS = 13  # in an inch of a legend
_INSIDE = 4  # names, of a legend for which there is room between the curves
_LONG = 6  # characters of a tick from which all are tilted
_WIDTH = 46  # characters of the name of a row


def colour_of(css: str) -> str:
    """Return the colour of classes, the last that has one; else that of text."""
    # "shade 0.3" is a place on a scale from light to dark.
    if css.startswith("shade "):
        scale = load_matplotlib().colormaps["viridis_r"]
        return str(load_matplotlib("colors").to_hex(scale(_DARKEST * float(css.split()[1]))))
    return next((COLOURS[word] for word in reversed(css.split()) if word in COLOURS), INK)


def draw_panel(axes: Axes, panel: Panel) -> None:
    """Draw a panel on axes."""
    # Draw it last: its names are placed in the layout that the figure then has.
    for bar in panel.bars:
        _draw_bar(axes, bar)
    for path in panel.paths:
        wide = 1.2 if path.css.startswith(("frontier", "whisker", "shade")) else 1.0
        dashes = "--" if path.css.endswith("effect") else "-"
        colour = colour_of(path.css)
        axes.plot(*zip(*path.places, strict=True), color=colour, ls=dashes, lw=wide, zorder=2)
    for dot in panel.dots:
        colour = colour_of(dot.look.css)
        if dot.ends is not None:
            axes.plot(*zip(*dot.ends, strict=True), color=colour, lw=1.8, zorder=3)
        style = marker_of(dot.look, dot.size)
        axes.plot([dot.place[0]], [dot.place[1]], **style, zorder=4)
    _draw_axes(axes, panel)
    names: dict[tuple[float, float], list[str]] = {}
    for dot in panel.dots:
        known = names.setdefault(dot.place, [])
        known += [dot.name] if dot.name and dot.name not in known else []
    named = {place: ", ".join(of) for place, of in names.items() if of}
    if named:
        label_points(axes, np.array(list(named)), list(named.values()))


def _draw_axes(axes: Axes, panel: Panel) -> None:
    """Draw what is around the marks: titles, ticks, names of rows, and the legend."""
    axes.set(xlabel=panel.x, ylabel=panel.y, title=panel.title)
    if panel.sides:
        axes.set_title(f"← {panel.sides[0]}", loc="left", color=colour_of("second"))
        axes.set_title(f"{panel.sides[1]} →", loc="right", color=colour_of("first"))
    if panel.ticks:
        ticks = panel.shown_ticks() if panel.axes else panel.ticks
        long = max(map(len, ticks.values())) > _LONG
        axes.set_xticks([*ticks], [*ticks.values()], **(_TILTED if long else {}))
    if panel.rows:
        _draw_rows(axes, panel.rows, lines=panel.axes)
    else:
        axes.margins(0.08)
    if panel.ends is not None:
        axes.set_xlim(panel.ends)
    if panel.floor is not None:
        axes.set_ylim(bottom=min(panel.floor, axes.get_ylim()[0]))
    if panel.legend:
        beside = _BESIDE if len(panel.legend) > _INSIDE or panel.rows else {}
        axes.legend(handles=_handles(panel.legend), **_LEGEND, **beside)


def _draw_bar(axes: Axes, bar: Bar) -> None:
    """Draw a rectangle, and its name in it."""
    height, middle = bar.bottom - bar.top, (bar.top + bar.bottom) / 2
    colour, strength = colour_of(bar.css), bar.strength
    wide = bar.high - bar.low
    axes.barh(middle, wide, height, left=bar.low, color=colour, alpha=strength, lw=0, zorder=1)
    if bar.name:
        ink = "white" if strength > _DARK and bar.css not in _PALE else INK
        x = (bar.low + bar.high) / 2
        axes.text(x, middle, bar.name, ha="center", va="center", color=ink, size=8)


_TILTED: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
_BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
_LEGEND: dict[str, Any] = {"frameon": False, "fontsize": 8, "handletextpad": 0.3}


def _handles(legend: Iterable[tuple[str, Look]]) -> list[Any]:
    new = load_matplotlib("lines").Line2D
    dashed = {"ls": "--", "lw": 1.0}
    return [
        new([], [], label=name, **marker_of(look) | (dashed if look.css.endswith("effect") else {}))
        for name, look in legend
    ]


def draw_legend(
    axes: Axes, legend: Sequence[tuple[str, Look]], below: str = "", *, outside: bool
) -> None:
    """Name the looks of all panels of a figure, with a line below; of insets in the first."""
    figure: Any = axes.figure
    width = figure.get_figwidth() if outside else axes.get_window_extent().width / figure.dpi
    longest = max(len(name) for name, _ in legend)
    columns = max(1, min(len(legend), int(width * _CHARACTERS / (longest + 8))))
    about = _LEGEND | {"title": below, "title_fontsize": 8, "ncols": columns}
    above = {} if below else {"loc": "lower right", "bbox_to_anchor": (1, 1)}
    owner, place = (figure, {"loc": "outside lower left"}) if outside else (axes, above)
    owner.legend(handles=_handles(legend), **about, **place)


def marker_of(look: Look, size: float = 4.0) -> dict[str, Any]:
    """Return how matplotlib draws a mark."""
    colour, hollow = colour_of(look.css), bool({"before", "hollow"} & {*look.css.split()})
    face = "white" if hollow else colour
    shape = _SHAPES[look.shape]
    return {"marker": shape, "color": colour, "mfc": face, "ms": 4.5 * size / 4, "ls": "none"}


def row_lines(name: str) -> list[str]:
    """Return the lines in which the name of a row is written."""
    return textwrap.wrap(name, _WIDTH) or [""]


def _draw_rows(axes: Axes, rows: Sequence[Row], *, lines: bool) -> None:
    """Name the rows, and with `lines` shade every other one and draw those of the axis."""
    for row in rows[1::2] if lines else ():
        axes.axhspan(row.top, row.bottom, color=_STRIPE, linewidth=0, zorder=0)
    middles = [(row.top + row.bottom) / 2 for row in rows]
    axes.set_yticks(middles, ["\n".join(row_lines(row.name)) for row in rows])
    axes.set_ylim(rows[-1].bottom, 0.0)
    axes.tick_params(axis="y" if lines else "both", length=0)
    axes.spines[["top", "right", "left", *([] if lines else ["bottom"])]].set_visible(False)
    axes.use_sticky_edges = False
    axes.margins(x=0.04)
    if lines:
        axes.grid(axis="x", color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)


# Names beside points

_NEAR = 7.0  # points from a mark beyond which its label needs a line
_PAD = 1.0  # points around a name to keep free


def label_points(axes: Axes, points: NDArray[np.float64], names: Sequence[str]) -> None:
    """Write each name where it covers the fewest marks, (n, 2), other names and their lines."""
    # Names are placed one after another, then each again now that the others have a place. The
    # layout of the figure is final; the names take no part in it.
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
