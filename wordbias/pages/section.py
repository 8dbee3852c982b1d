"""What a report consists of, before it is a page or a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wordbias.pages.markup import Markup
from wordbias.rendering import Table


@dataclass(frozen=True)
class Figure:
    """A picture, a sentence that says what it shows, and one for what it does not."""

    title: str
    picture: Markup
    shows: str
    not_shown: str


@dataclass(frozen=True)
class Grid:
    """A table with, where there are any, a small picture beside each line.

    Attributes
    ----------
    table
        Its cells; the first of each line is what the line is about.
    pictures
        One a line, or none.
    shades
        For each cell but the first of a line, 0 to 9 or None; empty is no shading.
    stacked
        Whether a phone shows each line as a block; else the table scrolls by itself.
    folded
        Whether the table says no more than a picture above it, and is folded away.
    """

    table: Table
    pictures: Sequence[Markup] = ()
    shades: Sequence[Sequence[int | None]] = ()
    stacked: bool = True
    folded: bool = False


@dataclass(frozen=True)
class Section:
    """One thing that was looked at.

    Attributes
    ----------
    key
        Its place in the page's address, ``#key``.
    title, lead
        What it is called, and what it asks, a paragraph each.
    figures, grids
        In this order.
    method
        How it was computed and who proposed it, folded below.
    """

    key: str
    title: str
    lead: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    grids: Sequence[Grid] = ()
    method: Sequence[str] = ()
