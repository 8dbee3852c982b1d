"""The trade-off on a page and in matplotlib: points, names that do not overlap, the line."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias.errors import WordbiasError
from wordbias.functions.report import Page
from wordbias.pages.names import shown_names
from wordbias.pages.section import Markup, Section
from wordbias.pages.svg import CHARACTER, panel_picture
from wordbias.pages.trade_off import (
    AS_IT_WAS,
    Point,
    joined,
    plot_trade_off,
    points_of,
    trade_off_panel,
)
from wordbias.pages.views import sections
from wordbias.reports import Report
from wordbias.results import Row

METHODS = {
    "misp": (0.475, 0.958),
    "misp:dims=1": (0.475, 0.966),
    "hard": (0.347, 0.935),
    "hard,misp": (0.339, 0.925),
    "inlp": (0.3, 0.699),
    "leace": (0.239, 0.924),
    "mhd:dims=8": (0.265, 0.749),
}
EFFICIENT = {"misp:dims=1", "hard", "leace", "hard,misp"}


def picture_of(points: list[Point]) -> Markup:
    """Draw points as a page does."""
    return panel_picture(trade_off_panel({"glove": points}), "title", "text")


def row(stage: str, value: float | None, kept: float | None, **details: Any) -> Row:
    about = {"stage": stage, "column": "method", "pareto": stage in EFFICIENT, **details}
    of = {} if value is None else {"GIPE": value}
    costs = {} if kept is None else {"neighbours": kept}
    return Row("glove", "bias-left", value, {**about, "kept": kept, "of": of, "costs": costs})


def rows() -> list[Row]:
    return [row(stage, *point) for stage, point in METHODS.items()]


def texts(picture: str) -> list[ElementTree.Element]:
    return [element for element in ElementTree.fromstring(picture).iter() if element.tag == "text"]


def test_all_columns_are_named_and_the_efficient_ones_joined() -> None:
    points = points_of([method_row.to_dict() for method_row in rows()])
    assert [point.name for point in joined(points)] == [
        "leace",
        "hard,misp",
        "hard",
        "misp:dims=1",
        AS_IT_WAS,
    ]
    picture = picture_of(points)
    names = {
        str(element.text): element.get("class", "")
        for element in texts(picture)
        if "name" in element.get("class", "")
    }
    assert set(names) == {AS_IT_WAS, *METHODS}
    assert {name for name, looks in names.items() if "side" in looks} == {AS_IT_WAS, *EFFICIENT}
    (line,) = re.findall(r'<polyline points="([^"]*)"', picture)
    places = [tuple(map(float, place.split(","))) for place in line.split()]
    assert len(places) == 5
    assert places == sorted(places)  # from left to right
    assert picture.count("<circle") == len(METHODS)


def test_the_axes_say_which_way_is_better_and_have_ticks() -> None:
    picture = picture_of(points_of([method_row.to_dict() for method_row in rows()]))
    written = [str(element.text) for element in texts(picture)]
    assert "bias left, % (less is better)" in written
    assert "quality kept, % (more is better)" in written
    assert {"0", "50", "100", "70", "90"} <= set(written)


POINTS = st.lists(
    st.tuples(st.floats(0, 300), st.floats(0, 110), st.booleans(), st.integers(1, 20)),
    min_size=1,
    max_size=14,
)
Placed = list[tuple[float, float, bool, int]]


def overlap(a: Any, b: Any) -> bool:
    return bool((np.minimum(a[2:], b[2:]) > np.maximum(a[:2], b[:2])).all())


@settings(max_examples=12)
@given(POINTS)
def test_names_of_a_picture_do_not_overlap(found: Placed) -> None:
    points = [Point(chr(97 + i) * n, x, y, best) for i, (x, y, best, n) in enumerate(found)]
    picture = picture_of(points)
    named = [element for element in texts(picture) if "name" in element.get("class", "")]
    assert named
    boxes = []
    for label in named:
        x, y, width = (
            float(label.get("x", 0)),
            float(label.get("y", 0)),
            CHARACTER * len(str(label.text)),
        )
        boxes.append(np.array([x + 0.01, y - 8.99, x + width - 0.01, y + 2.99]))
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))


@given(POINTS)
def test_a_name_is_left_out_only_for_one_that_comes_first(found: Placed) -> None:
    low = np.array([[x, y] for x, y, _, _ in found])
    boxes = np.hstack([low, low + [[5.0 * n, 12.0] for *_, n in found]])
    chosen = shown_names(boxes, [best for _, _, best, _ in found])
    assert not any(overlap(a, b) for a, b in combinations(boxes[chosen], 2))
    for i in sorted(set(range(len(boxes))) - set(chosen)):
        before = [j for j in chosen if found[j][2] or not found[i][2]]
        assert any(overlap(boxes[i], boxes[j]) for j in before)


def trade_off(found: list[dict[str, Any]]) -> Section:
    """Return the section of the page with the trade-off."""
    return next(section for section in sections(found) if section.key == "trade-off")


def test_the_page_has_the_figure_and_the_table_of_the_trade_off() -> None:
    given_up = row("gn-glove", None, 0.9, reason="undefined: no value after")
    page = Page(rows=[*rows(), given_up])
    section = trade_off([method_row.to_dict() for method_row in page.rows])
    (figure,), (grid,) = section.figures, section.grids
    assert "efficient ones: leace, hard,misp, hard, misp:dims=1." in figure.shows
    assert grid.folded
    assert grid.table.columns == [
        "method", "bias left", "quality kept", "efficient", "left: GIPE", "kept: neighbours"
    ]  # fmt: skip
    assert grid.table.cells[0] == ["leace", "23.9 %", "92.4 %", "yes", "23.9 %", "92.4 %"]
    assert grid.table.cells[-1] == ["gn-glove", "–", "90.0 %", "", "–", "90.0 %"]
    assert "undefined: no value after" in grid.table.note
    assert 'class="frontier"' in page.page()
    assert "| leace | 23.9 % | 92.4 % |" in page.render("md")


def test_without_a_point_there_is_a_table_and_no_figure() -> None:
    section = trade_off([row("misp", 0.4, None).to_dict()])
    assert not section.figures
    assert not section.grids[0].folded


def test_a_point_that_lacks_a_measure_has_a_star() -> None:
    method_rows = [*rows(), row("oscar", 0.5, 0.9, unmeasured=["direct bias"])]
    section = trade_off([method_row.to_dict() for method_row in method_rows])
    assert "* without direct bias, which had no value after oscar." in section.figures[0].shows
    assert ">oscar*</text>" in section.figures[0].picture


def test_where_nothing_is_efficient_the_caption_says_so() -> None:
    method_rows = [row("inlp", 1.2, 0.9), row("mhd:dims=8", 1.0, 0.8)]
    section = trade_off([method_row.to_dict() for method_row in method_rows])
    assert "None is better than the embedding as it was" in section.figures[0].shows


def test_names_of_methods_are_escaped() -> None:
    section = trade_off([row("<b>", 0.4, 0.9).to_dict()])
    assert "<b>" not in section.figures[0].picture


@pytest.mark.usefixtures("usual_numerics")
def test_a_report_with_such_rows_draws_them() -> None:
    pytest.importorskip("matplotlib")
    axes = Page(rows=rows()).plot()
    assert {text.get_text() for text in axes.texts} == {AS_IT_WAS, *METHODS}
    (line,) = [curve for curve in axes.lines if len(np.asarray(curve.get_xdata())) == 5]
    assert sorted(np.asarray(line.get_xdata())) == list(np.asarray(line.get_xdata()))
    other = [
        Row("fair", method_row.measure, method_row.value, method_row.details)
        for method_row in rows()
    ]
    axes = plot_trade_off(Report(rows=[*rows(), *other]))
    assert "leace (glove), leace (fair)" in {text.get_text() for text in axes.texts}


def test_without_a_point_there_is_nothing_to_draw() -> None:
    with pytest.raises(WordbiasError, match="no method with a value of bias left and of quality"):
        plot_trade_off(Report(rows=[row("misp", 0.4, None)]))
    assert Page(rows=[row("misp", 0.4, None)]).picture is None
