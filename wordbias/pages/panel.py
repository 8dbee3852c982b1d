"""What a figure shows, described once: `svg.panel_picture` draws it on a page, `plots` on axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Place = tuple[float, float]
SERIES = ("after", "after m1", "after m2", "after m3", "after m4", "refitted")
"""Classes of what is compared, such as embeddings."""
SHAPES = ("circle", "square", "diamond", "up", "down")


@dataclass(frozen=True)
class Look:
    """Look of a mark: a class of the style sheet of pages, which gives its colour, and a shape."""

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
class Band:
    """The range by chance of some values of a row, from `top` to `bottom`."""

    low: float
    high: float
    top: float
    bottom: float


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
    dots, paths, bands, rows
        What is drawn.
    x, y
        Titles of the axes.
    ticks
        Whole numbers along the horizontal axis, such as layers, in place of round ones.
    axes
        Whether the axes mean something; else there is a frame.
    floor
        Value at which the vertical axis begins, unless there is a lower one.
    legend
        Looks with their names.
    title
        Title above.
    """

    dots: Sequence[Dot]
    paths: Sequence[Path] = ()
    bands: Sequence[Band] = ()
    rows: Sequence[Row] = ()
    x: str = ""
    y: str = ""
    ticks: Sequence[int] = ()
    axes: bool = True
    floor: float | None = None
    legend: Sequence[tuple[str, Look]] = ()
    title: str = ""

    def places(self) -> list[Place]:
        """Return all places that the axes must hold."""
        found = [place for dot in self.dots for place in (dot.place, *(dot.ends or ()))]
        found += [place for path in self.paths for place in path.places]
        found += [(x, band.top) for band in self.bands for x in (band.low, band.high)]
        return found
