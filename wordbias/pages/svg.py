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
    """Draw a circle, square or diamond around a point."""
    if shape == "circle":
        return element("circle", cx=x, cy=y, r=size, class_=class_)
    half = size * 0.9
    turned = f"rotate(45 {x:.2f} {y:.2f})" if shape == "diamond" else None
    place: dict[str, Any] = {"x": x - half, "y": y - half, "width": 2 * half, "height": 2 * half}
    return element("rect", **place, transform=turned, class_=class_)


def hovered(text: str, *content: object) -> Markup:
    """Group marks with a text that shows when the pointer rests on them."""
    return element("g", element("title", text), *content)


def axis(along: Scale, top: float, bottom: float, name: str, count: int = 5) -> Markup:
    """Draw a horizontal axis below: grid lines, ticks and its name."""
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


def fitted(text: str, width: float) -> str:
    """Cut text that is wider than `width`."""
    most = max(int(width / CHARACTER), 1)
    return text if len(text) <= most else text[: most - 1] + "…"


def legend(entries: Sequence[tuple[str, Markup]], x: float, y: float) -> Markup:
    """Write marks with their names in one line; each mark is given around (0, 0)."""
    parts = []
    for name, symbol in entries:
        parts.append(element("g", symbol, transform=f"translate({x + 5:.1f} {y - 4:.1f})"))
        parts.append(label(x + 14, y, name, class_="tick"))
        x += 26 + CHARACTER * len(name)
    return element("g", *parts)
