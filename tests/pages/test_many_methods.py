"""A page of several methods: tables, marks and small pictures with scale, chance and references."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from headless import Browser
from hypothesis import given
from hypothesis import strategies as st

from wordbias.pages.document import Document
from wordbias.pages.forest import look, strip, strip_legend
from wordbias.pages.grids import change_text
from wordbias.pages.lines import known_text, make_lines, stages_of
from wordbias.pages.markdown import render_markdown
from wordbias.pages.page import render_page
from wordbias.pages.panel import Look
from wordbias.pages.svg import CHARACTER, WIDTH, legend, legend_height, mark
from wordbias.pages.views import sections

METHODS = ("misp:dims=8", "hard", "hard,misp", "inlp:rounds=10", "leace")
KNOWN = {"GloVe": 0.25, "GoogleNews": 0.05}
MAIN = ("midb-unit-abs", "direct-bias", "gipe", "clustering-accuracy")


def rows(methods: tuple[str, ...] = METHODS) -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = []
    chance = {"chance": 0.12, "chance_low": 0.1, "chance_high": 0.15, "beyond_chance": True}
    about = {"subject": "glove", "neutral": 0.0, "better": "lower", **chance}
    for i, stage in enumerate(("before", *methods)):
        value = 0.3 - i / 50
        staged = {"stage": stage, "low": value - 0.01, "high": value + 0.01}
        if i:
            change = {
                "change": -i / 50,
                "change_low": -i / 50 - 0.01,
                "change_high": 0.025 - i / 50,
            }
            staged |= {"column": "method", "debiased": stage, **change}
        else:
            staged["known_values"] = KNOWN
        table += [{**about, "measure": name, "value": value, **staged} for name in MAIN]
        lean = {"measure": "lean", "set": "occupations", "towards": "female", "word": "nurse"}
        table.append({**about, **lean, "value": value, "stage": stage})
        if i:
            near = {"measure": "neighbours-preserved", "word": "nurse", "stage": stage}
            lists = {"before": ["doctor", "nanny"], "after": ["doctor", f"new{i}"]}
            table.append({"subject": "glove", "value": 0.5, **near, **lists})
    failed = {"subject": "glove", "measure": "column", "value": None, "stage": "ran"}
    return [*table, {**failed, "column": "method", "reason": "too few words"}]


def test_each_method_has_a_column_in_the_order_of_the_rows() -> None:
    glance = next(section for section in sections(rows()) if section.key == "glance")
    columns = glance.grids[0].table.columns
    assert list(columns[1:8]) == ["before", "chance", *METHODS]
    text = render_markdown([Document(rows())])
    named = " | ".join(["measure", "before", "chance", *METHODS])
    assert f"| {named} |" in text
    assert "0.050 to 0.250 (2)" in text


def test_methods_stand_side_by_side_with_their_verdict() -> None:
    first = sections(rows())[0]
    assert first.key == "methods"
    cells = {line[0]: line for line in first.grids[0].table.cells}
    assert list(cells) == [*METHODS, "ran"]
    assert cells["hard"][1] == "yes"
    assert cells["misp:dims=8"][1].startswith("not shown: no measure changed clearly")
    assert cells["ran"][1] == "cannot tell: too few words"
    assert "direct bias (0.300 → 0.260)*" in cells["hard"][2]  # lowered by construction


def test_values_along_axes_that_were_fitted_anew_say_so() -> None:
    own = {"midb-unit-abs", "direct-bias"}
    refitted = [
        {**row, "reference": "self"} if row["measure"] in own and row.get("column") else row
        for row in rows()
    ]
    glance = (
        next(section for section in sections(refitted) if section.key == "glance").grids[0].table
    )
    for line in glance.cells:
        texts = dict(zip(glance.columns, line, strict=True))
        expected = any(title in texts["measure"] for title in ("MIDB", "direct bias"))
        assert not texts["before"].endswith("refitted")
        assert all(texts[name].endswith(") refitted") == expected for name in METHODS)
    assert "refitted: along the axis" in glance.note
    assert "refitted" not in str(sections(rows()))


def test_marks_of_methods_differ_in_shape_and_colour() -> None:
    stages = ["before", *METHODS]
    looks = [look(stage, stages) for stage in stages]
    assert len(set(looks)) == len(stages)
    assert len({symbol.shape for symbol in looks[1:]}) == len(METHODS)
    assert look("after", ["before", "after"]) == Look("after")
    assert look("after, refitted", ["before", "after", "after, refitted"]) == Look(
        "refitted", "diamond"
    )


def test_a_small_picture_has_a_scale_the_range_of_chance_and_known_embeddings() -> None:
    (line,) = make_lines(row for row in rows() if row["measure"] == "gipe")
    picture = strip(line, stages_of([line]))
    assert "The dashed line is the neutral value, 0." in picture
    assert "The band is chance, 0.100 to 0.150." in picture
    assert "Strokes are known embeddings: GloVe 0.250, GoogleNews 0.050." in picture
    assert picture.count('class="known"') == len(KNOWN)
    ticks = [float(text) for text in re.findall(r'class="tick">([^<]*)<', picture)]
    assert len(ticks) >= 2
    assert all(0 <= tick <= 0.4 for tick in ticks)
    plain = [{**row, "known_values": None} for row in rows() if row["measure"] == "gipe"]
    for row in plain:
        row.pop("chance_low")
    (bare,) = make_lines(plain)
    assert 'class="known"' not in strip(bare, ["before"])
    assert 'class="chance"' not in strip(bare, ["before"])


def test_the_legend_names_what_the_pictures_show() -> None:
    lines = make_lines(row for row in rows() if row["measure"] in MAIN)
    named = strip_legend(lines, stages_of(lines))
    assert [name for name in (*METHODS, "chance", "neutral", "known embeddings") if name in named]
    assert all(name in named for name in (*METHODS, "chance", "neutral", "known embeddings"))
    alone = make_lines([{"subject": "a", "measure": "rnd", "value": 1.0}])
    assert not strip_legend(alone, [""])


@given(st.lists(st.text("abcdefg", min_size=1, max_size=40), min_size=1, max_size=12))
def test_a_legend_never_leaves_the_picture(names: list[str]) -> None:
    drawn = legend([(name, Look("a")) for name in names], 4, 13)
    placed = re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)"[^>]*>([^<]*)<', drawn)
    assert len(placed) == len(names)
    for x, y, text in placed:
        assert float(x) + CHARACTER * (len(text) - 1) <= WIDTH
        assert 13 <= float(y) <= 13 + legend_height(names, 4)


def test_changes_are_named_by_method() -> None:
    (line,) = make_lines(row for row in rows() if row["measure"] == "gipe")
    assert change_text(line) == (
        "better: hard, hard,misp, inlp:rounds=10, leace; no clear change: misp:dims=8"
    )
    (two,) = make_lines(row for row in rows(("inlp",)) if row["measure"] == "gipe")
    assert change_text(two) == "no clear change"
    assert known_text(line) == "0.050 to 0.250 (2)"


def test_a_symbol_of_each_shape_is_drawn_around_its_point() -> None:
    stages = ["before", *METHODS]
    for stage in ("leace", "inlp:rounds=10"):
        assert "polygon" in legend([(stage, look(stage, stages))], 4, 13)
    points = re.findall(r"(-?[\d.]+),(-?[\d.]+)", mark(10, 20, "a", shape="up", size=4))
    assert {abs(float(x) - 10) <= 4 for x, _ in points} == {True}
    assert min(float(y) for _, y in points) < 20 < max(float(y) for _, y in points)


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1200])
def test_chance_is_in_sight_beside_the_value_before(tmp_path: Path, width: int) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_page([Document(rows())]), encoding="utf-8")
    with Browser() as browser:
        browser.show(width)
        browser.open(path)
        places = "[...document.querySelectorAll('td[data-label=chance]')].map(one => {{{}}})"
        ends = "const r = one.getBoundingClientRect(); return [r.left, r.right]"
        edges = browser.evaluate(places.format(ends))
        assert len(edges) == 2 * len(MAIN)  # at a glance, and in its own section
        assert all(0 <= left < right <= width for left, right in edges)
        before = "return one.previousElementSibling.dataset.label"
        assert set(browser.evaluate(places.format(before))) == {"before"}


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_of_six_columns_fits_a_phone_and_a_desk(tmp_path: Path, width: int) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_page([Document(rows())]), encoding="utf-8")
    with Browser() as browser:
        browser.show(width)
        browser.open(path)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        inside = "document.querySelector('#glance table').getBoundingClientRect().width"
        assert browser.evaluate(inside) > width / 2
        assert not browser.errors
