"""What a figure shows, described once: `svg.panel_picture` draws it on a page, `plots` on axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
Place = tuple[float, float]
SERIES = ("after", "after m1", "after m2", "after m3", "after m4", "refitted")
"""Classes of what is compared, such as embeddings."""
_MANY = 14
SHAPES = ("circle", "square", "diamond", "up", "down")


@dataclass(frozen=True)
class Look:
    """Look of a mark: a class of the style sheet of pages, which gives its colour, and a shape.

    Besides `SHAPES` there are ``stroke``, an upright line, and ``bar``, as a legend shows it.
    """

    css: str
    shape: str = "circle"


@dataclass(frozen=True)
class Dot:
    """A mark.

    Attributes
    ----------
    place, look
        Coordinates of the values, and the look.
    ends
        Ends of the interval, drawn as a line.
    text
        What a page shows where the pointer rests.
    name, strong
        Name beside the mark, left out where it would cover others; strong ones come first.
    size
        Size on a page, of 4.
    """

    place: Place
    look: Look
    ends: tuple[Place, Place] | None = None
    text: str = ""
    name: str = ""
    strong: bool = False
    size: float = 4.0


@dataclass(frozen=True)
class Path:
    """A line through places; `css` is its class: ``frontier``, ``neutral``, ``whisker after``."""

    places: Sequence[Place]
    css: str


@dataclass(frozen=True)
class Bar:
    """A rectangle between two values, from `top` to `bottom`: a share, a cell, a range by chance.

    Attributes
    ----------
    low, high, top, bottom
        Its sides.
    css, strength
        Class of its colour, and how much of the colour it has, at most 1.
    name
        Text inside, left out where it does not fit.
    text
        What a page shows where the pointer rests.
    """

    low: float
    high: float
    top: float
    bottom: float
    css: str = "chance"
    strength: float = 1.0
    name: str = ""
    text: str = ""


@dataclass(frozen=True)
class Row:
    """A named row of a panel without a vertical axis; rows begin at 0 and go down.

    Attributes
    ----------
    name, top, bottom
        Name and ends of the row.
    text
        What a page shows where the pointer rests.
    """

    name: str
    top: float
    bottom: float
    text: str = ""


@dataclass(frozen=True)
class Panel:
    """Marks on two axes, or on one axis and named rows.

    Attributes
    ----------
    dots, paths, bars, rows
        What is drawn.
    x, y
        Titles of the axes.
    ticks
        Texts along the horizontal axis by their places, such as layers, in place of round values.
    ends
        Ends of the horizontal axis, in place of those of what is drawn.
    axes
        Whether the axes mean something; else there is a frame, or of rows nothing.
    floor
        Value at which the vertical axis begins, unless there is a lower one.
    legend
        Looks with their names.
    title
        Title above.
    sides
        Names of the left and the right end.
    step, beside
        Units of a page that a row of height one takes, and that names take beside the rows; with 0
        they are above what is drawn.
    """

    dots: Sequence[Dot] = ()
    paths: Sequence[Path] = ()
    bars: Sequence[Bar] = ()
    rows: Sequence[Row] = ()
    x: str = ""
    y: str = ""
    ticks: Mapping[float, str] = field(default_factory=dict)
    ends: Place | None = None
    axes: bool = True
    floor: float | None = None
    legend: Sequence[tuple[str, Look]] = ()
    title: str = ""
    sides: tuple[str, str] | None = None
    step: float = 30.0
    beside: float = 0.0

    def shown_ticks(self) -> Mapping[float, str]:
        """Return the ticks, every other or every fourth of many."""
        return dict(thinned([*self.ticks.items()]))

    def places(self) -> list[Place]:
        """Return all places that the axes must hold."""
        found = [place for dot in self.dots for place in (dot.place, *(dot.ends or ()))]
        found += [place for path in self.paths for place in path.places]
        found += [(x, bar.top) for bar in self.bars for x in (bar.low, bar.high)]
        return found


def thinned(several: Sequence[T]) -> Sequence[T]:
    """Return every other, or every fourth, of many that would have no room beside each other."""
    return several[:: 1 if len(several) <= _MANY else 2 if len(several) <= 2 * _MANY else 4]
