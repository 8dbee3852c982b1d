"""Parts of a page: figures, tables and sections, of HTML and SVG that is escaped exactly once."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from wordbias.errors import printable
from wordbias.rendering import Table

_VOID = frozenset({"meta", "br", "hr", "col", "wbr"})
_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


class Markup(str):
    """Text that is markup already and is not escaped again."""

    __slots__ = ()


def escape(content: object) -> Markup:
    """Escape text of a user; characters that cannot be seen are replaced."""
    if isinstance(content, Markup):
        return content
    return Markup(html.escape(printable(str(content)), quote=True))


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Join parts, each escaped unless it is markup."""
    return Markup(between.join(escape(part) for part in parts))


def element(tag: str, *children: object, **attributes: Any) -> Markup:
    """Write an element; ``class_`` is class, ``data_label`` data-label, None leaves one out."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = joined(children)
    return Markup(f"<{tag}{written}>" if tag in _VOID else f"<{tag}{written}>{inside}</{tag}>")


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
class Answer:
    """One question of “In short”, a line of its table, and sentences below the table."""

    question: str  # the question; empty for sentences that answer none
    text: str = ""  # the answer in a few words; without one there is no line of the table
    figure: str = ""  # the value that it rests on, with its interval, and how sure it is
    sure: str = ""
    below: Sequence[str] = ()  # sentences that explain it

    @property
    def lines(self) -> list[str]:
        """The answer as sentences, the first of them after the question."""
        figure = "; ".join(filter(None, [self.figure, self.sure]))
        parts = [self.text, *([f"{figure}."] if figure else [])] if self.text else []
        first, *others = [" ".join(parts), *self.below] if parts else [*self.below, ""]
        return [f"{self.question} {first}".strip(), *filter(None, others)]


def answer_table(answers: Sequence[Answer]) -> Table | None:
    """Return the lines of “In short”; None without any."""
    cells = [
        [answer.question, answer.text, answer.figure, answer.sure]
        for answer in answers
        if answer.text
    ]
    heads = ["question", "answer", "figure, 95 % interval", "how sure"]
    return Table("Each question with the figure that answers it", heads, cells) if cells else None


@dataclass(frozen=True)
class Figure:
    """A picture, with a sentence on what it shows and one on what it does not show."""

    title: str
    picture: Markup
    shows: str
    not_shown: str


@dataclass(frozen=True)
class Grid:
    """A table, optionally with a small picture beside each line."""

    table: Table  # table; the first cell of each line names it
    pictures: Sequence[Markup] = ()  # one for each line, or none
    # a shade, 0 to 9 or None, for each cell but the first of a line; empty: no shading
    shades: Sequence[Sequence[int | None]] = ()
    stacked: bool = True  # show each line as a block on a phone; else the table scrolls alone
    folded: bool = False  # fold the table, which says no more than a picture above it
    legend: Markup | None = None


@dataclass(frozen=True)
class Section:
    """A section of a report."""

    key: str  # identifier, and anchor in the page, `#key`
    title: str  # title, and the question that the section answers, a string for each paragraph
    lead: Sequence[str] = ()
    figures: Sequence[Figure] = ()  # pictures and tables, in this order
    grids: Sequence[Grid] = ()
    method: Sequence[str] = ()  # method and source, folded below
