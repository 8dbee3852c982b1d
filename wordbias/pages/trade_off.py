"""Trade-off on a page: bias left against quality kept, a point for each method and file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from wordbias.draws import CONTROLS
from wordbias.errors import WordbiasError
from wordbias.measures.registry import FAMILY_OF, in_words, short_title
from wordbias.methods.trade_off import BIAS_LEFT, UNCHANGED
from wordbias.pages.panel import SERIES, Dot, Look, Panel, Path
from wordbias.pages.plots import draw_panel, draw_panels
from wordbias.pages.section import Figure, Grid, Section
from wordbias.pages.svg import fitted, panel_picture
from wordbias.rendering import Table
from wordbias.rows import Found, given
from wordbias.verdicts import is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

X_NAME, Y_NAME = "quality kept, % (more is better)", "bias left, % (less is better)"
_WIDEST = 200.0
"""Width of a name beside a point."""
AS_IT_WAS = "as it was"
"""Name of the point of the embedding before debiasing."""


@dataclass(frozen=True)
class Point:
    """A method or file: percentages of bias left and quality kept, and whether it is efficient."""

    name: str
    left: float
    kept: float
    efficient: bool
    row: Found | None = None


def claims_trade_off(row: Found) -> bool:
    """Return whether a row is the bias that a column of an audit leaves."""
    return row["measure"] == BIAS_LEFT and given(row, "stage")


def trade_off_sections(rows: Sequence[Found]) -> list[Section]:
    """Draw the columns of each embedding, and list them with their shares and costs."""
    family = FAMILY_OF[BIAS_LEFT]
    subjects = dict.fromkeys(str(row["subject"]) for row in rows)
    figures, grids = [], []
    for subject in subjects:
        own = [row for row in rows if row["subject"] == subject]
        points = points_of(own)
        title = f"Bias left and quality kept of {subject}"
        if len(points) > 1:
            figures.append(_figure(title, points, family.limits))
        grids.append(Grid(_table(title, own), folded=len(points) > 1))
    lead = f"{family.question} The row with the least bias is not the best if it costs more."
    return [Section(family.key, family.title, [lead], figures, grids, [family.description])]


def points_of(rows: Sequence[Found]) -> list[Point]:
    """Return a point for each row with both values, in front the embedding as it was."""
    points = [
        Point(
            str(row["stage"]) + ("*" if given(row, "unmeasured") else ""),
            100 * float(row["value"]),
            100 * float(row["kept"]),
            row.get("pareto") is True,
            row,
        )
        for row in rows
        if is_number(row["value"]) and is_number(row.get("kept"))
    ]
    left, quality = UNCHANGED
    as_it_was = Point(AS_IT_WAS, 100 * left, 100 * quality, efficient=True)
    return [as_it_was, *points]


def is_control(row: Found) -> bool:
    """Return whether a row is about a random removal or redrawn lists, which nobody would use."""
    return row.get("column") in CONTROLS


def has_trade_off(rows: Sequence[Found]) -> bool:
    """Return whether a row has both values, so that there is a figure."""
    return len(points_of([row for row in rows if claims_trade_off(row)])) > 1


def joined(points: Sequence[Point]) -> list[Point]:
    """Return the efficient points in the order in which a line joins them."""
    return sorted(
        (point for point in points if point.efficient), key=lambda point: (point.kept, point.left)
    )


def _figure(title: str, points: Sequence[Point], limits: str) -> Figure:
    best = [point.name for point in joined(points) if point.name != AS_IT_WAS]
    shows = "Each point is a method or a file; the lower right corner is the best. "
    if any(is_control(point.row) for point in points if point.row is not None):
        shows += "null-… and lists-… are controls: random removals, and MISP fitted to redraws. "
    if best:
        shows += f"Joined by a line are the efficient ones: {', '.join(best)}."
    else:
        shows += "None is better than the embedding as it was without costing more."
    shows += "".join(f" * without {text}." for text in _without(points))
    return Figure(
        title, panel_picture(trade_off_panel({title: points}), title, shows), shows, limits
    )


def _without(points: Sequence[Point]) -> list[str]:
    """Return what is not part of the value of a point with a star, and of which points."""
    named: dict[str, list[str]] = {}
    for point in points:
        measures = None if point.row is None else point.row.get("unmeasured")
        if isinstance(measures, list) and measures:
            named.setdefault(", ".join(map(str, measures)), []).append(point.name.rstrip("*"))
    return [
        f"{measures}, which had no value after {', '.join(names)}"
        for measures, names in named.items()
    ]


def trade_off_panel(of_subjects: Mapping[str, Sequence[Point]]) -> Panel:
    """Draw points with their names, the efficient ones filled and joined by a line."""
    # Of several embeddings each has a colour.
    dots, paths = [], []
    for subject, css in zip(of_subjects, cycle(SERIES), strict=False):
        points = of_subjects[subject]
        of = f" ({subject})" if len(of_subjects) > 1 else ""
        colour = f"whisker {css}" if of else "frontier"
        paths.append(Path([(point.kept, point.left) for point in joined(points)], colour))
        dots += [_dot(point, css, of) for point in points]
    return Panel(dots, paths, x=X_NAME, y=Y_NAME, floor=0.0)


def _dot(point: Point, css: str, of: str) -> Dot:
    text = f"{point.name}: {point.left:.0f} % of bias left, {point.kept:.1f} % of quality kept"
    place = point.kept, point.left
    if point.row is None:
        look = Look("plain", "diamond")
        return Dot(place, look, text=text, name=point.name, strong=point.efficient)
    look = Look(css if point.efficient else "before")
    return Dot(
        place, look, text=text, name=fitted(point.name + of, _WIDEST), strong=point.efficient
    )


# The same as a table


def _table(title: str, rows: Sequence[Found]) -> Table:
    """List the columns, the least bias first."""
    ordered = sorted(rows, key=lambda row: float(row["value"]) if _has_value(row) else np.inf)
    parts, costs = (_titles(rows, key) for key in ("of", "costs"))
    heads = ["method", "bias left", "quality kept", "efficient"]
    heads += [
        *(f"left: {short_title(name)}" for name in parts),
        *(f"kept: {in_words(name)}" for name in costs),
    ]
    cells = [
        [
            str(row["stage"]),
            _share(row["value"]),
            _share(row.get("kept")),
            "control" if is_control(row) else "yes" if row.get("pareto") is True else "",
            *(_share(_shares(row, "of").get(name)) for name in parts),
            *(_share(_shares(row, "costs").get(name)) for name in costs),
        ]
        for row in ordered
    ]
    notes = dict.fromkeys(str(row["reason"]) for row in ordered if given(row, "reason"))
    return Table(title, heads, cells, "; ".join(notes))


def _has_value(row: Found) -> bool:
    return is_number(row["value"])


def _shares(row: Found, key: str) -> Mapping[str, Any]:
    shares = row.get(key)
    return shares if isinstance(shares, dict) else {}


def _titles(rows: Sequence[Found], key: str) -> list[str]:
    return list(dict.fromkeys(str(name) for row in rows for name in _shares(row, key)))


def _share(value: object) -> str:
    return f"{100 * value:.1f} %" if is_number(value) else "–"


# The same in matplotlib


def plot_trade_off(report: Report, ax: Axes | None = None) -> Axes:
    """Draw the columns of an audit, bias left against quality kept."""
    rows = [row.to_dict() for row in report.rows]
    rows = [row for row in rows if claims_trade_off(row)]
    subjects = list(dict.fromkeys(str(row["subject"]) for row in rows))
    of_subjects = {name: points_of([r for r in rows if r["subject"] == name]) for name in subjects}
    if not has_trade_off(rows):
        raise WordbiasError(
            "no method with a value of bias left and of quality kept in this report"
        )
    panel = trade_off_panel(of_subjects)
    return draw_panels(ax, (5.4, 4.0), report.title, lambda axes: draw_panel(axes[0], panel))
