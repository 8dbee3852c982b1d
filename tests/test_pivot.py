"""Tables from rows: which rows stand where, what is left out, and how cells are written."""

from __future__ import annotations

from typing import Any

import pytest

from wordbias import cells
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, as_latex, as_markdown, as_text
from wordbias.results import Row

STAGES = values("before", stage="before") + values("after", "95 %", stage="after")


def row(measure: str, value: float | None, subject: str = "a", **about: Any) -> Row:
    return Row(subject, measure, value, about)


def shown(table: Table) -> list[list[str]]:
    return [[*table.columns], *map(list, table.cells)]


def test_rows_with_the_same_names_stand_in_one_line() -> None:
    rows = [
        row("midb", 0.25, stage="before", low=0.1, high=0.4),
        row("weat", 1.5, stage="before"),
        row("midb", -0.0001, stage="after", low=-0.0002, high=0.1),
        row("weat", 0.5, stage="other"),
    ]
    assert shown(pivot("T", rows, "measure", STAGES)) == [
        ["", "before", "after", "95 %"],
        ["midb", "0.250", "-1.0e-04", "0.000 to 0.100"],
        ["weat", "1.500", "", ""],
    ]


def test_a_second_row_of_the_same_place_begins_a_line_of_its_own() -> None:
    rows = [row("midb", i / 10, stage=stage) for i in (1, 2) for stage in ("before", "after")]
    table = pivot("T", rows, "measure", STAGES)
    assert table.cells == [["midb", "0.100", "0.100"], ["midb", "0.200", "0.200"]]
    assert pivot("T", rows, "measure", values("value")).cells == [
        ["midb", "0.100"],
        ["midb", "0.100"],
        ["midb", "0.200"],
        ["midb", "0.200"],
    ]


def test_one_of_several_values_may_be_asked_for() -> None:
    rows = [row("midb", 0.1, stage="after"), row("midb", 0.2, stage="after", reference="self")]
    columns = values("along", stage="after", reference=("before", None))
    columns += values("anew", stage="after", reference="self") + values("ideal")
    assert pivot("T", rows, "measure", columns).cells == [["midb", "0.100", "0.200"]]


@pytest.mark.parametrize("value", [0.1, None])
def test_columns_without_content_are_left_out_but_not_those_of_undefined_values(
    value: float | None,
) -> None:
    table = pivot(
        "T", [row("midb", value)], {"": "measure", "layer": "layer"}, values("S", "p", "n")
    )
    assert shown(table) == (
        [["", "S"], ["midb", "0.100"]] if value else [["", "S", "p"], ["midb", "–", "–"]]
    )


def test_an_undefined_value_has_a_dash_for_all_that_it_lacks() -> None:
    rows = [
        row("midb", 0.1, chance=0.2, stage="before"),
        row("midb", None, stage="after"),
        row("gipe", 0.3, stage="before"),
    ]
    columns = values("before", stage="before")
    columns += values("after", ("chance", cells.chance), stage="after")
    columns += values(("by chance", cells.chance), stage="before") + values("n")
    table = pivot("T", rows, "measure", columns)
    assert shown(table) == [
        ["", "before", "after", "by chance"],
        ["midb", "0.100", "–", "0.200"],
        ["gipe", "0.300", "", ""],
    ]
    rows[1] = row("midb", None, "b", reason="undefined: no words")
    table = pivot("T", rows[:2], "subject", values("value", ("chance", cells.chance)), "A note.")
    assert shown(table)[1:] == [["a", "0.100", "0.200"], ["b", "–", "–"]]
    assert table.note == "A note. –: undefined: no words."


def test_reasons_are_noted_once_unless_the_note_has_them() -> None:
    rows = [row(name, None, reason="undefined: no pairs; give some") for name in ("a", "b")]
    assert pivot("T", rows, "measure", values("S")).note == "undefined: no pairs; give some"
    ended = pivot("T", rows, "measure", values("S"), "S: a sum.").note
    assert ended == "S: a sum. –: undefined: no pairs; give some."
    assert pivot("T", rows, "measure", values("S"), "a, b: no pairs").note == "a, b: no pairs"


def test_a_table_without_rows_keeps_its_title_and_note() -> None:
    table = pivot("T", [], "measure", STAGES, "N.")
    assert (table.title, table.cells, table.note) == ("T", [], "N.")
    assert as_text(table, 80).startswith("T\n")


def test_only_a_terminal_splits_a_table_and_keeps_parts_together() -> None:
    names = ["first", "second", "third"]
    rows = [row("midb", 0.25, name, low=0.1, high=0.4, better="lower") for name in names]
    columns = []
    for name in names:
        columns += values((name, cells.with_interval), "95 %", part=name, subject=name)
    table = pivot("T", rows, "measure", columns + values("ideal"), "A note.")
    pieces = as_text(table, 95).split("\n\n")
    heads = [piece.split("\n")[1].split() for piece in pieces]
    assert heads == [
        ["first", "95", "%", "second", "95", "%", "ideal"],
        ["third", "95", "%", "ideal"],
    ]
    assert ["A note." in piece for piece in pieces] == [False, True]
    assert as_text(table, 200).count("T\n") == 1
    assert as_markdown(table).count("0.250 (0.100 to 0.400)") == 3
    assert as_latex(table, "tab:x").count(r"\begin{tabular}") == 1


@pytest.mark.parametrize(
    ("cell", "about", "text"),
    [
        (cells.value, {}, "0.250"),
        (cells.with_interval, {}, "0.250"),
        (cells.with_interval, {"low": 0.1, "high": -0.0}, "0.250 (0.100 to 0.000)"),
        (cells.with_half_width, {"low": 0.1, "high": 0.4}, "0.250 ±0.150"),
        (cells.with_spread, {"sd": 0.0123}, "0.250 ±0.012"),
        (cells.interval, {"low": None, "high": None}, "–"),
        (cells.change, {}, ""),
        (cells.change, {"change": None}, "–"),
        (
            cells.change,
            {"change": -0.1, "change_low": -0.2, "change_high": 0},
            "-0.100 (-0.200 to 0.000)",
        ),
        (cells.p, {"p": 0.00012}, "1.2e-04"),
        (cells.p, {"p": 0.04}, "0.0400"),
        (cells.p, {"p": 0.0}, "0.0000"),
        (cells.p_holm, {}, "–"),
        (
            cells.chance,
            {"chance": 0.1, "chance_low": 0, "chance_high": 0.2},
            "0.100 (0.000 to 0.200)",
        ),
        (cells.chance, {}, ""),
        (cells.ideal, {"neutral": 0.5, "better": "neutral"}, "0.5"),
        (cells.ideal, {"neutral": None, "better": "lower"}, "lower"),
        (cells.n, {"n": 12345}, "12,345"),
        (cells.percent("left"), {"left": 0.724}, "72%"),
        (cells.detail("chosen"), {"chosen": True}, "yes"),
        (cells.detail("driver"), {"driver": "a.txt"}, "a.txt"),
        (cells.rounded(2), {}, "0.25"),
    ],
)
def test_cells(cell: cells.Cell, about: dict[str, Any], text: str) -> None:
    assert cell(row("midb", 0.25, **about)) == text


def test_an_undefined_value_is_a_dash_and_never_has_an_interval() -> None:
    undefined = row("midb", None)
    for cell in (cells.value, cells.share, cells.with_interval, cells.interval, cells.change):
        assert cell(undefined) == "–"


@pytest.mark.parametrize(
    ("value", "end", "interval", "spread"),
    [
        (-1.3e-06, 0.02, "0.000 (-0.020 to 0.020)", "0.000 ±0.020"),
        (-1.3e-06, 0.0001, "-1.3e-06 (0.000 to 0.000)", "-1.3e-06 ±0.000"),
        (0.0, 0.02, "0.000 (-0.020 to 0.020)", "0.000 ±0.020"),
        (0.25, 0.02, "0.250 (-0.020 to 0.020)", "0.250 ±0.020"),
    ],
)
def test_a_small_value_is_zero_beside_its_uncertainty(
    value: float, end: float, interval: str, spread: str
) -> None:
    ends = {"low": -end, "high": end}
    changed = row("m", 1.0, change=value, change_low=-end, change_high=end)
    assert cells.with_interval(row("m", value, **ends)) == cells.change(changed) == interval
    assert cells.with_half_width(row("m", value, **ends)) == spread
    assert cells.with_spread(row("m", value, sd=end)) == spread
