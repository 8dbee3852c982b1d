"""What a report consists of, before it is a page or a document.

HTML and SVG as text that is escaped exactly once.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from wordbias.errors import printable
from wordbias.rendering import Table

_VOID = frozenset({"meta", "br", "hr", "col"})
_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


class Markup(str):
    """Text that is markup already and is not escaped again."""

    __slots__ = ()


def escape(content: object) -> Markup:
    """Escape what a user gave, as far as it can be seen."""
    if isinstance(content, Markup):
        return content
    return Markup(html.escape(printable(str(content)), quote=True))


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Join parts, each escaped unless it is markup."""
    return Markup(between.join(escape(part) for part in parts))


def element(tag: str, *children: object, **attributes: Any) -> Markup:
    """Write an element.

    Parameters
    ----------
    tag
        Its name.
    children
        Markup, or text to be escaped.
    attributes
        Those that are None are left out; ``class_`` is class, and ``data_label`` data-label.
    """
    said = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = joined(children)
    return Markup(f"<{tag}{said}>" if tag in _VOID else f"<{tag}{said}>{inside}</{tag}>")


def script_data(value: Any, identity: str) -> Markup:
    """Embed a value as JSON that no browser runs and no content can end early."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=str)
    return Markup(
        f'<script type="application/json" id="{escape(identity)}">'
        f"{text.translate(_IN_SCRIPT)}</script>"
    )


def _plain(value: Any) -> str:
    """Write a coordinate with two decimals at most: a page is mailed."""
    return f"{round(value, 2):g}" if isinstance(value, float) else str(value)


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
