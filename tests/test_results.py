"""Results in every format."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias import WordbiasError, __version__
from wordbias.rendering import Table, as_latex, as_markdown, as_text, how_many
from wordbias.reports import FORMATS, Report, versions
from wordbias.results import Row, number

TOP = [
    "schema",
    "wordbias",
    "command",
    "arguments",
    "config",
    "seed",
    "inputs",
    "versions",
    "limits",
]
TOP += ["notes", "rows"]
NASTY = 'a_b & 100% #1 $x {y} ~ ^ \\ | "q", ‖w′−w‖²  Δ\ttab'
LONE = "caf\udce9"


def _report(text: str = "plain") -> Report:
    rows = [
        Row(text, "midb", 0.25, {"stage": "before", "n": 3}),
        Row(text, "direct-bias", None, {"reason": "undefined: why", "missing": [text, "b"]}),
    ]
    table = Table(f"Bias {text}", ["", "before", text], [[text, "0.25", "–"]], f"note {text}")
    return Report(
        "misp", {"path": text}, {text: {"path": text, "words": 3}}, rows, [table], [text], [text], 7
    )


@pytest.fixture(params=["plain", NASTY, LONE], ids=["plain", "nasty", "lone surrogate"])
def text(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("to", FORMATS)
def test_every_format_ends_in_one_line_feed_and_can_be_encoded(to: str, text: str) -> None:
    out = _report(text).render(to)
    assert out.endswith("\n")
    assert not out.endswith("\n\n")
    assert out.encode("utf-8", "backslashreplace")


def test_json_has_these_keys_in_this_order(text: str) -> None:
    content = json.loads(_report(text).render("json"))
    assert list(content) == TOP
    assert content["wordbias"] == __version__
    assert content["command"] == "misp"
    assert content["seed"] == 7
    assert content["versions"] == versions()
    assert content["arguments"] == {"path": text}
    assert content["inputs"] == {text: {"path": text, "words": 3}}


def test_json_rows_are_flat_and_undefined_values_null(text: str) -> None:
    rows = json.loads(_report(text).render("json"))["rows"]
    assert rows == [
        {"subject": text, "measure": "midb", "value": 0.25, "stage": "before", "n": 3},
        {
            "subject": text,
            "measure": "direct-bias",
            "value": None,
            "reason": "undefined: why",
            "missing": [text, "b"],
        },
    ]


def test_json_lines_are_the_rows(text: str) -> None:
    report = _report(text)
    lines = report.render("jsonl").splitlines()
    assert [json.loads(line) for line in lines] == [row.to_dict() for row in report.rows]


@pytest.mark.parametrize("to", ["json", "jsonl"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_json_never_holds_a_nan(to: str, value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        Report("x", {}, {}, [Row("s", "m", value)]).render(to)


def test_csv_is_read_back(text: str) -> None:
    out = _report(text).render("csv")
    rows = list(csv.DictReader(io.StringIO(out, newline="")))
    assert list(rows[0]) == ["subject", "measure", "value", "stage", "n", "reason", "missing"]
    assert rows[0]["subject"] == rows[1]["subject"] == text
    assert (float(rows[0]["value"]), rows[1]["value"]) == (0.25, "")
    assert (rows[0]["reason"], rows[1]["reason"]) == ("", "undefined: why")


def test_csv_lists_are_read_back(text: str) -> None:
    rows = list(csv.DictReader(io.StringIO(_report(text).render("csv"), newline="")))
    assert json.loads(rows[1]["missing"]) == [text, "b"]


def test_a_report_without_rows_has_every_format() -> None:
    empty = Report("cache", {}, {}, [], [Table("nothing", ["a", "b"], [])])
    assert json.loads(empty.render("json"))["rows"] == []
    assert empty.render("jsonl") == ""
    assert csv.reader(io.StringIO(empty.render("csv")))
    for to in ("table", "md", "latex"):
        assert "nothing" in empty.render(to)


def test_markdown_rows_have_as_many_cells_as_the_head(text: str) -> None:
    lines = [line for line in _report(text).render("md").splitlines() if line.startswith("|")]
    assert len(lines) == 3
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines] == [4, 4, 4]
    assert re.fullmatch(r"\|( --- \|)( ---: \|){2}", lines[1])


def test_markdown_escapes_a_backslash_before_a_bar() -> None:
    """In GitHub's tables, a cell `a\\|b` escapes nothing if the backslash is not escaped too."""
    table = Table("t", ["", "x"], [["a\\|b", "1"]])
    line = Report("c", {}, {}, [], [table]).render("md").splitlines()[-1]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3


def test_markdown_shows_markup_in_texts() -> None:
    bad, escaped = "<script>*x*</script> [a](b)", r"\<script\>\*x\*\</script\> \[a\](b)"
    tables = [Table(bad, [bad, "x"], [[bad, "1"]], bad)]
    report = Report("c", {}, {}, [], tables, heading=[bad], closing=[bad], notes=["of " + bad])
    assert report.render("md").count(escaped) == 7
    assert bad not in report.render("md")


def test_csv_is_exact_and_of_a_spreadsheet_without_formulas() -> None:
    texts = ["=1+1", "+x", "-x", "@user", "\tx", "\rx", "a=b", ""]
    report = Report("c", {}, {}, [Row(text, "midb", -0.5, {"words": [text]}) for text in texts])
    exact, safe = (
        list(csv.reader(io.StringIO(report.render(to), newline="")))
        for to in ("csv", "spreadsheet")
    )
    assert [row[0] for row in exact[1:]] == texts
    assert [row[0] for row in safe[1:]] == [f"'{text}" for text in texts[:6]] + texts[6:]
    assert {row[2] for row in exact[1:] + safe[1:]} == {"-0.5"}


def test_latex_is_well_formed(text: str) -> None:
    out = _report(text).render("latex")
    begins, ends = (re.findall(rf"\\{word}{{(\w+)}}", out) for word in ("begin", "end"))
    assert begins == ["table", "tabular"]
    assert ends == begins[::-1]
    assert r"\begin{tabular}{lrr}" in out
    rows = [line for line in out.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 2
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [2, 2]


def test_latex_escapes_every_special_character() -> None:
    table = Table("t", [NASTY], [[NASTY]])
    out = Report("c", {}, {}, [], [table]).render("latex")
    row = next(line for line in out.splitlines() if line.endswith(r"\\"))
    body = row.removesuffix(r" \\")
    commands = re.sub(r"\\[a-zA-Z]+\{\}|\\[&%$#_{}]|\$[^$]*\$", "", body)
    assert not set("\\&%$#_{}~^") & set(commands)


@pytest.mark.parametrize("character", ["|", "<", ">"])
def test_latex_does_not_turn_a_character_into_another(character: str) -> None:
    """In LaTeX's default encoding OT1, these three print as a dash, ¡ and ¿."""
    out = Report("c", {}, {}, [], [Table("t", [character], [])]).render("latex")
    head = next(line for line in out.splitlines() if line.endswith(r"\\"))
    assert head != character + r" \\"


@pytest.mark.parametrize("character", list("ΔΣβφ−≤÷‖²³ⁿ½–′"))
def test_latex_needs_no_characters_that_pdflatex_refuses(character: str) -> None:
    out = Report("c", {}, {}, [], [Table("t", [character], [])]).render("latex")
    assert character not in out


def test_latex_has_booktabs_and_a_label_of_its_own_for_each_table() -> None:
    tables = [
        Table(title, ["", head], [["[a]", "1"]], "a note: 5 %")
        for title, head in (("Words, a", "x"), ("B", "y"), ("Words, a", "z"))
    ]
    out = Report("measure", {}, {}, [], tables).render("latex")
    assert out.startswith("% needs \\usepackage{booktabs}\n")
    labels = ["tab:measure-words", "tab:measure-b", "tab:measure-words--2"]
    assert re.findall(r"\\label{(.*)}", out) == labels
    assert [out.count(rf"\{rule}") for rule in ("toprule", "midrule", "bottomrule")] == [3, 3, 3]
    assert "\n{}[a] & 1 \\\\" in out  # not an option of the line break above
    assert out.count("a note: 5 \\%\\par}") == 3
    assert "hline" not in out


def test_latex_has_one_table_of_what_is_one_for_each_embedding() -> None:
    tables = [
        Table(f"Words of {name}", ["", "lean"], [["nurse", value]], f"note {name == 'c'}")
        for name, value in (("a", ".1"), ("b", ".2"), ("c", ".3"))
    ]
    out = Report("measure", {}, {}, [], [*tables, Table("Else", ["", "p"], [])]).render("latex")
    assert re.findall(r"\\caption{(.*)}", out) == ["Words of a, b, c", "Else"]
    assert re.findall(r"^(\w+) & (\S*) ", out, re.MULTILINE) == [
        *(("a", ""), ("nurse", ".1"), ("b", ""), ("nurse", ".2"), ("c", ""), ("nurse", ".3"))
    ]
    assert out.count("note False note True") == 1


@pytest.mark.parametrize("to", ["md", "latex", "html"])
def test_readers_get_names_of_files_and_machines_their_paths(to: str) -> None:
    first, two = "/home/me/my_texts & so/a/glove.txt", "/home/me/my_texts & so/b/glove.txt"
    inputs = {"glove": {"path": first}, two: {"path": two}, "c": {"path": r"C:\Users\me\c.txt"}}
    arguments = {"output": "/home/me/my_out.csv", "words": ["/c/en/dog"], "sets": "x=/home/me/sets"}
    rows = [Row(two, "midb", 0.5, {"word": "/c/en/dog"})]
    tables = [Table(f"Of {first}", ["/c/en/dog", "x"], [[two, "1"]])]
    heading = [f"glove: {first}", r"c: C:\Users\me\c.txt", "written to /home/me/my_out.csv"]
    report = Report("x", arguments, inputs, rows, tables, heading, ["of /home/me/sets"])
    rendered = report.page() if to == "html" else report.render(to)
    assert not re.search("/home|/me|Users", rendered)
    assert {"a/glove.txt", "b/glove.txt", "/c/en/dog"} <= set(re.split(r"[\s|&<>\\\"]", rendered))
    assert first in report.render("json")
    assert first in report.render("table")


def test_a_frame_begins_with_what_matters() -> None:
    pandas = pytest.importorskip("pandas")
    about = {"set": "a", "chance_low": 0.0, "chance": 0.1, "n": {"f": 1}, "low": 0.2, "high": 0.6}
    frame = Report("x", {}, {}, [Row("s", "m", 0.5, about), Row("s", "o", None)]).to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame) == [
        *("subject", "measure", "value", "low", "high", "chance_low", "chance", "set", "n_f")
    ]
    assert list(Report("x", {}, {}, []).to_frame()) == []


def test_a_wide_frame_has_a_line_for_each_subject() -> None:
    pytest.importorskip("pandas")
    rows = [Row(name, m, i + j / 2) for i, name in enumerate("ba") for j, m in enumerate("yx")]
    frame = Report("x", {}, {}, rows).to_frame(wide=True)
    assert (frame.index.name, list(frame.index)) == ("subject", ["b", "a"])
    assert (frame.columns.name, list(frame)) == ("measure", ["y", "x"])
    assert frame.to_numpy().tolist() == [[0, 0.5], [1, 1.5]]
    of_stages = [replace(row, details={"stage": stage}) for row in rows for stage in ("c", "d")]
    frame = Report("x", {}, {}, of_stages).to_frame(wide=True)
    assert list(frame.index) == [("b", "c"), ("b", "d"), ("a", "c"), ("a", "d")]
    frame = Report("x", {}, {}, [*rows, Row("a", "x", None)]).to_frame(wide=True)
    assert list(frame.index) == [("b", 1), ("a", 1), ("a", 2)]
    assert frame.isna().to_numpy().tolist() == [[False, False], [False, False], [True, True]]


def test_a_wide_frame_of_words_has_a_line_for_each_word() -> None:
    pytest.importorskip("pandas")
    rows = [
        Row(name, "lean", i + j, {"word": word})
        for i, name in enumerate(("one", "two"))
        for j, word in enumerate(("nurse", "doctor"))
    ]
    frame = Report("x", {}, {}, [Row("one", "midb", 3.0), *rows]).to_frame(wide=True)
    assert (frame.index.name, list(frame.index)) == ("word", ["nurse", "doctor"])
    assert (frame.columns.name, frame.loc["doctor"].tolist()) == ("subject", [1.0, 2.0])
    both = [*rows[:2], *(replace(row, measure="midb") for row in rows[:2])]
    frame = Report("x", {}, {}, both).to_frame(wide=True)
    assert (frame.columns.name, list(frame)) == ("measure", ["lean", "midb"])
    frame = Report("x", {}, {}, [*rows, *both[2:]]).to_frame(wide=True)
    assert list(frame) == [("lean", "one"), ("lean", "two"), ("midb", "one")]


def test_versions_are_of_what_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("gensim", "ot", "spacy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "scipy", SimpleNamespace(__version__="1.2.3"))
    by_package = versions()
    assert {"python", "numpy", "scipy"} <= set(by_package)
    assert not {"gensim", "POT", "spacy"} & set(by_package)
    assert by_package["scipy"] == "1.2.3"


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(WordbiasError, match="'xml': expected one of table, json, jsonl"):
        _report().render("xml")


@pytest.mark.parametrize("width", [80, 100])
def test_headings_and_notes_are_wrapped(width: int) -> None:
    long = "word " * 60
    report = Report("c", {}, {}, [], [Table("t", ["a"], [["b"]], long)], [long], [long])
    lines = report.render("table", width).splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.split().count("word") for line in lines) == 180


@pytest.mark.parametrize("to", ["md", "latex", "html"])
def test_a_note_that_a_table_ends_with_is_not_shown_twice(to: str) -> None:
    tables = [Table("t", ["a"], [["b"]], "said below")]
    report = Report("x", {}, {}, [], tables=tables, notes=["said below", "said once"])
    rendered = report._repr_html_() if to == "html" else report.render(to)
    assert rendered.count("said below") == rendered.count("said once") == 1
    assert json.loads(report.render("json"))["notes"] == ["said below", "said once"]


def test_columns_are_aligned() -> None:
    table = Table("t", ["name", "value"], [["a", "-1.25"], ["long name", "10.5"], ["b", "–"]])
    lines = Report("c", {}, {}, [], [table]).render("table").splitlines()[1:]
    assert lines == [
        "  name       value",
        "  a          -1.25",
        "  long name   10.5",
        "  b              –",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0.0, "0.0000"),
        (0.12345, "0.1235"),
        (-2.5, "-2.5000"),
        (0.00001, "1.0e-05"),
        (-0.00001, "-1.0e-05"),
    ],
)
def test_numbers_for_people(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_a_row_is_one_flat_dictionary() -> None:
    row: dict[str, Any] = Row("s", "m", 1.0, {"stage": "after"}).to_dict()
    assert row == {"subject": "s", "measure": "m", "value": 1.0, "stage": "after"}


@pytest.mark.parametrize("to", ["table", "md", "latex"])
@pytest.mark.parametrize("bad", [*"\x00\x07\x1b\x7f\x9b\r\u202e\u2066"])
def test_control_characters_are_replaced_for_readers(to: str, bad: str) -> None:
    text = f"nurse{bad}0;title"
    report = _report(text)
    out = replace(report, notes=[text]).render(to)
    assert bad not in out
    assert "nurse\ufffd0;title" in out
    assert json.loads(report.render("json"))["rows"][0]["subject"] == text  # machines are told all


@pytest.mark.parametrize(
    "draw", [partial(as_text, width=100), as_markdown, partial(as_latex, label="tab:x")]
)
def test_a_cell_of_two_lines_stays_on_its_own(draw: Callable[[Table], str]) -> None:
    def drawn(name: str, title: str) -> str:
        return draw(Table(title, ["a", name], [[name, "1"], ["x", "2"]]))

    assert drawn("nurse\nmidwife\tdoula", "two\nlines") == drawn("nurse midwife doula", "two lines")


def test_a_count_of_one_is_singular() -> None:
    assert [how_many(n, "row") for n in (0, 1, 2, 1000)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "1,000 rows",
    ]
    assert [how_many(n, "class", "classes") for n in (1, 2)] == ["1 class", "2 classes"]


_WORD = st.text("abcdefghij", min_size=1, max_size=12)
_CELL = st.lists(st.tuples(_WORD, st.sampled_from([" ", "/", "_"])), max_size=6).map(
    lambda parts: "".join(word + joint for word, joint in parts).rstrip()
)


@settings(deadline=None)
@given(st.lists(st.tuples(_WORD, _CELL, _CELL), min_size=1, max_size=6))
def test_a_table_too_wide_is_wrapped_and_loses_nothing(rows: list[tuple[str, str, str]]) -> None:
    heads = ["name", "what", "more"]
    lines = as_text(Table("t", heads, rows), 50).splitlines()[1:]
    assert max(map(len, lines)) <= 50
    cells = [*heads, *(cell for row in rows for cell in row)]
    assert sorted("".join(lines).replace(" ", "")) == sorted("".join(cells).replace(" ", ""))
    words = {word for cell in cells for word in re.split(r"[ /_]", cell)}
    assert set(re.split(r"[ /_]", " ".join(lines))) <= words | {""}


def test_a_narrow_table_wraps_texts_and_not_numbers() -> None:
    table = Table("t", ["what", "n"], [["a long description of it", "1,000 … 2,000"]])
    assert as_text(table, 34).splitlines()[1:] == [
        "  what                           n",
        "  a long             1,000 … 2,000",
        "  description of it",
    ]
    joined = Table("t", ["what"], [["european_names/african_names"]])
    assert as_text(joined, 20).splitlines()[2:] == ["  european_names/", "  african_names"]
