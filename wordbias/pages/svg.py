"""Primitives of SVG pictures: scales, ticks, axes and marks, coloured by the classes of the page.

A picture is 360 units wide, the width of a phone; a desktop shows it a little larger. Text is 11
units high, so that it can be read on both.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.pages.names import name_offsets, shown_names
from wordbias.pages.panel import Bar, Dot, Look, Panel, Path, Place
from wordbias.pages.section import Markup, element, joined

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
    """Fit a scale to values, with a margin on both sides, also around equal values."""
    # Values that differ only by rounding are equal: there is no round number between them.
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


def mark(x: float, y: float, class_: str, *, shape: str = "circle", size: float = 4.0) -> Markup:
    """Draw a mark of one of the shapes around a point."""
    if shape == "circle":
        return element("circle", cx=x, cy=y, r=size, class_=class_)
    if shape in ("up", "down"):
        tip = -size if shape == "up" else size
        corners = ((x - size, y - tip * 0.8), (x + size, y - tip * 0.8), (x, y + tip * 1.1))
        points = " ".join(f"{px:.2f},{py:.2f}" for px, py in corners)
        return element("polygon", points=points, class_=class_)
    if shape == "stroke":
        return line(x, y - size, x, y + size, class_)
    half = size * (1.2 if shape == "bar" else 0.9)
    turned = f"rotate(45 {x:.2f} {y:.2f})" if shape == "diamond" else None
    place: dict[str, Any] = {"x": x - half, "y": y - half, "width": 2 * half, "height": 2 * half}
    return element("rect", **place, transform=turned, class_=class_)


def hovered(text: str, *content: object) -> Markup:
    """Group marks with a text that shows when the pointer rests on them."""
    return element("g", element("title", text), *content)


def axis(
    along: Scale, top: float, bottom: float, name: str, texts: Mapping[float, str], count: int = 5
) -> Markup:
    """Draw a horizontal axis below: ticks and its name; grid lines where no texts are given."""
    parts = []
    for value in [*texts] or along.ticks(count):
        x = along(value)
        ends = (bottom, bottom + 3, "tick-line") if texts else (top, bottom, "grid")
        parts.append(line(x, ends[0], x, ends[1], ends[2]))
        text = texts.get(value, signed(value))
        parts.append(label(x, bottom + 13, text, anchor="middle", class_="tick"))
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


def legend(entries: Sequence[tuple[str, Look]], x: float, y: float, end: float = WIDTH) -> Markup:
    """Write marks with their names, in one or more lines."""
    parts = []
    for (name, look), (left, lower) in zip(entries, _places(entries, x, end), strict=True):
        top = y + lower
        drawn = mark(0, 0, _class(look), shape=look.shape)
        parts.append(element("g", drawn, transform=f"translate({left + 5:.1f} {top - 4:.1f})"))
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
_SMALL_EDGE = 4.0  # of a legend, and where no axis is
_THIN = 1.5  # least width of a rectangle
NAME_HEIGHT = 10.0
"""Units of a row that its name takes."""
_PLOT, _FRAME = 226.0, 270.0  # heights of a panel with and without a vertical axis
_ASCENT, _DESCENT = 9.0, 3.0  # of text of 11 units
_PAD = 2.0  # units to keep free beside a name
_BOLD = 1.15  # width of bold text, of that of other text
_NEAR = 9.0  # units from a mark beyond which its name needs a line


def panel_picture(
    panel: Panel, title: str, text: str, *, width: float = WIDTH, right: Panel | None = None
) -> Markup:
    """Draw a panel on a page; `title` and `text` are for screen readers."""
    # A picture of less than half the width of a page has a small axis; `right` are the same rows
    # again, in the right half.
    top, parts = 4.0, list[Markup]()
    if panel.legend:
        start = _EDGE if panel.axes else _SMALL_EDGE
        parts.append(legend(panel.legend, start, 13))
        top = 11.0 + _LINE + legend_height([name for name, _ in panel.legend], start)
    if not panel.rows:
        height = _on_axes(panel, top if panel.legend else 11.0, parts)
    else:
        height = _in_rows(panel, (0.0, width if right is None else width / 2), top, parts)
        if right is not None:
            _in_rows(right, (width / 2 + _EDGE, width), top, parts)
    return drawing(height, title, text, *parts, width=width)


def legend_picture(entries: Sequence[tuple[str, Look]]) -> Markup:
    """Draw a legend alone."""
    height = 18 + legend_height([name for name, _ in entries], _SMALL_EDGE)
    title, text = "Marks of the pictures", ", ".join(name for name, _ in entries)
    return drawing(height, title, text, legend(entries, _SMALL_EDGE, 13))


def _in_rows(panel: Panel, within: Place, top: float, parts: list[Markup]) -> float:
    """Draw named rows, and return the height down to their end."""
    wide = within[1] - within[0]
    end = within[1] - (_EDGE if panel.axes else _SMALL_EDGE)
    start = within[0] + (panel.beside or (_EDGE if panel.axes else _SMALL_EDGE))
    if panel.sides:
        top += 14.0
        left, right = f"← {panel.sides[0]}", f"{panel.sides[1]} →"
        parts.append(label(start, top - 5, left, class_="side second"))
        parts.append(label(end, top - 5, right, anchor="end", class_="side first"))
    bottom = top + panel.step * panel.rows[-1].bottom
    across = scale([x for x, _ in panel.places()], start, end)
    if panel.ends is not None:
        across = Scale(*panel.ends, start, end)
    ticks = panel.shown_ticks()
    if wide < WIDTH / 2 - _EDGE:
        parts.append(line(start - 6, bottom, end + 6, bottom, "grid"))
        few = across.ticks(3)
        ticks = {value: signed(value) for value in (*few[:1], *few[-1:])}
    if panel.axes:
        count = 5 if wide > WIDTH / 2 else 3
        parts.append(axis(across, top, bottom, panel.x, ticks, count))
    parts += _rows(panel, across, Scale(0.0, panel.rows[-1].bottom, top, bottom))
    return bottom + ((34 if panel.x else 15) if panel.axes else 4)


def _on_axes(panel: Panel, top: float, parts: list[Markup]) -> float:
    """Draw marks on two axes or in a frame, and return the height down to their end."""
    xs, ys = zip(*panel.places(), strict=True)
    if panel.y:
        parts.append(label(0, top, panel.y, class_="axis"))
        top += _LINE
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
        parts += [_heights(down), axis(across, top, bottom, panel.x, panel.shown_ticks())]
    parts += [_bar(bar, across, down) for bar in panel.bars]
    parts += [_path(path, across, down) for path in panel.paths]
    parts += [_dot(dot, across, down) for dot in panel.dots]
    named = [dot for dot in panel.dots if dot.name]
    parts += _names(named, across, down, np.array([0.0, 2 - bottom, WIDTH, 8 - top]))
    return bottom + (34 if panel.axes else 1)


def _heights(down: Scale) -> Markup:
    """Draw grid lines and ticks of the vertical axis."""
    parts = []
    for value in down.ticks():
        y = down(value)
        parts.append(line(_LEFT, y, WIDTH - 8, y, "grid"))
        parts.append(label(_LEFT - 4, y + 4, signed(value), anchor="end", class_="tick"))
    return element("g", *parts)


def _rows(panel: Panel, across: Scale, down: Scale) -> list[Markup]:
    """Draw each row: its name above or beside what is drawn in it."""
    parts = []
    for row in panel.rows:
        top, bottom = down(row.top), down(row.bottom)
        above = row.name and not panel.beside
        own = Scale(row.top, row.bottom, top + (NAME_HEIGHT if above else 0.0), bottom)
        inside = [
            _bar(bar, across, own)
            for bar in panel.bars
            if row.top <= bar.top and bar.bottom <= row.bottom
        ]
        inside += [
            _path(path, across, own)
            for path in panel.paths
            if row.top <= path.places[0][1] and path.places[-1][1] <= row.bottom
        ]
        if above:
            name = fitted(row.name, WIDTH - 2 * _EDGE)
            inside.append(label(across.start, top + 10, name, class_="name halo"))
        elif row.name:
            name, end = fitted(row.name, panel.beside - 8), across.start - 8
            inside.append(label(end, (top + bottom) / 2 + 4, name, anchor="end", class_="name"))
        inside += [
            _dot(dot, across, own) for dot in panel.dots if row.top < dot.place[1] <= row.bottom
        ]
        parts.append(hovered(row.text, *inside) if row.text else joined(inside))
    return parts


def _bar(bar: Bar, across: Scale, down: Scale) -> Markup:
    """Draw a rectangle, and its name where it fits."""
    x, y, wide, high = across(bar.low), down(bar.top), across(bar.high), down(bar.bottom)
    size = {"x": x, "y": y, "width": max(wide - x, _THIN), "height": high - y}
    strength = None if bar.strength == 1 else bar.strength
    drawn = [element("rect", **size, class_=bar.css, fill_opacity=strength)]
    if bar.name and CHARACTER * len(bar.name) + 2 * _PAD < wide - x:
        looks = f"on {bar.css.split()[-1]}"
        place = (x + wide) / 2, (y + high) / 2 + 4
        drawn.append(label(*place, bar.name, anchor="middle", class_=looks))
    return hovered(bar.text, *drawn) if bar.text else joined(drawn)


def _class(look: Look) -> str:
    """Return the class of a mark; one of many points, a bar and a stroke have no rim."""
    plain = look.css.startswith("point ") or look.shape in ("bar", "stroke")
    return look.css if plain else f"mark {look.css}"


def _path(path: Path, across: Scale, down: Scale) -> Markup:
    points = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in path.places)
    return element("polyline", points=points, class_=path.css)


def _dot(dot: Dot, across: Scale, down: Scale) -> Markup:
    """Draw a mark with its interval."""
    x, y = dot.place
    drawn = [mark(across(x), down(y), _class(dot.look), shape=dot.look.shape, size=dot.size)]
    if dot.ends is not None:
        (x1, y1), (x2, y2) = dot.ends
        css = f"whisker {dot.look.css}"
        drawn.insert(0, line(across(x1), down(y1), across(x2), down(y2), css))
    return hovered(dot.text, *drawn) if dot.text else joined(drawn)


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
