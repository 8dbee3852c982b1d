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
    """Look of a mark: a class of the style sheet of pages, which gives its colour, and a shape."""

    # Besides `SHAPES` there are `stroke`, an upright line, and `bar`, as a legend shows it.

    css: str
    shape: str = "circle"


@dataclass(frozen=True)
class Dot:
    """A mark."""

    place: Place  # coordinates of the values, and the look
    look: Look
    ends: tuple[Place, Place] | None = None  # ends of the interval, drawn as a line
    text: str = ""  # what a page shows where the pointer rests
    # name beside the mark, left out where it would cover others; strong ones come first
    name: str = ""
    strong: bool = False
    size: float = 4.0  # size on a page, of 4


@dataclass(frozen=True)
class Path:
    """A line through places; `css` is its class: ``frontier``, ``neutral``, ``whisker after``."""

    places: Sequence[Place]
    css: str


@dataclass(frozen=True)
class Bar:
    """A rectangle between two values: a share, a cell, a range by chance."""

    low: float
    high: float
    top: float
    bottom: float
    css: str = "chance"  # class of its colour, and how much of the colour it has, at most 1
    strength: float = 1.0
    name: str = ""  # text inside, left out where it does not fit
    text: str = ""  # what a page shows where the pointer rests


@dataclass(frozen=True)
class Row:
    """A named row of a panel without a vertical axis; rows begin at 0 and go down."""

    name: str
    top: float
    bottom: float
    text: str = ""  # what a page shows where the pointer rests


@dataclass(frozen=True)
class Panel:
    """Marks on two axes, or on one axis and named rows."""

    dots: Sequence[Dot] = ()
    paths: Sequence[Path] = ()
    bars: Sequence[Bar] = ()
    rows: Sequence[Row] = ()
    x: str = ""
    y: str = ""
    # texts along the horizontal axis by their places, such as layers, in place of round values
    ticks: Mapping[float, str] = field(default_factory=dict)
    ends: Place | None = None  # ends of the horizontal axis, in place of those of what is drawn
    axes: bool = True  # whether the axes mean something; else there is a frame, or of rows nothing
    # value at which the vertical axis begins, unless there is a lower one
    floor: float | None = None
    legend: Sequence[tuple[str, Look]] = ()
    title: str = ""
    sides: tuple[str, str] | None = None  # names of the left and the right end
    # units of a page that a row of height one takes, and that names take beside the rows; with 0
    # they are above what is drawn
    step: float = 30.0
    beside: float = 0.0

    def shown_ticks(self) -> Mapping[float, str]:
        """Return the ticks, every other or every fourth of many."""
        return dict(thinned([*self.ticks.items()]))

    def places(self) -> list[Place]:
        """Return all places that the axes must hold."""
        places = [place for dot in self.dots for place in (dot.place, *(dot.ends or ()))]
        places += [place for path in self.paths for place in path.places]
        places += [(x, bar.top) for bar in self.bars for x in (bar.low, bar.high)]
        return places


def thinned(several: Sequence[T]) -> Sequence[T]:
    """Return every other, or every fourth, of many that would have no room beside each other."""
    return several[:: 1 if len(several) <= _MANY else 2 if len(several) <= 2 * _MANY else 4]
