"""Figures and tables of a page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wordbias.pages.markup import Markup, element
from wordbias.pages.section import Figure, Grid

_NUMERIC = re.compile(r"(?:[-−–.,%()+→ \d]|to|e[-+])*")


def figure(one: Figure) -> Markup:
    """Write a picture with what it shows and what it does not."""
    return element(
        "figure",
        element("h3", one.title),
        one.picture,
        element(
            "figcaption",
            element("p", one.shows),
            element("p", element("strong", "Not shown: "), one.not_shown, class_="quiet"),
        ),
    )


def grid(one: Grid) -> Markup:
    """Write a table that scrolls by itself, or whose lines are blocks on a phone."""
    table = one.table
    heads = [*table.columns, *(["picture"] if one.pictures else [])]
    right = _numeric(one)
    head = element("tr", *(_head(name, i in right) for i, name in enumerate(heads)), role="row")
    lines = [_line(one, heads, i, right) for i in range(len(table.cells))]
    drawn = element(
        "table",
        element("caption", table.title),
        element("thead", head, role="rowgroup"),
        element("tbody", *lines, role="rowgroup"),
        role="table",
        class_="stacked sortable" if one.stacked else "sortable",
    )
    note = element("p", table.note, class_="quiet") if table.note else Markup("")
    region = {"role": "region", "aria_label": table.title, "tabindex": 0}
    whole = Markup(element("div", drawn, class_="scroll", **region) + note)
    if not one.folded:
        return whole
    return element("details", element("summary", f"As a table: {table.title}"), whole)


def _head(name: str, right: bool) -> Markup:
    look = "number" if right else None
    return element("th", name, scope="col", role="columnheader", class_=look)


def _line(one: Grid, heads: Sequence[str], i: int, right: set[int]) -> Markup:
    cells = one.table.cells[i]
    shades = one.shades[i] if one.shades else [None] * (len(cells) - 1)
    parts = [element("th", cells[0], scope="row", role="rowheader")]
    for j, (cell, shade) in enumerate(zip(cells[1:], shades, strict=True), 1):
        looks = ["number"] * (j in right) + ([] if shade is None else [f"shade{shade}"])
        look = " ".join(looks) or None
        parts.append(element("td", cell, role="cell", data_label=heads[j], class_=look))
    if one.pictures:
        parts.append(element("td", one.pictures[i], role="cell", class_="picture"))
    return element("tr", *parts, role="row")


def _numeric(one: Grid) -> set[int]:
    """Return the columns whose cells are all numbers, with or without intervals."""
    columns = list(zip(*one.table.cells, strict=True))
    return {
        j
        for j, cells in enumerate(columns)
        if j and any(cells) and all(_NUMERIC.fullmatch(cell) for cell in cells)
    }
