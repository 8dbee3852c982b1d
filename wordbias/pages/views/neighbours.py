"""Nearest neighbours of single words, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wordbias.pages.markup import Markup, element
from wordbias.pages.section import Figure, Grid, Section
from wordbias.rendering import Table
from wordbias.rows import Found, given

MEASURE = "neighbours-preserved"
_SHOWS = "The nearest words before and after, the nearest first; struck: lost, marked: new."
_NOT = (
    "Neighbours that stay are no proof of bias, and new ones none of fairness: which of them are "
    "near for the attribute’s sake is what GIPE estimates."
)


def claims(row: Found) -> bool:
    """Whether a row lists the neighbours of a word."""
    lists = all(isinstance(row.get(key), list) for key in ("before", "after"))
    return row["measure"] == MEASURE and given(row, "word") and lists


def build(rows: Sequence[Found]) -> list[Section]:
    """Show the lists of every word side by side."""
    several = len({row["subject"] for row in rows}) > 1
    blocks = [_block(row, several) for row in rows]
    figure = Figure(
        "Neighbours before and after",
        element("div", *blocks, class_="neighbours"),
        _SHOWS,
        _NOT,
    )
    heads = ["word", "kept", "lost", "new"]
    cells = [_cells(row, several) for row in rows]
    lead = "What stands nearest to a word, and whether debiasing changed it."
    method = "Exact nearest neighbours by cosine among all words of the embedding."
    grid = Grid(Table("Neighbours kept and lost", heads, cells), folded=True)
    return [Section("neighbours", "Neighbours of a few words", [lead], [figure], [grid], [method])]


def _block(row: Found, several: bool) -> Markup:
    old, new = row["before"], row["after"]
    subject = element("p", str(row["subject"]), class_="quiet") if several else Markup("")
    return element(
        "div",
        element("h4", str(row["word"])),
        subject,
        element(
            "div",
            _list("before", old, "del", set(map(str, new))),
            _list("after", new, "ins", set(map(str, old))),
            class_="two",
        ),
        class_="word",
    )


def _list(title: str, words: Sequence[Any], tag: str, shared: set[str]) -> Markup:
    items = [
        element("li", str(word) if str(word) in shared else element(tag, str(word)))
        for word in words
    ]
    return element("div", element("h5", title), element("ol", *items))


def _cells(row: Found, several: bool) -> list[str]:
    old, new = (list(map(str, row[key])) for key in ("before", "after"))
    lost, come = [w for w in old if w not in new], [w for w in new if w not in old]
    word = f"{row['word']} ({row['subject']})" if several else str(row["word"])
    kept = f"{len(old) - len(lost)} of {len(old)}"
    return [word, kept, ", ".join(lost) or "none", ", ".join(come) or "none"]
