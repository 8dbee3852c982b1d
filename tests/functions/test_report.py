"""`wordbias.report` as a user of Python calls it, and results of older versions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stand_ins

from wordbias import Embedding, WordbiasError
from wordbias.functions.changes import changes
from wordbias.functions.compare import compare
from wordbias.functions.measure import measure
from wordbias.functions.report import report
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.rows import SCHEMA

Run = Callable[..., Any]
ROWS = [
    {"subject": "old", "measure": "midb-abs", "value": 0.2, "low": 0.1, "high": 0.3, "neutral": 0}
]
OLD = {
    "wordbias": "0.1.0",
    "command": "measure",
    "arguments": {"embeddings": ["old.txt"], "recipe": "pca", "attribute_file": "age"},
    "seed": 0,
    "inputs": {"old": {"path": "old.txt", "format": "glove", "words": 9, "dim": 3}},
    "versions": {"numpy": "1.26"},
    "limits": "",
    "notes": ["a note"],
    "rows": ROWS,
}
NEW = {**OLD, "schema": 2, "arguments": {"embeddings": ["old.txt"], "direction": "pca"}}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.json"
    path.write_text(json.dumps(OLD), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def measured() -> Report:
    return measure(stand_ins.small().renamed("sample"), only=["midb"], chance=False)


@pytest.mark.slow
def test_files_and_reports_make_the_page_of_the_command(
    cli: Run, old: Path, measured: Report, tmp_path: Path
) -> None:
    measured.save(tmp_path / "m.json")
    typed, called = tmp_path / "typed.html", tmp_path / "called.html"
    assert cli("report", old, tmp_path / "m.json", "-o", typed).code == 0
    page = report(old, measured, output=called)
    assert called.read_text("utf-8") == typed.read_text("utf-8")
    page.save(tmp_path / "saved.html")
    assert (tmp_path / "saved.html").read_text("utf-8") == typed.read_text("utf-8")
    assert [row.subject for row in page] == ["old", *(row.subject for row in measured)]
    assert page.notes == ["a note", *measured.notes]
    assert set(page.inputs) == {"old", "sample"}
    assert "midb-rms" in set(page.to_frame()["measure"])
    assert len(report(old, measured, str(old))) == len(page)


@pytest.mark.parametrize(("found", "name"), [(OLD, "recipe"), (NEW, "direction")])
def test_results_of_both_schemas_are_read(tmp_path: Path, found: Any, name: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    page = report(path)
    assert page["midb-abs"][0].details["low"] == 0.1
    assert f"<dt>argument {name}</dt><dd>pca</dd>" in page.page()
    assert json.loads(page.render("json"))["schema"] == 4


@pytest.mark.parametrize("odd", [["a"], "a", {"old": 3}, None])
def test_inputs_and_arguments_may_be_of_any_type(tmp_path: Path, odd: Any) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**NEW, "inputs": odd, "arguments": odd}), encoding="utf-8")
    assert report(path)["midb-abs"][0].value == 0.2


def test_reports_of_one_subject_are_told_apart(measured: Report) -> None:
    (row,) = measured["midb-rms"]
    other = Report(command="measure", rows=[Row("sample", "midb-rms", 9.0, row.details)])
    subjects = {row.subject for row in report(measured, other)}
    assert subjects == {"sample (report 1)", "sample (report 2)"}


def test_what_has_a_report_is_taken_for_it(measured: Report) -> None:
    embedding = Embedding.sample().with_report(measured)
    assert [row.value for row in report(embedding)] == [row.value for row in measured]


def test_bad_arguments(tmp_path: Path, measured: Report) -> None:
    with pytest.raises(WordbiasError, match="report: name results, or give reports"):
        report()
    with pytest.raises(WordbiasError, match="expected reports and files of results, got dict"):
        report({})  # type: ignore[arg-type]
    with pytest.raises(
        WordbiasError, match=r"a page cannot be written as \.json; name it \.html or"
    ):
        report(measured, output="x.json")
    with pytest.raises(WordbiasError, match="the folder"):
        report(measured, output=tmp_path / "no" / "page.html")


def test_results_of_a_later_version_are_refused(tmp_path: Path, measured: Report) -> None:
    path = tmp_path / "later.json"
    path.write_text(json.dumps({**measured.to_dict(), "schema": SCHEMA + 1}), encoding="utf-8")
    page = tmp_path / "later.html"
    later = report(measured).page().replace(f'"schema":{SCHEMA}', f'"schema":{SCHEMA + 1}')
    page.write_text(later, encoding="utf-8")
    message = f"of a later wordbias: schema {SCHEMA + 1}, this one reads up to {SCHEMA}; upgrade"
    for name, reads in ((path, report), (page, report), (path, compare), (path, changes)):
        with pytest.raises(WordbiasError, match=re.escape(f"{name.name}: {message}")):
            reads(name, name) if reads is changes else reads(name)
