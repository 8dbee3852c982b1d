"""Trade-off on a page: bias left against quality kept, a point for each method and file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.measures.registry import FAMILY_OF
from wordbias.methods.trade_off import BIAS_LEFT, UNCHANGED
from wordbias.pages.names import name_offsets, shown_names
from wordbias.pages.plots import (
    INK,
    draw_panels,
    label_points,
)
from wordbias.pages.section import Figure, Grid, Markup, Section, element
from wordbias.pages.svg import (
    CHARACTER,
    WIDTH,
    Scale,
    axis,
    drawing,
    hovered,
    label,
    line,
    mark,
    scale,
    signed,
)
from wordbias.rendering import Table
from wordbias.rows import Found, given
from wordbias.verdicts import is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

X_NAME, Y_NAME = "quality kept, % (more is better)", "bias left, % (less is better)"
AS_IT_WAS = "as it was"
"""Name of the point of the embedding before debiasing."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 36.0, WIDTH - 8.0, 24.0, 250.0
_ASCENT, _DESCENT = 9.0, 3.0  # of text of 11 units
_PAD = 2.0  # units to keep free beside a name
_BOLD = 1.15  # width of bold text, of that of other text
_NEAR = 9.0  # units from a mark beyond which its name needs a line
_PALE = "#8a8a8a"


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
    found = [
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
    left, kept = UNCHANGED
    as_it_was = Point(AS_IT_WAS, 100 * left, 100 * kept, efficient=True)
    return [as_it_was, *found]


def has_trade_off(rows: Sequence[Found]) -> bool:
    """Return whether a row has both values, so that there is a figure."""
    return len(points_of([row for row in rows if claims_trade_off(row)])) > 1


def joined(points: Sequence[Point]) -> list[Point]:
    """Return the efficient points in the order in which a line joins them."""
    return sorted((one for one in points if one.efficient), key=lambda one: (one.kept, one.left))


def _figure(title: str, points: Sequence[Point], limits: str) -> Figure:
    best = [one.name for one in joined(points) if one.name != AS_IT_WAS]
    shows = "Each point is a method or a file; the lower right corner is the best. "
    if best:
        shows += f"Joined by a line are the efficient ones: {', '.join(best)}."
    else:
        shows += "None is better than the embedding as it was without costing more."
    shows += "".join(f" * without {text}." for text in _without(points))
    return Figure(title, trade_off_picture(points, title, shows), shows, limits)


def _without(points: Sequence[Point]) -> list[str]:
    """Return what is not part of the value of a point with a star, and of which points."""
    named: dict[str, list[str]] = {}
    for one in points:
        measures = None if one.row is None else one.row.get("unmeasured")
        if isinstance(measures, list) and measures:
            named.setdefault(", ".join(map(str, measures)), []).append(one.name.rstrip("*"))
    return [
        f"{measures}, which had no value after {', '.join(names)}"
        for measures, names in named.items()
    ]


def trade_off_picture(points: Sequence[Point], title: str, text: str) -> Markup:
    """Draw points with their names, the efficient ones filled and joined by a line.

    Names that would cover others are left out, first those of points that are not efficient.

    Parameters
    ----------
    points
        One or more.
    title, text
        Title and description for screen readers.
    """
    across = scale([one.kept for one in points], _LEFT + 6, _RIGHT - 6)
    up = scale([0.0, *(one.left for one in points)], _BOTTOM, _TOP)
    up = Scale(min(0.0, up.low), up.high, _BOTTOM, _TOP)
    places = [(across(one.kept), up(one.left)) for one in points]
    path = " ".join(f"{across(one.kept):.1f},{up(one.left):.1f}" for one in joined(points))
    return drawing(
        _BOTTOM + 34,
        title,
        text,
        label(0, 11, Y_NAME, class_="axis"),
        *_heights(up),
        axis(across, _TOP, _BOTTOM, X_NAME),
        element("polyline", points=path, class_="frontier"),
        *(_mark(one, *place) for one, place in zip(points, places, strict=True)),
        *_names(points, places),
    )


def _heights(up: Scale) -> list[Markup]:
    """Draw grid lines and ticks of the upright axis."""
    parts = []
    for value in up.ticks():
        parts.append(line(_LEFT, up(value), _RIGHT, up(value), "grid"))
        parts.append(label(_LEFT - 4, up(value) + 4, signed(value), anchor="end", class_="tick"))
    return parts


def _mark(one: Point, x: float, y: float) -> Markup:
    text = f"{one.name}: {one.left:.0f} % of bias left, {one.kept:.1f} % of quality kept"
    if one.row is None:
        return hovered(text, mark(x, y, "mark plain", shape="diamond"))
    return hovered(text, mark(x, y, f"mark {'after' if one.efficient else 'before'}"))


def _names(points: Sequence[Point], places: Sequence[tuple[float, float]]) -> list[Markup]:
    """Write the names where they cover least, with a line to a mark that is not near."""
    marks = np.array(places) * [1.0, -1.0]  # y upwards
    widths = [CHARACTER * len(one.name) * (_BOLD if one.efficient else 1.0) for one in points]
    sizes = np.array([[0.0, -_DESCENT, width + 2 * _PAD, _ASCENT] for width in widths])
    frame = np.array([0.0, -_BOTTOM + 2, WIDTH, -_TOP + 8])
    offsets = name_offsets(sizes, marks, frame)
    boxes = sizes + np.tile(marks + offsets, 2)
    parts = []
    for i in shown_names(boxes, [one.efficient for one in points]):
        x, y = (marks[i] + offsets[i] + [_PAD, 0.0]) * [1.0, -1.0]
        end = np.clip(marks[i], boxes[i, :2], boxes[i, 2:])
        if np.hypot(*(end - marks[i])) > _NEAR:
            parts.append(line(*places[i], float(end[0]), -float(end[1]), "leader"))
        looks = "name halo side" if points[i].efficient else "name halo"
        parts.append(label(float(x), float(y), points[i].name, class_=looks))
    return parts


# The same as a table


def _table(title: str, rows: Sequence[Found]) -> Table:
    """List the columns, the least bias first."""
    ordered = sorted(rows, key=lambda row: float(row["value"]) if _has_value(row) else np.inf)
    parts, costs = (_titles(rows, key) for key in ("of", "costs"))
    heads = ["method", "bias left", "quality kept", "efficient"]
    heads += [*(f"left: {name}" for name in parts), *(f"kept: {name}" for name in costs)]
    cells = [
        [
            str(row["stage"]),
            _share(row["value"]),
            _share(row.get("kept")),
            "yes" if row.get("pareto") is True else "",
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
    found = row.get(key)
    return found if isinstance(found, dict) else {}


def _titles(rows: Sequence[Found], key: str) -> list[str]:
    return list(dict.fromkeys(str(name) for row in rows for name in _shares(row, key)))


def _share(value: object) -> str:
    return f"{100 * value:.1f} %" if is_number(value) else "–"


# The same in matplotlib


def plot_trade_off(report: Report, ax: Axes | None = None) -> Axes:
    """Draw the columns of an audit, bias left against quality kept.

    Parameters
    ----------
    report
        Report with rows ``bias-left``; of several embeddings each name has its embedding's.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    WordbiasError
        If no row has both values, or matplotlib is not installed.
    """
    rows = [row.to_dict() for row in report.rows]
    rows = [row for row in rows if claims_trade_off(row)]
    subjects = list(dict.fromkeys(str(row["subject"]) for row in rows))
    of_subjects = {name: points_of([r for r in rows if r["subject"] == name]) for name in subjects}
    if not has_trade_off(rows):
        raise WordbiasError(
            "no method with a value of bias left and of quality kept in this report"
        )

    def draw(panels: list[Axes]) -> None:
        axes = panels[0]
        axes.set(xlabel=X_NAME, ylabel=Y_NAME)
        axes.margins(0.08)
        places: dict[tuple[float, float], str] = {}
        for name, points in of_subjects.items():
            _draw_points(axes, points, f"C{subjects.index(name)}")
            of = f" ({name})" if len(subjects) > 1 else ""
            for one in points:
                own = one.name if one.name == AS_IT_WAS else one.name + of
                known = places.get((one.kept, one.left))
                places[one.kept, one.left] = own if known in (None, own) else f"{known}, {own}"
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        label_points(axes, np.array(list(places)), list(places.values()))

    return draw_panels(ax, (5.4, 4.0), report.title, draw)


def _draw_points(axes: Axes, points: Sequence[Point], colour: str) -> None:
    best, others = joined(points), [one for one in points if not one.efficient]
    axes.plot([one.kept for one in best], [one.left for one in best], color=colour, lw=1.2)
    axes.scatter([p.kept for p in best], [p.left for p in best], s=22, color=colour, zorder=3)
    axes.scatter(
        [p.kept for p in others], [p.left for p in others], s=22, color=_PALE, zorder=3, alpha=0.8
    )
    as_it_was = points[0]
    axes.scatter([as_it_was.kept], [as_it_was.left], s=26, marker="D", color=INK, zorder=4)
