"""Changes between two results: which values are the same, and what files may be given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wordbias as wb
from wordbias.results import Row


def _changes(old: list[Row], new: list[Row]) -> wb.Report:
    return wb.changes(wb.Report(rows=old), wb.Report(rows=new))


def test_values_that_only_a_text_tells_apart_are_not_exchanged() -> None:
    def rows(subsets: str) -> list[Row]:
        return [Row("m", "ss", float(ord(x)), {"subset": x, "task": "CrowS"}) for x in subsets]

    report = _changes(rows("abc"), rows("cb"))
    assert [row.details["subset"] for row in report] == ["c", "b"]
    assert [row.details["change"] for row in report] == [0, 0]
    assert [line[0] for line in report.tables[0].cells] == [
        "stereotype score, c",
        "stereotype score, b",
    ]
    assert report.notes == ["1 value that only one of the results has"]


def test_a_change_inside_a_result_is_not_that_between_two() -> None:
    inside = {"change": 5.0, "change_low": 4.0, "change_high": 6.0, "change_lists_low": 3.0}
    report = _changes(
        [Row("a", "same", 1.0, {"stage": "misp"})],
        [Row("a", "same", 2.0, {"stage": "misp", **inside, "before": 7.0, "null_p": 0.1})],
    )
    assert report.rows[0].details == {"stage": "misp", "before": 1.0, "change": 1.0}
    assert not report.notes


def test_p_of_a_value_is_corrected_as_its_result_corrected_it() -> None:
    rows = [Row(x, "weat", 1.0, {"p": 0.02, "p_holm": 0.02, "tests": 1}) for x in "ab"]
    assert [row.details["p_holm"] for row in _changes(rows, rows)] == [0.02, 0.02]


def test_the_verdict_reads_the_old_interval_of_the_old_value() -> None:
    ends = {"low": 1.9, "high": 2.1, "better": "lower"}
    old = [Row("a", "same", 1.0, {"better": "lower"})]
    report = _changes(old, [Row("a", "same", 2.0, ends)])
    assert report.tables[0].cells[0][-1] == "no interval to judge by"


def test_a_table_names_both_inputs() -> None:
    report = _changes([Row("glove", "same", 1.0)], [Row("clean", "same", 1.0)])
    assert report.tables[0].title == "Changes from glove to clean"


@pytest.mark.parametrize("kind", ["csv", "spreadsheet", "jsonl", "json"])
def test_every_format_with_rows_is_read_with_its_numbers(
    kind: str, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    """A value without an interval has an empty cell beside one that has one."""
    details: dict[str, Any] = {"neutral": 0.0, "better": "lower", "words": ["he", "she"]}
    report = wb.Report(
        rows=[
            Row("a", "same", 0.5, {**details, "low": 0.4, "high": 0.6, "beyond_chance": False}),
            Row("a", "direct-bias", 0.5, {**details, "n": 20}),
            Row("a", "midb", None, {"reason": "no words"}),
        ]
    )
    paths = [tmp_path / f"old.{kind}", tmp_path / "new.json"]
    paths[0].write_text(report.render(kind), encoding="utf-8")
    report.save(paths[1])
    done = cli("changes", *paths, "--format", "json")
    assert done.code == 0
    same, direct, undefined = json.loads(done.out)["rows"]
    assert (same["change"], same["paired"]) == (0, "independent")
    assert same["change_low"] < 0 < same["change_high"]
    assert (direct["change"], "paired" in direct) == (0, False)
    assert (undefined["value"], "change" in undefined) == (None, False)
    back = wb.changes(paths[1], paths[0]).rows
    assert back[0].details["beyond_chance"] is False
    assert back[1].details["n"] == 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "old.json: empty; expected results as JSON or CSV"),
        ("{", "old.json: not JSON: line 1, column 2: "),
        ('{"rows": []}', "old.json: no values; expected rows"),
        (
            '[{"subject": "a", "measure": "same", "value": 1, "low": "x"}]',
            "old.json: row 1: low: expected a number or null, got 'x'",
        ),
        (
            '[{"subject": "a", "measure": "same", "value": 1, "low": 2, "high": 0.5}]',
            "old.json: row 1, same of a: the interval begins at 2 and ends at 0.5; low must not be",
        ),
    ],
)
def test_what_is_no_result_is_one_line_that_names_the_file(
    text: str, expected: str, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    path = tmp_path / "old.json"
    path.write_text(text, encoding="utf-8")
    done = cli("changes", path, path)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert expected in done.err


def test_vectors_and_pages_are_not_results(tmp_path: Path, cli: Callable[..., Any]) -> None:
    vectors = tmp_path / "glove.txt"
    vectors.write_text("the 0.1 0.2\n, 0.3 0.4\n" + '" 0.5 0.6\n' * 20_000, encoding="utf-8")
    done = cli("changes", vectors, vectors)
    assert done.code == 1
    assert "line 1 has no comma: 'the 0.1 0.2'; give what a command prints with" in done.err
    page = tmp_path / "page.html"
    wb.report(wb.Report(rows=[Row("a", "same", 1.0)]), output=page)
    done = cli("changes", page, page)
    assert done.err.endswith(
        "page.html: is a web page; give what a command prints with --format json\n"
    )


@pytest.mark.slow
def test_the_figure_has_the_values_of_both_results(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    ends = {"low": 0.4, "high": 1.6, "neutral": 0.0}
    report = _changes([Row("glove", "same", 1.0, ends)], [Row("glove", "same", 0.5, ends)])
    report.save(tmp_path / "changes.svg")
    svg = (tmp_path / "changes.svg").read_text(encoding="utf-8")
    assert all(f"glove ({when})" in svg for when in ("old", "new"))


@pytest.mark.slow
def test_audits_of_two_files_are_paired(tmp_path: Path) -> None:
    parts = "midb clustering recoverability gipe sembias map neighbours quality mab occupations"
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    for path in paths:
        wb.audit(output=path, methods="none", skip=parts.split(), chance=False)
    report = wb.changes(*paths)
    how = {row.measure: row.details["paired"] for row in report if "paired" in row.details}
    assert how == {"direct-bias": "words", "direct-bias-pca": "words", "weat": "words"}
    for row in report:
        assert row.details.get("change_low", 0) == row.details.get("change_high", 0) == 0
