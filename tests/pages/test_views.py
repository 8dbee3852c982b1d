"""Views: every row is shown somewhere, once, and every picture says what it does not show."""

from __future__ import annotations

import math
import random
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.measures.registry import LISTED, SECTIONS, full_title, measure_title
from wordbias.pages import entailment, views, words
from wordbias.pages.components import component_sections
from wordbias.pages.lines import value_text
from wordbias.pages.section import Section
from wordbias.pages.views import sections

VALUES = st.floats(-5, 5, allow_subnormal=False).map(lambda x: round(x, 3) + 0.0)


def row(measure: str, value: float | None, subject: str = "e", **details: Any) -> dict[str, Any]:
    return {"subject": subject, "measure": measure, "value": value, **details}


def staged(measure: str, **details: Any) -> list[dict[str, Any]]:
    low = {"low": 0.1, "high": 0.3, "neutral": 0.0, "better": "lower"}
    return [row(measure, 0.2, stage=stage, **low, **details) for stage in ("before", "after")]


def leaning() -> list[dict[str, Any]]:
    leans = {"nurse": 0.4, "maid": 0.3, "boss": -0.2, "miner": -0.5, "clerk": 0.01}
    about = {"set": words.OCCUPATIONS, "setting": "she−he", "neutral": 0.0, "better": "neutral"}
    return [
        row(words.LEAN, value * k, stage=stage, word=word, **about,
            towards="female" if value > 0 else "male")
        for stage, k in (("before", 1.0), ("after", 0.5))
        for word, value in leans.items()
    ]  # fmt: skip


def spectrum() -> list[dict[str, Any]]:
    about = {"cos_difference": 0.5, "sign_stability": 0.9}
    weights = [row("explained-variance", 0.2 / i, component=i, **about) for i in (1, 2)]
    return weights + [
        component_row for i in (1, 2) for component_row in staged("midb-component", component=i)
    ]


def places() -> list[dict[str, Any]]:
    draw = random.Random(0)
    return [
        row("map", draw.gauss(0, 1), y=draw.gauss(0, 1), stage=stage, word=f"w{i}",
            set=words.MOST_BIASED, towards="female" if i % 2 else "male")
        for stage in ("before", "after")
        for i in range(20)
    ]  # fmt: skip


def lists() -> list[dict[str, Any]]:
    about = {"stage": "after", "before": ["a", "b"], "after": ["b", "<c>"]}
    return [row("neighbours-preserved", 0.5, word="nurse", **about)]


def answers() -> list[dict[str, Any]]:
    shares = dict(zip(entailment.MEASURES, (0.5, 0.3, 0.2), strict=True))
    return [
        row(measure, share, group=group, setting="nouns", set="explicit")
        for group in ("male", "female")
        for measure, share in shares.items()
    ]


def everything() -> list[dict[str, Any]]:
    known = [measure_row for measure in LISTED for measure_row in staged(measure)]
    return [*known, *leaning(), *spectrum(), *places(), *lists(), *answers()]


def shown(found: list[Section]) -> str:
    cells = [
        cell for section in found for g in section.grids for line in g.table.cells for cell in line
    ]
    return "\n".join([*cells, *(figure.picture for section in found for figure in section.figures)])


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(["tpr-gap", "what", "compression"]), VALUES), min_size=1))
def test_unknown_measures_are_shown_value_by_value(found: list[tuple[str, float]]) -> None:
    rows = [row(measure, value, place=i) for i, (measure, value) in enumerate(found)]
    (section,) = sections(rows)
    cells = [(g.table.title, line[-2]) for g in section.grids for line in g.table.cells]
    assert sorted(cells) == sorted(
        (measure_row["measure"], value_text(measure_row, 4)) for measure_row in rows
    )


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(LISTED), VALUES, st.integers()), min_size=1))
def test_no_value_of_a_known_measure_is_lost(found: list[tuple[str, float, int]]) -> None:
    rows = [row(measure, value, setting=str(i)) for measure, value, i in found]
    cells = [
        cell
        for section in sections(rows)
        if section.key not in ("glance", "matrix")
        for grid in section.grids
        for line in grid.table.cells
        for cell in line
    ]
    for known_row in rows:
        assert value_text(known_row) in cells


def test_rows_of_every_kind_become_the_sections_people_look_for() -> None:
    by_key = {section.key: section for section in sections(everything())}
    assert list(by_key)[:3] == ["glance", "occupations", "midb"]
    assert set(by_key) == {
        "glance",
        "occupations",
        "neighbours",
        *(family.key for family in SECTIONS),
    }
    assert [len(by_key[key].figures) for key in ("occupations", "midb", "clustering", "mab")] == [
        1, 1, 3, 2
    ]  # fmt: skip


def test_every_picture_is_well_formed_and_says_what_it_shows_and_what_not() -> None:
    figures = [figure for section in sections(everything()) for figure in section.figures]
    assert len(figures) > 8
    for figure in figures:
        ElementTree.fromstring(figure.picture)
        assert figure.shows.endswith(".")
        assert figure.not_shown.endswith(".")


def test_every_table_is_rectangular_and_has_as_many_pictures_as_lines() -> None:
    for section in sections(everything()):
        for grid in section.grids:
            assert {len(line) for line in grid.table.cells} == {len(grid.table.columns)}
            assert len(grid.pictures) in (0, len(grid.table.cells))


def test_a_measure_is_called_with_its_family_where_its_name_does_not_say_it() -> None:
    assert measure_title("unheard-of") == full_title("unheard-of") == "unheard-of"
    assert full_title("gipe") == "GIPE"
    assert full_title("recoverability-mlp") == "Recoverability: MLP"


def test_occupations_stand_from_one_side_to_the_other_where_their_values_are() -> None:
    (section,) = words.occupation_sections(leaning())
    cells = section.grids[0].table.cells
    assert [line[0] for line in cells] == ["miner", "boss", "clerk", "maid", "nurse"]
    assert cells[0][1:] == ["male", "−0.500", "−0.250"]
    assert "male (left) and female (right)" in section.figures[0].shows
    root = ElementTree.fromstring(section.figures[0].picture)
    groups = [group for group in root.iter("g") if group.find("title") is not None]
    place = {
        group.findtext("title", "").partition(":")[0]: [
            float(circle.attrib["cx"]) for circle in group.iter("circle")
        ]
        for group in groups
    }
    ratio = (place["nurse"][0] - place["miner"][0]) / (place["maid"][0] - place["boss"][0])
    assert ratio == pytest.approx(0.9 / 0.5, rel=1e-3)


def test_controls_are_in_the_table_of_occupations_and_not_in_the_picture() -> None:
    drawn = [
        {**leaning_row, "stage": "null-0", "column": "null"}
        for leaning_row in leaning()
        if leaning_row.get("stage") not in (None, "", "before")
    ]
    assert drawn
    (plain,), (section,) = (
        words.occupation_sections(rows) for rows in (leaning(), [*leaning(), *drawn])
    )
    assert "null-0" in section.grids[0].table.columns
    assert section.figures[0].picture == plain.figures[0].picture
    assert words.occupation_sections(drawn)[0].figures


def test_only_the_most_leaning_are_drawn_and_none_from_the_wrong_side() -> None:
    known = {f"w{i}": {"": row("direct-bias", i / 100)} for i in range(-3, 40) if i}
    leaning_words = words.most_leaning(known, 12)
    assert list(leaning_words) == ["w-3", "w-2", "w-1", *(f"w{i}" for i in range(28, 40))]


def test_the_spectrum_has_bars_as_long_as_its_values() -> None:
    (section,) = component_sections(spectrum())
    root = ElementTree.fromstring(section.figures[0].picture)
    widths = [
        float(r.attrib["width"]) for r in root.iter("rect") if r.attrib["class"] == "bar weight"
    ]
    assert widths[0] / widths[1] == pytest.approx(2, rel=1e-3)
    assert section.grids[0].table.columns[-2:] == ["before", "after"]
    alone = [
        spectrum_row
        for spectrum_row in spectrum()
        if spectrum_row["measure"] == "explained-variance"
    ]
    assert component_sections(alone)[0].grids[0].table.columns[-1] == "sign stability"


def test_neighbours_name_what_was_lost_and_what_is_new() -> None:
    (section,) = words.neighbour_sections(lists())
    assert section.grids[0].table.cells == [["nurse", "1 of 2", "a", "<c>"]]
    picture = section.figures[0].picture
    assert "<del>a</del>" in picture
    assert "<ins>&lt;c&gt;</ins>" in picture


def test_the_bars_of_answers_add_up_to_the_whole_width() -> None:
    (section,) = entailment.entailment_sections(answers())
    root = ElementTree.fromstring(section.figures[0].picture)
    bars = [r for r in root.iter("rect") if float(r.attrib["height"]) > 10]
    assert math.fsum(float(r.attrib["width"]) for r in bars) == pytest.approx(2 * 352, abs=0.1)
    assert section.grids[0].table.cells[0] == ["nouns, male", "0.500", "0.300", "0.200"]
    assert entailment.entailment_sections(answers()[:2]) == []


def test_maps_have_a_point_a_word_of_the_shape_of_its_side() -> None:
    (section,) = words.map_sections(places())
    assert [figure.title.rpartition(", ")[2] for figure in section.figures] == ["before", "after"]
    for figure in section.figures:
        points = re.findall(r"<title>(w\d+), leant to (\w+)</title><(\w+)", figure.picture)
        assert len(points) == 20
        assert {(side, tag) for _, side, tag in points} == {("female", "rect"), ("male", "circle")}


def test_several_embeddings_are_compared_and_shaded_by_distance_from_neutral() -> None:
    rows = [
        row("clustering-accuracy", value, subject, neutral=0.5, better="lower")
        for subject, value in (("a", 1.0), ("b", 0.5), ("c", 0.75))
    ]
    rows += [row("analogy", v, s, better="higher", set="x") for s, v in (("a", 0.2), ("b", 0.8))]
    grid = next(section for section in sections(rows) if section.key == "matrix").grids[0]
    assert list(grid.table.columns) == ["measure", "a", "b", "c", "ideal"]
    assert [list(line) for line in grid.shades] == [[9, 0, 4, None], [None] * 4]
    assert grid.table.cells[1][1:] == ["0.200", "0.800", "", "higher is better"]
    assert not [section for section in sections(rows[:1]) if section.key == "matrix"]


def test_long_plain_tables_are_cut_and_say_so() -> None:
    rows = [row("what", 1.0, word=f"w{i}") for i in range(views.SHOWN + 1)]
    (section,) = views.plain_sections(rows)
    assert len(section.grids[0].table.cells) == views.SHOWN
    assert f"The first {views.SHOWN} of {views.SHOWN + 1}" in section.grids[0].table.note


def test_what_is_undefined_has_its_reason() -> None:
    rows = [
        row("gipe", None, reason="undefined: too few", setting="θ=0.03"),
        row("x", None, reason="why"),
    ]
    undefined = sections(rows)
    assert "–" in shown(undefined)
    assert [grid.table.note for section in undefined for grid in section.grids] == [
        "undefined: too few",
        "why",
    ]
