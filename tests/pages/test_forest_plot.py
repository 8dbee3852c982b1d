"""The picture of a report's values: every value once, nothing covered, one axis for one size."""

from __future__ import annotations

import sys
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest

from wordbias import WordbiasError
from wordbias.pages.forest_plot import forest_plot
from wordbias.reports import Report
from wordbias.results import Row

Figure = pytest.importorskip("matplotlib.figure").Figure


pytestmark = pytest.mark.usefixtures("usual_numerics")


def _row(subject: str, measure: str, value: float | None, **details: Any) -> Row:
    ends = {} if value is None else {"low": value - abs(value) / 4, "high": value + abs(value) / 4}
    return Row(subject, measure, value, {**ends, "neutral": 0.0, **details})


def _plot(*rows: Row) -> Any:
    axes = forest_plot(Report(command="measure", rows=rows))
    axes.figure.draw_without_rendering()
    return axes


def _panels(axes: Any) -> list[Any]:
    return axes.child_axes or [axes]


def _labels(axes: Any) -> list[str]:
    return [text.get_text() for part in _panels(axes) for text in part.get_yticklabels()]


def _points(axes: Any) -> list[float]:
    lines = [line for part in _panels(axes) for line in part.lines]
    return [float(line.get_xdata()[0]) for line in lines if line.get_marker() == "o"]


def _legend(axes: Any) -> list[str]:
    (legend,) = axes.figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_one_value() -> None:
    axes = _plot(_row("glove", "gipe", 0.3))
    assert _labels(axes) == ["gipe"]
    assert _points(axes) == [0.3]
    assert _legend(axes) == ["glove, 95 % interval", "neutral value"]
    assert axes.figure.get_figheight() < 1.5


def test_values_of_changed_lengths_are_not_drawn_beside_others() -> None:
    raw = _row("hard", "midb-abs", 0.02, length_ratio=0.2)
    assert _points(_plot(_row("glove", "midb-abs", 0.1), raw)) == [0.1]


def test_measures_of_one_size_share_an_axis_and_others_have_their_own() -> None:
    values = {"midb-abs": 0.1, "midb-unit": 0.001, "clustering": 1.0, "gipe": 0.2, "steps": 900.0}
    rows = [_row(name, measure, x) for measure, x in values.items() for name in ("a", "b")]
    axes = _plot(*rows)
    parts = [[text.get_text() for text in part.get_yticklabels()] for part in axes.child_axes]
    assert parts == [["midb-abs", "midb-unit", "gipe"], ["clustering"], ["steps"]]
    assert sorted(_points(axes)) == sorted(row.value for row in rows)
    assert _legend(axes) == ["a", "b", "neutral value"]
    assert not axes.axison


def test_nothing_covers_anything() -> None:
    sets = [f"a set of words {i} with a name that is longer than a label may be" for i in range(30)]
    rows = [_row("e", "weat", 0.1 * i, set=name) for i, name in enumerate(sets)]
    axes = _plot(*rows, _row("e", "displacement", 0.001), _row("another.txt", "weat", 1.0, set="x"))
    frame, boxes = axes.figure.bbox, []
    for part in _panels(axes):
        boxes += [text.get_window_extent() for text in part.get_yticklabels()]
    boxes.append(axes.figure.legends[0].get_window_extent())
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(frame.x0 <= box.x0 and box.y1 <= frame.y1 for box in boxes)
    windows = [part.get_window_extent() for part in _panels(axes)]
    assert not any(boxes[-1].overlaps(part) for part in windows)


def test_stages_have_a_colour_each_and_share_a_line() -> None:
    own = {"stage": "after", "reference": "self"}
    axes = _plot(_row("e", "midb", 0.2, stage="before"), _row("e", "midb", 0.1, **own))
    assert _labels(axes) == ["midb"]
    assert _legend(axes)[:2] == ["before", "after"]


def test_one_measure_of_many_subjects_has_a_line_each() -> None:
    axes = _plot(*(_row(f"x{i} – y", "correlation", i / 9, x=f"x{i}", y="y") for i in range(9)))
    assert _labels(axes) == [f"x{i} – y" for i in range(9)]
    assert axes.get_title(loc="left") == "correlation"
    assert _legend(axes)[0] == "value, 95 % interval"


def test_values_of_one_measure_and_setting_are_not_drawn_over_each_other() -> None:
    axes = _plot(*(_row("e", "loss", x, seed=i) for i, x in enumerate((0.1, 0.2, 0.3))))
    assert _labels(axes) == ["loss", "loss (2)", "loss (3)"]


def test_chance_is_behind_the_values() -> None:
    chance = {"chance_low": 0.1, "chance_high": 0.3}
    axes = _plot(_row("a", "gipe", 0.2, **chance), _row("b", "gipe", 0.25, **chance))
    bars = [patch for patch in axes.patches if patch.get_width() == pytest.approx(0.2)]
    assert len(bars) == 2
    assert all(bar.get_zorder() < line.get_zorder() for bar in bars for line in axes.lines)
    assert "range by chance" in _legend(axes)


def test_very_many_lines_are_cut_and_it_says_so() -> None:
    axes = _plot(*(_row("e", f"m-{i}", 1.0) for i in range(100)))
    assert len(_points(axes)) == 80
    assert axes.get_xlabel() == "the first 80 of 100 lines"


def test_on_axes_that_are_given() -> None:
    figure = Figure(figsize=(9, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    report = Report(command="x", rows=[_row("e", "a", 1.0), _row("e", "b", 100.0)])
    assert forest_plot(report, left) is left
    assert report.plot(right) is right
    assert len(left.child_axes) == 2
    assert left.get_legend() is not None
    assert figure.legends == []


def test_what_has_no_value_is_not_drawn() -> None:
    rows = [_row("e", "a", None), _row("e", "b", 1.0, length_ratio=2.0)]
    with pytest.raises(WordbiasError, match="no value to draw"):
        _plot(*rows)
    assert _points(_plot(*rows, _row("e", "c", 0.0))) == [0.0]


def test_a_notebook_shows_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Any] = []

    def figure(**given: Any) -> Any:
        figures.append(Figure(**given))
        return figures[-1]

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", SimpleNamespace(figure=figure))
    assert _plot(_row("e", "c", 0.5)).figure is figures[0]
