"""Primitives of SVG pictures: scales, ticks, axes and marks, coloured by the classes of the page.

A picture is 360 units wide, the width of a phone; a desktop shows it a little larger. Text is 11
units high, so that it can be read on both.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.pages.names import name_offsets, shown_names
from wordbias.pages.panel import Dot, Look, Panel, Path
from wordbias.pages.section import Markup, element

WIDTH = 360.0
_EQUAL = 1e-12
CHARACTER = 5.9
"""Mean width of a character of 11 units, a little too wide on purpose."""


@dataclass(frozen=True)
class Scale:
    """A linear map from values to coordinates."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Return about `count` round values within the scale."""
        return ticks(self.low, self.high, count)


def scale(values: Iterable[float], start: float, end: float, pad: float = 0.04) -> Scale:
    """Fit a scale to values, with a margin on both sides, also around equal values.

    Values that differ only by rounding are equal: there is no round number between them.
    """
    known = list(values)
    low, high = min(known), max(known)
    differ = high - low > max(_EQUAL * max(abs(low), abs(high)), sys.float_info.min)
    margin = (high - low) * pad if differ else max(abs(high), 1.0) * 0.05
    return Scale(low - margin, high + margin, start, end)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Choose multiples of 1, 2 or 5 times a power of ten, `count` or fewer of them if possible."""
    rough = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def drawing(height: float, title: str, text: str, *content: object, width: float = WIDTH) -> Markup:
    """Write a picture; `title` and `text` are for screen readers."""
    return element(
        "svg",
        element("title", title),
        element("desc", text),
        *content,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=f"{title}. {text}",
    )


def label(
    x: float, y: float, content: object, *, anchor: str = "start", class_: str | None = None
) -> Markup:
    """Write text whose baseline is at `y`."""
    anchor_ = None if anchor == "start" else anchor
    return element("text", content, x=x, y=y, text_anchor=anchor_, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Draw a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def bar(x: float, y: float, width: float, height: float, class_: str, *content: object) -> Markup:
    """Draw a rectangle."""
    return element(
        "rect", *content, x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), class_=class_
    )


def mark(x: float, y: float, class_: str, *, shape: str = "circle", size: float = 4.0) -> Markup:
    """Draw a circle, square, diamond or triangle around a point."""
    if shape == "circle":
        return element("circle", cx=x, cy=y, r=size, class_=class_)
    if shape in ("up", "down"):
        tip = -size if shape == "up" else size
        corners = ((x - size, y - tip * 0.8), (x + size, y - tip * 0.8), (x, y + tip * 1.1))
        points = " ".join(f"{px:.2f},{py:.2f}" for px, py in corners)
        return element("polygon", points=points, class_=class_)
    half = size * 0.9
    turned = f"rotate(45 {x:.2f} {y:.2f})" if shape == "diamond" else None
    place: dict[str, Any] = {"x": x - half, "y": y - half, "width": 2 * half, "height": 2 * half}
    return element("rect", **place, transform=turned, class_=class_)


def hovered(text: str, *content: object) -> Markup:
    """Group marks with a text that shows when the pointer rests on them."""
    return element("g", element("title", text), *content)


def axis(
    along: Scale, top: float, bottom: float, name: str, count: int = 5, whole: Sequence[int] = ()
) -> Markup:
    """Draw a horizontal axis below: grid lines, ticks and its name; whole numbers have no lines."""
    step = 1 if len(whole) <= 14 else 2 if len(whole) <= 28 else 4
    parts = []
    for value in whole[::step] or along.ticks(count):
        x = along(value)
        parts += [] if whole else [line(x, top, x, bottom, "grid")]
        parts.append(label(x, bottom + 13, signed(value), anchor="middle", class_="tick"))
    middle = (along.start + along.end) / 2
    parts.append(label(middle, bottom + 28, name, anchor="middle", class_="axis"))
    return element("g", *parts)


def signed(value: float) -> str:
    """Write a tick: few digits and a true minus."""
    return f"{value + 0.0:g}".replace("-", "−")


def fitted(text: str, width: float) -> str:
    """Cut text that is wider than `width`."""
    most = max(int(width / CHARACTER), 1)
    return text if len(text) <= most else text[: most - 1] + "…"


def legend(entries: Sequence[tuple[str, Markup]], x: float, y: float, end: float = WIDTH) -> Markup:
    """Write marks with their names, in as many lines as they need; each mark is around (0, 0)."""
    parts = []
    for (name, symbol), (left, lower) in zip(entries, _places(entries, x, end), strict=True):
        top = y + lower
        parts.append(element("g", symbol, transform=f"translate({left + 5:.1f} {top - 4:.1f})"))
        parts.append(label(left + 14, top, fitted(name, end - left - 14), class_="tick"))
    return element("g", *parts)


def legend_height(names: Sequence[str], x: float, end: float = WIDTH) -> float:
    """Return the height of a legend of these names."""
    return max((lower for _, lower in _places([(name, "") for name in names], x, end)), default=0.0)


_LINE = 15.0


def _places(
    entries: Sequence[tuple[str, object]], x: float, end: float
) -> list[tuple[float, float]]:
    """Return the left end of each entry of a legend, and how far below the first line it is."""
    places, left, lower = [], x, 0.0
    for name, _ in entries:
        width = 26 + CHARACTER * len(name)
        if left > x and left + width - 12 > end:
            left, lower = x, lower + _LINE
        places.append((left, lower))
        left += width
    return places


# Panels

_EDGE, _LEFT = 12.0, 36.0  # without and with ticks of a vertical axis
ROW_HEIGHT = 30.0
"""Units of a row of height one."""
NAME_HEIGHT = 10.0
"""Units of a row that its name takes."""
_PLOT, _FRAME = 226.0, 270.0  # heights of a panel with and without a vertical axis
_ASCENT, _DESCENT = 9.0, 3.0  # of text of 11 units
_PAD = 2.0  # units to keep free beside a name
_BOLD = 1.15  # width of bold text, of that of other text
_NEAR = 9.0  # units from a mark beyond which its name needs a line


def panel_picture(panel: Panel, title: str, text: str) -> Markup:
    """Draw a panel on a page; `title` and `text` are for screen readers."""
    xs, ys = zip(*panel.places(), strict=True)
    lines = bool(panel.legend) + bool(panel.y)
    extra = legend_height([name for name, _ in panel.legend], _EDGE)
    parts: list[object] = []
    if panel.legend:
        symbols = [(name, symbol(look)) for name, look in panel.legend]
        parts.append(legend(symbols, _EDGE, 13))
    if panel.y:
        parts.append(label(0, 11 + extra + 15 * (lines - 1), panel.y, class_="axis"))
    if panel.rows:
        top = 22.0 + extra if panel.legend else 4.0
        bottom = top + ROW_HEIGHT * panel.rows[-1].bottom
        across = scale(xs, _EDGE, WIDTH - _EDGE)
        down = Scale(0.0, panel.rows[-1].bottom, top, bottom)
        parts += [axis(across, top, bottom, panel.x), *_rows(panel, across, down)]
        return drawing(bottom + 34, title, text, *parts)
    top = 11.0 + 15 * lines + extra
    bottom = top + (_PLOT if panel.axes else _FRAME)
    across = scale(xs, _LEFT + 6, WIDTH - 14)
    down = scale(ys if panel.floor is None else [*ys, panel.floor], bottom, top)
    if panel.floor is not None:
        down = Scale(min(panel.floor, down.low), down.high, bottom, top)
    if not panel.axes:
        across = scale(xs, _EDGE, WIDTH - _EDGE)
        frame = {"x": 1, "y": top, "width": WIDTH - 2, "height": bottom - top}
        parts.append(element("rect", **frame, class_="frame"))
    else:
        whole = axis(across, top, bottom, panel.x, whole=panel.ticks)
        parts += [_heights(down), whole]
    parts += [_path(path, across, down) for path in panel.paths]
    parts += [draw_dot(dot, across, down) for dot in panel.dots]
    named = [dot for dot in panel.dots if dot.name]
    parts += _names(named, across, down, np.array([0.0, 2 - bottom, WIDTH, 8 - top]))
    return drawing(bottom + (34 if panel.axes else 1), title, text, *parts)


def _heights(down: Scale) -> Markup:
    """Draw grid lines and ticks of the vertical axis."""
    parts = []
    for value in down.ticks():
        y = down(value)
        parts.append(line(_LEFT, y, WIDTH - 8, y, "grid"))
        parts.append(label(_LEFT - 4, y + 4, signed(value), anchor="end", class_="tick"))
    return element("g", *parts)


def _rows(panel: Panel, across: Scale, down: Scale) -> list[Markup]:
    """Draw each row: its name above its marks."""
    parts = []
    for row in panel.rows:
        own = Scale(row.top, row.bottom, down(row.top) + NAME_HEIGHT, down(row.bottom))
        inside = [
            _path(path, across, own)
            for path in panel.paths
            if row.top <= path.places[0][1] and path.places[-1][1] <= row.bottom
        ]
        name = fitted(row.name, WIDTH - 2 * _EDGE)
        inside.append(label(_EDGE, down(row.top) + 10, name, class_="name halo"))
        inside += [
            draw_dot(dot, across, own) for dot in panel.dots if row.top < dot.place[1] < row.bottom
        ]
        parts.append(hovered(row.text, *inside))
    return parts


def symbol(look: Look) -> Markup:
    """Return a mark around (0, 0), for a legend."""
    return mark(0, 0, _class(look), shape=look.shape)


def _class(look: Look) -> str:
    """Return the class of a mark; one of many points has no rim."""
    return look.css if look.css.startswith("point ") else f"mark {look.css}"


def _path(path: Path, across: Scale, down: Scale) -> Markup:
    points = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in path.places)
    return element("polyline", points=points, class_=path.css)


def draw_dot(dot: Dot, across: Scale, down: Scale) -> Markup:
    """Draw a mark with its interval."""
    x, y = dot.place
    drawn = [mark(across(x), down(y), _class(dot.look), shape=dot.look.shape, size=dot.size)]
    if dot.ends is not None:
        (x1, y1), (x2, y2) = dot.ends
        css = f"whisker {dot.look.css}"
        drawn.insert(0, line(across(x1), down(y1), across(x2), down(y2), css))
    return hovered(dot.text, *drawn) if dot.text else Markup("".join(drawn))


def _names(
    dots: Sequence[Dot], across: Scale, down: Scale, frame: NDArray[np.float64]
) -> list[Markup]:
    """Write the names where they cover least, with a line to a mark that is not near."""
    if not dots:
        return []
    marks = np.array([[across(dot.place[0]), -down(dot.place[1])] for dot in dots])  # y upwards
    widths = [CHARACTER * len(dot.name) * (_BOLD if dot.strong else 1.0) for dot in dots]
    sizes = np.array([[0.0, -_DESCENT, width + 2 * _PAD, _ASCENT] for width in widths])
    boxes = sizes + np.tile(marks + name_offsets(sizes, marks, frame), 2)
    parts = []
    for i in shown_names(boxes, [dot.strong for dot in dots]):
        end = np.clip(marks[i], boxes[i, :2], boxes[i, 2:])
        if np.hypot(*(end - marks[i])) > _NEAR:
            start = float(marks[i, 0]), -float(marks[i, 1])
            parts.append(line(*start, float(end[0]), -float(end[1]), "leader"))
        looks = "name halo side" if dots[i].strong else "name halo"
        x, y = float(boxes[i, 0]) + _PAD, -float(boxes[i, 1]) - _DESCENT
        parts.append(label(x, y, dots[i].name, class_=looks))
    return parts
