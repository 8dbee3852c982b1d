"""Every golden call gives what it gave: see tools/golden.py for changes on purpose.

What it prints has all of its values in every format, and its tables fit the terminal.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins
from calls import CALLS, COMMANDS, MAKERS, Call
from records import differences, masked, record, settled, stored, visible, without_times

from wordbias.commands import shell
from wordbias.reports import FORMATS, Report

EXPECTED = Path(__file__).parent / "expected"
WRITE = "WORDBIAS_WRITE_GOLDEN"
"""Set by tools/golden.py: write what differs."""
KEEP = "WORDBIAS_KEEP_GOLDEN"
"""Set by tools/byte_equal.py: a folder for everything that the calls print and write."""

SLOW = {
    "audit-draws-json",
    "audit-html",
    "audit-json",
    "audit-model-groups-json",
    "audit-sample-md",
    "changes-json",
    "choose-table",
    "compare-table",
    "coref-score-gap-table",
    "debias-draws-json",
    "debias-gender-preserving-json",
    "debias-half-sibling-json",
    "debias-hard-json",
    "debias-inlp-json",
    "debias-leace-json",
    "debias-measure-json",
    "debias-misp-table",
    "debias-null-table",
    "error-nothing-to-choose",
    "fairness-table",
    "likelihood-encoder-table",
    "likelihood-json",
    "likelihood-table",
    "mab-eval-parity-adapter-table",
    "mab-eval-predictions-json",
    "mab-eval-table",
    "mab-eval-they-json",
    "mab-eval-write-religion-table",
    "measure-gipe-sembias-json",
    "measure-json",
    "measure-lists-json",
    "measure-lists-table",
    "measure-religion-jsonl",
    "measure-subspace-table",
    "measure-table",
    "measure-words-json",
    "misp-draws-json",
    "misp-draws-table",
    "misp-file-table",
    "misp-published-csv",
    "misp-religion-latex",
    "misp-sample-table",
    "probe-adapter-table",
    "project-table",
    "quality-table",
    "rewrite-extra-scrub-json",
    "sentiment-table",
    "sweep-task-json",
    "weat-table",
}
"""Calls over a fifth of a second; the command of each has others."""

DRAWN = (
    *("bios-json", "ceat-published-table", "changes-table", "choose-table"),
    *("compare-table", "coref-score-gap-table", "coref-study-json", "debias-misp-table"),
    *("fairness-table", "likelihood-encoder-table", "mab-eval-predictions-json", "measure-table"),
    *("misp-file-table", "probe-sample-table", "project-table", "quality-table"),
    *("retrieval-table", "seat-json", "sentiment-table", "sweep-json"),
)
"""Calls whose report is drawn; test_plots_of_calls.py has the commands that are absent."""


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of files that calls need, each made once."""
    return tmp_path_factory.mktemp("inputs")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to an empty folder, with an empty cache, no data in it, and no terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    directory = tmp_path / "run"
    directory.mkdir()
    monkeypatch.chdir(directory)
    monkeypatch.setenv("WORDBIAS_CACHE", str(directory / "cache"))
    monkeypatch.setenv("WORDBIAS_DATA", str(directory / "data"))
    return directory


def provide(name: str, store: Path, folder: Path) -> None:
    """Put a file or folder that a call needs into the folder where it runs."""
    source = store / name.rstrip("/")
    if not source.exists():
        nowhere = io.StringIO()
        with (
            contextlib.chdir(store),
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
        ):
            MAKERS[name](Path(source.name))
    (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / source.name)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[Report]:
    """Keep the reports that commands print."""
    reports: list[Report] = []
    show = shell.show

    def keeping(report: Report, to: str, **options: Any) -> None:
        reports.append(report)
        show(report, to, **options)

    monkeypatch.setattr(shell, "show", keeping)
    return reports


def check_formats(report: Report) -> None:
    """Render a report in every format, and look for its values."""
    rows = report.to_dict()["rows"]
    numbers = {
        cell
        for table in report.tables
        for row in table.cells
        for cell in row
        if re.fullmatch(r"\d[\d.]*", cell)
    }
    for to in FORMATS:
        text = report.render(to)
        assert text.endswith("\n") or not rows, to
        if to == "json":
            assert json.loads(text)["rows"] == json.loads(json.dumps(rows))
        elif to == "jsonl":
            assert [json.loads(line) for line in text.splitlines()] == json.loads(json.dumps(rows))
        elif to in ("csv", "spreadsheet"):
            read = csv.DictReader(io.StringIO(text))
            values = [float(row["value"]) if row["value"] else None for row in read]
            assert values == [row["value"] for row in rows]
        else:
            assert [cell for cell in numbers if cell not in text] == [], to
    latex_lines = [line for line in report.render("latex").splitlines() if not line.startswith("%")]
    known = set("·×’‘“”–—…")  # of those outside ASCII, what LaTeX knows by itself
    assert {character for character in "".join(latex_lines) if ord(character) > 127} <= known
    for width in (80, 100):
        lines = report.render("table", width).splitlines()
        assert [line for line in lines if len(line) > width and "  " in line] == []


def in_a_model(path: Path) -> bool:
    """Say whether a file is what transformers writes with a model, but for its arrays."""
    beside = path.with_name("config.json").exists()
    return beside and path.name not in ("model.safetensors", "training.json")


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, id=call.name, marks=pytest.mark.slow if call.name in SLOW else ())
        for call in CALLS
    ],
)
def test_a_call_gives_what_it_gave(
    call: Call,
    cli: Callable[..., Any],
    store: Path,
    folder: Path,
    printed: list[Report],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for package in call.needs:
        pytest.importorskip(package)
    for name in call.inputs:
        provide(name, store, folder)
    given = files(folder)
    if call.few_premises:
        stand_ins.few_premises(monkeypatch)
    done = cli(*call.words)
    written = [
        path
        for path in files(folder)
        if path not in given
        and not in_a_model(path)
        and path.relative_to(folder).parts[0] not in ("cache", "data")
    ]
    if os.environ.get(KEEP):
        keep(call, done, folder, written)
        return
    actual = record(call.line, done.code, done.out, done.err, folder, written)
    path = EXPECTED / f"{call.name}.json"
    expected = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    both = (
        (without_numbers(expected), without_numbers(actual)) if call.counts else (expected, actual)
    )
    apart = list(differences(*both, call.trained))
    if os.environ.get(WRITE):
        if apart:
            text = stored(settled(expected, actual, call.trained))
            path.write_text(text + "\n", encoding="utf-8", newline="\n")
        return
    more = f"\nOn purpose? Then: python tools/golden.py {call.name}"
    assert not apart, "\n".join(apart[:20]) + more
    for report in () if call.counts else printed:  # the width depends on the values, too
        check_formats(report)
    if call.name in DRAWN:
        pytest.importorskip("matplotlib")
        with np.errstate(all="warn"):
            printed[-1].save("figure.svg")
        check_figure(folder / "figure.svg", call.words[0])


def check_figure(path: Path, command: str) -> None:
    """Look for the title and the marks of a figure."""
    drawn = path.read_text(encoding="utf-8")
    assert f">{command}: " in drawn or command == "report"
    assert drawn.count("<path") > 5


def without_numbers(value: Any) -> Any:
    """Return a structure with 0 for each number, also of texts."""
    if isinstance(value, dict):
        return {key: without_numbers(part) for key, part in value.items()}
    if isinstance(value, list):
        return [without_numbers(part) for part in value]
    if isinstance(value, str):
        return re.sub(r"[-−+]?[0-9]*[.]?[0-9]+", "0", value)
    return 0 if isinstance(value, (int, float)) or value is None else value


def keep(call: Call, done: Any, folder: Path, made: list[Path]) -> None:
    """Write down what a call printed, and copy what it wrote."""
    to = Path(os.environ[KEEP]) / call.name
    to.mkdir(parents=True)
    for name in ("code", "out", "err"):
        content = without_times(str(getattr(done, name)), folder)
        (to / name).write_text(content, encoding="utf-8", newline="")
    for path in made:
        copy = to / "files" / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        content = path.read_bytes().decode(errors="surrogateescape")
        copy.write_bytes(without_times(content, folder).encode(errors="surrogateescape"))


NO_JSON = ("convert", "report", "erase", "push")
"""Commands without a golden result: erase counts held-out rows, of which rounding of another BLAS
moves one, push needs a hub; both have tests of their own."""
"""Commands that print no rows, and one whose rows are about the machine."""


def test_every_command_is_called_and_every_file_is_of_a_call() -> None:
    names = [call.name for call in CALLS]
    assert len(names) == len({*names})
    assert sorted(path.stem for path in EXPECTED.iterdir()) == sorted(names)
    assert {*names} >= SLOW
    for command in COMMANDS:  # in the quick run, too
        called = [
            call for call in CALLS if call.line.split()[0] == command and call.name not in SLOW
        ]
        assert any("json" in call.line for call in called) or command in NO_JSON


def test_the_files_are_small() -> None:
    sizes = [path.stat().st_size for path in EXPECTED.iterdir()]
    assert max(sizes) < 500_000  # an audit of five columns
    assert sum(sizes) < 3_000_000


SAID = {"value": 0.5, "change": 1e-3, "n": 100, "text": "n = 100, p = 0.0312 of 1,500"}


@pytest.mark.parametrize(
    ("change", "trained", "differs"),
    [
        ({}, False, False),
        ({"value": 0.5 + 1e-8}, False, False),
        ({"value": 0.5001}, False, True),
        ({"value": 0.5001}, True, False),
        ({"value": 0.51}, True, True),
        ({"value": None}, True, True),
        ({"change": 1e-3 + 4e-6}, False, False),
        ({"change": 1e-3 + 6e-6}, False, True),
        ({"change": 1e-3 + 6e-6}, True, False),
        ({"n": 101}, True, True),
        ({"n": True}, True, True),
        ({"text": "n = 101, p = 0.0312 of 1,500"}, True, True),
        ({"text": "n = 100, p = 0.0313 of 1,500"}, False, False),
        ({"text": "n = 100, p = 0.0314 of 1,500"}, True, True),
        ({"text": "n = 100, p = 0.031 of 1,500"}, False, True),
        ({"text": "N = 100, p = 0.0312 of 1,500"}, True, True),
        ({"more": 1}, True, True),
    ],
)
def test_what_counts_as_a_difference(change: dict[str, Any], trained: bool, differs: bool) -> None:
    assert any(differences(SAID, {**SAID, **change}, trained)) == differs


def test_the_order_of_keys_and_the_number_of_lines_count() -> None:
    assert any(differences(SAID, dict(reversed(SAID.items())), True))
    assert any(differences(["a"], ["a", "b"], True))
    assert any(differences(["a", "b"], ["b", "a"], True))


def test_what_is_stored_is_read_again() -> None:
    value = {"a": [{"b": 0.1, "c": "é" * 400}, [], {}], "d": list(range(200)), "e": None}
    assert json.loads(stored(value)) == value


def test_masks_hide_only_hashes_dates_and_versions() -> None:
    text = f"{'0a' * 32} 2026-01-02T03:04:05Z 0.1.0 0.25 1,500 word"
    assert masked(text) == "<hash> <date> <version> 0.25 1,500 word"
    assert masked({"sha256": "x", "rows": [1]}) == {"sha256": "<hash>", "rows": [1]}


def test_how_long_it_took_and_where_is_left_out(tmp_path: Path) -> None:
    text = f"{tmp_path}/a\n  dim  seconds  texts/s\n   16      0.4      525\n  2 texts\n"
    left = "<folder>/a\n  dim  seconds  texts/s\n   16 <seconds> <rate>\n  2 texts\n"
    assert without_times(text, tmp_path) == left
    row = '{"measure": "texts-per-second",\n "value": 69.4, "n": 6}'
    left = '{"measure": "texts-per-second",\n "value": 0, "n": 6}'
    assert without_times(row, tmp_path) == left


def test_a_page_is_what_a_reader_sees() -> None:
    page = "<style>p {}</style><p>One <b>two</b></p><script>let x = 1</script>"
    assert visible(page) == ["One", "two"]


@pytest.mark.parametrize("path", sorted(EXPECTED.glob("*-table.json")), ids=lambda path: path.stem)
def test_tables_fit_eighty_columns(path: Path) -> None:
    printed = json.loads(path.read_text(encoding="utf-8"))["stdout"]
    wide = [line for line in printed if len(line) > 80 and "  " in line]
    assert not wide
