"""Saved rows read back: JSON, JSONL, CSV and pages, and what is not usable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wordbias import WordbiasError
from wordbias.pages.document import DATA, Document, read_documents
from wordbias.pages.page import render_page
from wordbias.reports import Report
from wordbias.results import Row

ROWS = [
    Row("a <b>", "weat", 1.25, {"n": {"x": 2, "y": 2, "z": 3, "w": 3}, "p": 0.01, "set": "7"}),
    Row("a <b>", "direct-bias", -0.5, {"word": "</script><script>alert(1)</script>"}),
    Row("a <b>", "gipe", None, {"reason": "undefined: why", "missing": ["x", "y"]}),
]


@pytest.fixture
def report() -> Report:
    inputs = {"a <b>": {"path": "a.txt", "sha256": "00", "words": 3, "dim": 2}}
    return Report("measure", {"only": ["weat"]}, inputs, ROWS, seed=3, notes=["beware"])


def saved(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_json_comes_back_whole(report: Report, tmp_path: Path) -> None:
    (document,) = read_documents(saved(tmp_path / "r.json", report.render("json")))
    assert document.to_dict() == json.loads(report.render("json"))
    assert document.about["notes"] == ["beware"]
    assert len(document.rows) == 3


def test_jsonl_and_lists_keep_every_row(report: Report, tmp_path: Path) -> None:
    expected = [row.to_dict() for row in ROWS]
    for name, text in (("r.jsonl", report.render("jsonl")), ("r.json", json.dumps(expected))):
        (document,) = read_documents(saved(tmp_path / name, text))
        assert document.rows == expected
    (document,) = read_documents(saved(tmp_path / "one.json", json.dumps(expected[0])))
    assert document.rows == expected[:1]


def test_csv_gets_its_types_back(report: Report, tmp_path: Path) -> None:
    (document,) = read_documents(saved(tmp_path / "r.csv", report.render("csv")))
    assert list(document.rows) == [ROWS[0].to_dict(), ROWS[2].to_dict()]
    assert document.rows[0]["set"] == "7"


def test_a_page_holds_the_documents_it_was_made_from(report: Report, tmp_path: Path) -> None:
    documents = [Document.of(report.to_dict()), Document([{**ROWS[0].to_dict(), "subject": "b"}])]
    page = render_page(documents)
    read_back = read_documents(saved(tmp_path / "p.html", page))
    assert [document.to_dict() for document in read_back] == json.loads(
        json.dumps([document.to_dict() for document in documents])
    )
    assert render_page(read_back) == page


WRONG_WAY = json.dumps(
    [
        {"subject": "a", "measure": "m", "value": 1, "low": 1, "high": 1},
        {"subject": "b", "measure": "m", "value": 1, "low": 0.5, "high": 0.25},
    ]
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no values; expected rows"),
        ("{", "not JSON: line 1"),
        ('{"rows": []}', "no values; expected rows with subject, measure and value"),
        ('{"rows": [1]}', "row 1: expected an object with subject, measure and value"),
        ('{"a": 1}', 'JSON without "rows"'),
        ('[{"subject": 1, "measure": "m", "value": 1}]', "row 1: subject and measure must be text"),
        ('[{"subject": "a", "measure": "m", "value": "x"}]', "row 1: value: expected a number"),
        ('[{"subject": "a", "measure": "m", "value": true}]', "row 1: value: expected a number"),
        ('[{"subject": "a", "measure": "m", "value": Infinity}]', "row 1: inf is not finite"),
        ('[{"subject": "a", "measure": "m", "value": 1e999}]', "row 1: inf is not finite"),
        ("[" * 100_000, "not usable JSON"),
        (f'<script type="application/json" id="{DATA}">nonsense</script>', "is damaged"),
        (" <!DOCTYPE html><p>a, b</p>", "is a web page, but none that audit or report made"),
        (WRONG_WAY, "row 2, m of b: the interval begins at 0.5 and ends at 0.25; low must not"),
        (f'{{"rows": {WRONG_WAY}}}', "row 2, m of b: the interval begins at 0.5"),
        (
            f'<script type="application/json" id="{DATA}">[{{"rows": {WRONG_WAY}}}]</script>',
            "row 2, m of b: the interval begins at 0.5",
        ),
    ],
)
def test_what_is_not_usable_is_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(WordbiasError) as error:
        read_documents(saved(tmp_path / "r.json", text))
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "r.json"))
    assert "\n" not in str(error.value)


def test_an_interval_of_csv_is_checked_too(tmp_path: Path) -> None:
    path = saved(tmp_path / "r.csv", "subject,measure,value,low,high\na,m,1,2,1\n")
    with pytest.raises(WordbiasError, match=r"row 1, m of a: .* begins at 2 and ends at 1"):
        read_documents(path)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b"\xe9")
    for path, message in (
        (tmp_path, "is a folder"),
        (tmp_path / "no.json", "cannot be read"),
        (tmp_path / "latin.json", "not UTF-8 text at byte 0"),
    ):
        with pytest.raises(WordbiasError, match=message):
            read_documents(path)


@pytest.mark.slow
def test_a_file_of_any_size_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(WordbiasError, match="larger than 256 MB"):
        read_documents(path)


@pytest.mark.parametrize("odd", [None, [], {"rows": None}, {"rows": [{"subject": "a"}]}])
def test_odd_data_in_a_page_is_refused(odd: Any, tmp_path: Path) -> None:
    text = f'<script type="application/json" id="{DATA}">{json.dumps([odd])}</script>'
    with pytest.raises(WordbiasError, match="the data in this page is damaged"):
        read_documents(saved(tmp_path / "p.html", text))


def test_what_is_no_number_is_undefined_and_infinite_details_are_left_out(tmp_path: Path) -> None:
    text = '[{"subject": "a", "measure": "m", "value": NaN, "low": -1e999, "high": [Infinity]}]'
    (document,) = read_documents(saved(tmp_path / "r.json", text))
    assert document.rows == [
        {"subject": "a", "measure": "m", "value": None, "low": None, "high": [None]}
    ]
    assert render_page([document])
