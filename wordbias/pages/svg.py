"""Primitives of our pictures: scales, ticks, axes and marks, coloured by the page's classes.

A picture is 360 units wide, which is a phone's width; a desk shows it a little larger. Text is 11
units high, so that it can be read on both.

Names beside the points of a scatter, placed so that they cover little.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.pages.section import Markup, element

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 360.0
_EQUAL = 1e-12
_CHARACTER = 5.9  # mean width of a character of 11 units, a little too wide on purpose


@dataclass(frozen=True)
class Scale:
    """A linear map from values to places."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Return about `count` round values within the scale."""
        return ticks(self.low, self.high, count)


def scale(values: Iterable[float], start: float, end: float, pad: float = 0.04) -> Scale:
    """Fit a scale to values, with a little room on both sides; equal values get some, too.

    Values that differ by rounding only are equal: there is no round number between them.
    """
    known = list(values)
    low, high = min(known), max(known)
    apart = high - low > max(_EQUAL * max(abs(low), abs(high)), sys.float_info.min)
    room = (high - low) * pad if apart else max(abs(high), 1.0) * 0.05
    return Scale(low - room, high + room, start, end)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Choose multiples of 1, 2 or 5 times a power of ten, `count` or fewer of them if possible."""
    rough = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def drawing(height: float, title: str, text: str, *content: object, width: float = WIDTH) -> Markup:
    """Write a picture; `title` and `text` are read out to whoever cannot see it."""
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
    """Draw a circle, square or diamond around a place."""
    if shape == "circle":
        return element("circle", cx=x, cy=y, r=size, class_=class_)
    half = size * 0.9
    turned = f"rotate(45 {x:.2f} {y:.2f})" if shape == "diamond" else None
    place: dict[str, Any] = {"x": x - half, "y": y - half, "width": 2 * half, "height": 2 * half}
    return element("rect", **place, transform=turned, class_=class_)


def hovered(text: str, *content: object) -> Markup:
    """Group marks that say something when the pointer rests on them."""
    return element("g", element("title", text), *content)


def axis(along: Scale, top: float, bottom: float, name: str, count: int = 5) -> Markup:
    """Draw a horizontal axis below: grid lines, ticks and what it measures."""
    parts = []
    for value in along.ticks(count):
        x = along(value)
        parts.append(line(x, top, x, bottom, "grid"))
        parts.append(label(x, bottom + 13, signed(value), anchor="middle", class_="tick"))
    middle = (along.start + along.end) / 2
    parts.append(label(middle, bottom + 28, name, anchor="middle", class_="axis"))
    return element("g", *parts)


def signed(value: float) -> str:
    """Write a tick: few digits and a true minus."""
    return f"{value + 0.0:g}".replace("-", "−")


def fitted(text: str, room: float) -> str:
    """Cut text that is wider than `room`."""
    most = max(int(room / _CHARACTER), 1)
    return text if len(text) <= most else text[: most - 1] + "…"


def legend(entries: Sequence[tuple[str, Markup]], x: float, y: float) -> Markup:
    """Write marks with their names in one line; each mark is drawn around 0, 0."""
    parts = []
    for name, symbol in entries:
        parts.append(element("g", symbol, transform=f"translate({x + 5:.1f} {y - 4:.1f})"))
        parts.append(label(x + 14, y, name, class_="tick"))
        x += 26 + _CHARACTER * len(name)
    return element("g", *parts)


INK = "#222222"
_NEAR = 7.0  # points from a mark beyond which its label needs a line
_MARK = 3.5  # points around a mark to keep free
_PAD = 1.0  # points around a name to keep free
_STEPS = 8  # boxes that stand for a line
_SWEEPS = 3  # times that all names are placed again
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
        In a figure that is laid out for good but for these names, which take no part in that.
    points
        Shape ``(n, 2)``.
    names
        One a point.
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
    offsets = _offsets(boxes / scale - np.tile(marks, 2), marks, frame)
    for text, offset, size, point, mark in zip(
        texts, offsets, boxes / scale, points, marks, strict=True
    ):
        text.set_position(tuple(offset.tolist()))
        end = np.clip(mark, size[:2] + offset, size[2:] + offset)
        if np.hypot(*(end - mark)) > _NEAR:
            _lead(axes, point, end * scale)


def _offsets(
    sizes: NDArray[np.float64], marks: NDArray[np.float64], frame: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Choose where names go, relative to their marks, all in points; shape ``(n, 2)``."""
    blocked = np.hstack([marks - _MARK, marks + _MARK])
    offsets = np.zeros((len(marks), 2))
    placed: dict[int, NDArray[np.float64]] = {}
    for i in [*_crowded_first(marks), *list(range(len(marks))) * _SWEEPS]:
        others = [boxes for j, boxes in placed.items() if j != i]
        taken = np.vstack([np.delete(blocked, i, axis=0), *others])
        offsets[i] = _offset(sizes[i], marks[i], taken, frame)
        box = sizes[i] + np.tile(marks[i] + offsets[i], 2)
        placed[i] = np.vstack([box, _line_boxes(marks[i], box)])
    return offsets


def _crowded_first(marks: NDArray[np.float64]) -> list[int]:
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


def _lead(axes: Axes, point: NDArray[np.float64], end: NDArray[np.float64]) -> None:
    """Draw a thin line from a point to a place in the window."""
    x, y = np.stack([point, axes.transData.inverted().transform(end)], axis=1)
    axes.plot(x, y, color="#999999", lw=0.6, zorder=1)[0].set_in_layout(False)
