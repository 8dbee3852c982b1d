"""`wordbias report`: the page of what any command saved."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wordbias as wb
from wordbias.pages.answers import answers
from wordbias.pages.document import read_documents

Run = Callable[..., Any]
PREDICTIONS = "label,predicted,group\n" + "nurse,nurse,F\nnurse,doctor,M\n" * 5 + (
    "doctor,doctor,M\ndoctor,doctor,F\n" * 5
)  # fmt: skip


@pytest.fixture
def saved(cli: Run, tmp_path: Path) -> Callable[..., Path]:
    """Save the rows of a command as JSON."""

    def save(*arguments: object) -> Path:
        done = cli(*arguments, "--format", "json", "--quiet")
        assert done.code == 0, done.err
        path = tmp_path / f"{arguments[0]}.json"
        path.write_text(done.out, encoding="utf-8")
        return path

    return save


@pytest.fixture
def page(cli: Run, tmp_path: Path) -> Callable[..., str]:
    """Make a page and return it."""

    def make(*paths: object) -> str:
        target = tmp_path / "page.html"
        done = cli("report", *paths, "-o", target)
        assert (done.code, done.err) == (0, "")
        assert done.out.endswith(f"Written: {target}\n")
        return target.read_text(encoding="utf-8")

    return make


@pytest.mark.slow
def test_rows_of_misp_have_their_components_and_stages(saved: Run, page: Run) -> None:
    text = page(saved("misp"))
    assert "MIDB spectrum of sample" in text
    assert "after, refitted" in text
    assert "no interval to judge by" in text


@pytest.mark.slow
def test_single_words_are_kept(saved: Run, page: Run) -> None:
    text = page(saved("measure", "--words", "nurse,boss"))
    assert '<section id="rows">' in text
    assert "nurse" in text
    assert "boss" in text


def test_measures_without_a_picture_get_a_plain_table(
    saved: Run, page: Run, tmp_path: Path
) -> None:
    path = tmp_path / "p.csv"
    path.write_text(PREDICTIONS, encoding="utf-8")
    rows = saved("fairness", path, "--draws", 20)
    text = page(rows)
    for row in json.loads(rows.read_text())["rows"]:
        assert f"<caption>{row['measure']}</caption>" in text


@pytest.mark.slow
def test_several_files_make_one_page_that_makes_itself_again(
    saved: Run, page: Run, tmp_path: Path
) -> None:
    files = [saved("weat", "--query", "weat7", "--draws", 10), saved("misp")]
    text = page(*files)
    assert '<section id="weat">' in text
    assert '<section id="midb">' in text
    copy = tmp_path / "copy.html"
    copy.write_text(text, encoding="utf-8")
    assert page(copy) == text
    assert [document.about["command"] for document in read_documents(copy)] == ["weat", "misp"]


def test_markdown_goes_to_stdout_or_into_a_file(cli: Run, saved: Run, tmp_path: Path) -> None:
    rows = saved("weat", "--query", "weat7", "--draws", 10)
    done = cli("report", rows, "--format", "md")
    assert done.out.startswith("# Bias report: sample\n")
    assert "| WEAT, effect size d" in done.out
    target = tmp_path / "r.md"
    assert "Written:" in cli("report", rows, "--format", "md", "-o", target).out
    assert target.read_text(encoding="utf-8") == done.out


def test_what_cannot_be_seen_is_neither_in_a_page_nor_on_the_terminal(
    cli: Run, tmp_path: Path
) -> None:
    """Escape sequences, zeros and what turns text around; the data of the page keep them."""
    odd = "\x1b[2Jgood\u202egnp\x00\x07"
    rows = [
        {"subject": name, "measure": measure, "value": 0.5, "low": 0.4, "high": 0.6, "set": odd}
        for measure in ("midb", "clustering-accuracy", odd)
        for name in (odd, "plain")
    ]
    (tmp_path / "rows.json").write_text(json.dumps({"rows": rows, "notes": [odd]}))
    page, text = tmp_path / "page.html", tmp_path / "page.md"
    outputs = [cli("report", tmp_path / "rows.json", "-o", target).out for target in (page, text)]
    outputs += [path.read_text(encoding="utf-8") for path in (page, text)]
    for printed in outputs:
        assert not set(printed) & set("\x1b\u202e\x00\x07")
    assert all("\ufffd[2Jgood" in written.replace("\\", "") for written in outputs)
    assert read_documents(page)[0].rows == rows


def test_without_a_name_the_page_has_one(
    cli: Run, saved: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = saved("weat", "--query", "weat7", "--draws", 10)
    monkeypatch.chdir(tmp_path)
    assert "Written: wordbias-report.html" in cli("report", rows).out
    assert (tmp_path / "wordbias-report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_a_file_named_like_a_tag_is_a_file(cli: Run, saved: Run, tmp_path: Path) -> None:
    rows = saved("weat", "--query", "weat7", "--draws", 10)
    document = json.loads(rows.read_text())
    name = "<script>alert(1)<"
    for row in document["rows"]:
        row["subject"] = name
    document["inputs"] = {name: {"path": f"{name}.txt", "words": 2, "dim": 1}}
    (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    target = tmp_path / "out.html"
    assert cli("report", tmp_path / f"{name}.json", "-o", target).code == 0
    text = target.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON: line 1, column 2"),
        ('{"rows": [1]}', "row 1: expected an object"),
        ("[]", "no values"),
    ],
)
def test_bad_rows_are_one_line_and_nothing_is_written(
    cli: Run, tmp_path: Path, text: str, message: str
) -> None:
    path, target = tmp_path / "r.json", tmp_path / "r.html"
    path.write_text(text, encoding="utf-8")
    done = cli("report", path, "-o", target)
    assert (done.code, done.out) == (1, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not target.exists()


def test_the_page_is_not_written_over_its_rows(cli: Run, saved: Run, tmp_path: Path) -> None:
    rows = saved("weat", "--query", "weat7", "--draws", 10)
    before = rows.read_bytes()
    done = cli("report", rows, "-o", rows)
    assert done.code == 1
    assert "is both an input" in done.err
    assert rows.read_bytes() == before
    assert "the folder" in cli("report", rows, "-o", tmp_path / "no" / "r.html").err
    assert cli("report").code == 2


@pytest.mark.slow
def test_as_a_process_it_needs_neither_sklearn_nor_matplotlib(saved: Run, tmp_path: Path) -> None:
    call = ["report", str(saved("misp")), "-o", str(tmp_path / "r.html")]
    code = (
        "import sys\n"
        "from wordbias.cli import run\n"
        f"assert run({call!r}) == 0\n"
        "assert not {'sklearn', 'matplotlib'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_printed_fits_80_columns_and_breaks_no_word(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    measures = ("direct-bias", "gipe", "midb-abs", "clustering-accuracy")
    rows = [
        {"subject": "e", "measure": measure, "value": 0.5, "low": 0.4, "high": 0.6, "neutral": 0.0}
        for measure in measures
    ]
    (tmp_path / "rows.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
    done = cli("report", tmp_path / "rows.json", "-o", tmp_path / "page.html")
    *lines, written = done.out.splitlines()
    assert written == f"Written: {tmp_path / 'page.html'}"
    assert max(map(len, lines)) <= 80
    assert " ".join(lines) == " ".join(answers(rows))


@pytest.mark.slow
def test_the_table_of_a_sweep_is_printed_and_written_where_that_is_asked_for(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_data: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    table = shared_data / "published" / "paper2_table7_clean.csv"
    done = cli("report", table)
    assert done.out.startswith(f"The sweep in {table}.")
    assert "(Table 5)" in done.out
    assert not list(tmp_path.iterdir())
    assert cli("report", table, "--format", "md").out.count("| Base |") == 1
    done = cli("report", table, "-o", "page.html")
    assert done.out.endswith("Written: page.html.\n")
    assert "snli-increase" in Path("page.html").read_text(encoding="utf-8")
    assert cli("report", table, "--format", "html").code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "wordbias-report.html"}
    done = cli("report", table, table)
    assert (done.code, "is summarised alone" in done.err) == (2, True)
    pytest.importorskip("matplotlib")
    assert wb.report(table).plot().get_title(loc="left") == "Filled: viable on SNLI"
