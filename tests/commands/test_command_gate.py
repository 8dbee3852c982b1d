"""--fail-if, --baseline and --format junit: statuses, lines and refusals, on the sample."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

import wordbias as wb
from wordbias.cli import SECTIONS
from wordbias.commands.report import page_format

Run = Callable[..., Any]
COMMANDS = [name for section in SECTIONS.values() for name in section]
NO_ROWS = {"convert", "coref-predict", "predict", "run"}
"""Commands without rows; those of run are conditions already."""
SAME = ("--only", "same", "--no-chance")


def _of(name: str) -> Any:
    return importlib.import_module(f"wordbias.commands.{name.replace('-', '_')}").command


def _value(option: click.Option) -> str:
    kind = option.type
    return str(kind.choices[0]) if isinstance(kind, click.Choice) else "x"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_gives_rows_takes_conditions(name: str, cli: Run) -> None:
    command = _of(name)
    (form,) = [parameter for parameter in command.params if "--format" in parameter.opts] or [None]
    has_junit = form is not None and "junit" in form.type.choices
    assert ("--fail-if" in command.common) == ("--baseline" in command.common)
    assert ("--fail-if" in command.common) == (name not in NO_ROWS)
    assert has_junit == (name not in NO_ROWS - {"run"})
    needed = [parameter for parameter in command.params if parameter.required]
    words = [
        word
        for parameter in needed
        for word in (
            [parameter.opts[0], _value(parameter)] if isinstance(parameter, click.Option) else ["x"]
        )
    ]
    done = cli(name, *words, "--fail-if", "x >")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    if name in NO_ROWS:
        assert f"--fail-if: wordbias {name} does not use it; leave it out" in done.err
    else:
        assert 'write it as "tpr-gap > .1"' in done.err
    if name not in NO_ROWS:
        done = cli(name, *words, "--format", "junit")
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            'wordbias: --format junit: goes with conditions; add --fail-if "tpr-gap > .1"; '
            f"see wordbias {name} --help\n"
        )


def test_a_condition_that_is_met_is_status_3_after_the_output(
    cli: Run, vectors: tuple[str, str]
) -> None:
    call = ("measure", vectors[0], *SAME)
    plain = cli(*call)
    done = cli(*call, "--fail-if", "same > .01", "--fail-if", "same low > .9")
    assert (done.code, done.out) == (3, plain.out)
    row = _rows(cli(*call, "--format", "json").out)[0]
    interval = f"{row.value:.4f} [{row.details['low']:.4f}, {row.details['high']:.4f}], before"
    assert done.err.removeprefix(plain.err).split("\n") == [
        f"failed: --fail-if 'same > .01': {interval}",
        f"passed: --fail-if 'same low > .9': {interval}",
        "",
    ]
    done = cli(*call, "-q", "--fail-if", "same high > .9")
    assert (done.code, done.err) == (0, "")


def test_what_cannot_be_asked_is_status_2_and_the_output_is_there(
    cli: Run, vectors: tuple[str, str]
) -> None:
    call = ("measure", vectors[0], *SAME, "-q")
    done = cli(*call, "--fail-if", "smae > .1")
    assert done.code == 2
    assert done.out == cli(*call).out
    assert done.err.startswith("wordbias: --fail-if 'smae > .1': measure 'smae': expected one of ")
    assert done.err.endswith("did you mean same?\n")
    both = cli(*call, "--fail-if", "smae > .1", "--fail-if", "same > .01")
    assert both.code == 3
    assert both.err.count("\n") == 2


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--fail-if", "same >> 1"], 2, "got >>, at character 6"),
        (["--baseline", "old.json"], 2, "--baseline: goes with conditions"),
        (["--baseline", ""], 1, "--baseline: is empty"),
        (["--fail-if", "same > 1", "--fail-if", ""], 1, "--fail-if: is empty"),
        (["--fail-if", "same > 1", "--baseline", "x.json"], 2, "no condition is about a change"),
        (["--fail-if", "change same > 1", "--baseline", "x.json"], 1, "x.json"),
        (["--fail-if", "change same > 1", "--baseline", "bad.json"], 1, "bad.json: not JSON"),
    ],
)
def test_what_is_wrong_is_refused_before_the_work(
    refused: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: int,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.json").write_text("{")
    assert says in refused("measure", "nowhere.txt", *words, code=code)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Write words of the sample, and the same after a removal that lowers their bias."""
    folder, sample = tmp_path_factory.mktemp("gate"), wb.Embedding.sample()
    before, after = (str(folder / f"{name}.txt") for name in ("before", "after"))
    gender = wb.Attribute.load("gender")
    words = {*list(sample.words)[:500]}.union(*gender.members, *gender.pairs)
    embedding = sample.subset(sorted({word.lower() for word in words}))
    embedding.save(before)
    wb.debias(embedding, "misp").save(after)
    return before, after


def test_no_output_is_written_over_the_baseline(cli: Run, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text("{}", encoding="utf-8")
    for option in ("--output", "--plot"):
        path = old if option == "--output" else tmp_path / "old.png"
        path.write_text("{}", encoding="utf-8")
        conditions = ("--fail-if", "change midb > 0", "--baseline", path)
        done = cli("audit", option, path, *conditions)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert f"is both --baseline and {option}; name two files" in done.err
        assert path.read_text(encoding="utf-8") == "{}"


@pytest.mark.parametrize("form", ["json", pytest.param("junit", marks=pytest.mark.slow)])
def test_a_change_from_a_baseline(
    cli: Run, tmp_path: Path, vectors: tuple[str, str], form: str
) -> None:
    biased, clean = vectors
    (tmp_path / "old.json").write_text(cli("measure", clean, *SAME, "--format", "json").out)
    words = ["--baseline", tmp_path / "old.json", "--fail-if", "change same low > 0"]
    better = cli("measure", clean, *SAME, *words, "-q", "--format", form)
    assert (better.code, better.err) == (0, "")
    worse = cli("measure", biased, *SAME, *words, "-q", "--format", form)
    assert worse.code == 3
    new = cli("measure", biased, *SAME, "--format", "json").out
    (tmp_path / "new.json").write_text(new)
    row = wb.changes(tmp_path / "old.json", tmp_path / "new.json")["same"][0]
    assert row.details["paired"] == "words"
    details = row.details
    ends = f"{details['change']:+.4f} [{details['change_low']:.4f}, {details['change_high']:.4f}]"
    assert f"failed: --fail-if 'change same low > 0': {ends} from " in worse.err
    if form == "junit":
        assert f'<failure message="{ends} from ' in worse.out


def test_a_page_keeps_its_name_and_junit_is_printed(
    cli: Run, tmp_path: Path, vectors: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.json").write_text(cli("measure", vectors[0], *SAME, "--format", "json").out)
    words = ["report", "m.json", "--fail-if", "same > .01", "--format", "junit"]
    done = cli(*words)
    assert done.code == 3
    assert done.out.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites')
    assert not list(tmp_path.glob("*.html"))
    assert cli(*words, "-o", "page.html").out == done.out
    assert Path("page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert cli(*words, "-o", "page.xml").code == 1


def test_pages_and_tables_offer_junit() -> None:
    assert "junit" in page_format(["html"], "Format.").type.choices
    assert inspect.signature(wb.Report.check).parameters.keys() == {
        *("self", "conditions", "baseline"),
    }


def test_conditions_in_python_are_those_of_the_shell(vectors: tuple[str, str]) -> None:
    biased, clean = (wb.measure(path, only=["same"], chance=False) for path in vectors)
    clean.check("change same <= 0", baseline=biased)
    with pytest.raises(AssertionError, match=r"^change same <= 0 does not hold: \+0\.\d+ \["):
        biased.check("change same <= 0", baseline=clean)


# wordbias run

CHECKS = """
[vectors]
command = "measure"
embeddings = "vectors.txt"
only = "same"
no-chance = true
fail-if = ["same low > .9", "change same low > 0"]
baseline = "old.json"

[association]
command = "weat"
embeddings = ["vectors.txt"]
query = "weat6"
threads = 1
no-cache = true
fail-if = "weat > 2"
"""


@pytest.fixture
def folder(tmp_path: Path, cli: Run, vectors: tuple[str, str]) -> Path:
    """Make a folder with checks whose baseline is of debiased vectors, and those vectors."""
    path = tmp_path / "ci"
    path.mkdir()
    (path / "checks.toml").write_text(CHECKS)
    os.link(vectors[1], path / "vectors.txt")
    (path / "old.json").write_text(cli("measure", vectors[1], *SAME, "--format", "json").out)
    return path


def _regress(folder: Path, vectors: tuple[str, str]) -> None:
    (folder / "vectors.txt").unlink()
    os.link(vectors[0], folder / "vectors.txt")


def test_a_file_of_checks_fails_on_a_planted_regression_only(
    cli: Run, folder: Path, vectors: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)  # paths start from the folder of the file
    done = cli("run", "ci/checks.toml", "-o", "junit.xml")
    assert (done.code, done.err) == (0, "")
    assert done.out.count("passed\n") == 3
    assert 'failures="0" errors="0"' in Path("junit.xml").read_text(encoding="utf-8")
    assert os.getcwd() == str(folder.parent)

    _regress(folder, vectors)
    done = cli("run", "ci/checks.toml", "-o", "junit.xml")
    assert done.code == 3
    assert "failed: vectors: change same low > 0: +0." in done.out
    text = Path("junit.xml").read_text(encoding="utf-8")
    assert '<testsuites name="wordbias" tests="3" failures="1" errors="0">' in text
    assert cli("run", "ci/checks.toml", "--format", "junit").out == text


@pytest.mark.slow
def test_the_entry_point_fails_on_a_planted_regression_only(
    folder: Path, vectors: tuple[str, str]
) -> None:
    call = [sys.executable, "-m", "wordbias", "run", "checks.toml"]
    assert subprocess.run(call, cwd=folder, check=False, capture_output=True).returncode == 0
    _regress(folder, vectors)
    assert subprocess.run(call, cwd=folder, check=False, capture_output=True).returncode == 3


def test_a_call_that_errors_is_an_error_of_its_conditions(
    cli: Run, folder: Path, vectors: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Path("vectors.txt").unlink()
    Path("checks.toml").write_text(
        CHECKS + f"\n[sample]\ncommand = 'measure'\nembeddings = '{vectors[0]}'\nonly = 'same'\n"
        "chance = false\nfail-if = ['same > .9', 'midb > .1']\n\n[step]\ncommand = 'lists'\n"
    )
    done = cli("run", "checks.toml", "--format", "json")
    assert done.code == 1
    rows = [row.to_dict() for row in _rows(done.out)]
    assert [(row["check"], row["result"]) for row in rows] == [
        *(("vectors", "error"),) * 2,
        ("association", "error"),
        ("sample", "passed"),
        ("sample", "error"),
        ("step", "passed"),
    ]
    assert rows[0]["reason"] == "vectors.txt: there is no such file"
    assert 0 < rows[3]["value"] < 0.9
    assert "expected one of" in rows[4]["reason"]
    text = f"[a]\ncommand = 'measure'\nembeddings = '{vectors[0]}'\n"
    Path("checks.toml").write_text(f"{text}only = 'same'\nfail-if = 'same > .01'")
    assert cli("run", "checks.toml").code == 3


def _rows(text: str) -> list[wb.Row]:
    return [wb.Row.from_dict(row) for row in json.loads(text)["rows"]]


def test_every_command_may_be_a_check_but_run_itself() -> None:
    from wordbias.functions.run import NO_CALLS

    functions = {name for name in wb.__all__ if inspect.isroutine(getattr(wb, name))}
    assert functions - {*NO_CALLS} == {name.replace("-", "_") for name in COMMANDS} - {"run"}


FORM = "[a]\ncommand = 'measure'\n"


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", 1, "checks.toml: has no checks; write [NAME]"),
        ("[a", 1, "checks.toml: not valid TOML"),
        ("x = 1", 1, "[x]: expected a table, found a number"),
        ("[a]", 1, "[a]: command: expected a text, found nothing"),
        ("[a]\ncommand = 'mesure'", 2, "did you mean measure?"),
        ("[a]\ncommand = 'run'\nchecks = 'checks.toml'", 2, "command 'run': expected one of"),
        ("[a]\ncommand = 'fairness'", 2, "missing a required argument: 'predictions'"),
        (FORM + "onyl = 'same'", 2, "key 'onyl': expected one of"),
        (FORM + "fail-fi = 'same > 1'", 2, "did you mean fail-if?"),
        (FORM + "fail-if = 'same >'", 2, "[a]: condition 'same >': expected a finite number"),
        (FORM + "fail-if = []", 1, "fail-if: expected a condition or a list of them, found the l"),
        (FORM + "fail-if = 'x > 1'\nfail_if = 'y > 1'", 2, "key 'fail_if': is given twice"),
        (FORM + "chance = true\nno-chance = true", 2, "key 'no-chance': is given twice"),
        (FORM + "fail-if = 1", 1, "fail-if: expected a condition or a list of them, found a"),
        (FORM + "fail-if = [1]", 2, "fail-if: expected a text, found a number"),
        (FORM + "fail-if = 'same > 1'\nbaseline = 'x'", 2, "baseline: no condition is about"),
        (FORM + "fail-if = 'change same > 1'\nbaseline = 1", 2, "baseline: expected a text"),
    ],
)
def test_a_file_that_is_wrong_runs_nothing(
    refused: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    code: int,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("checks.toml").write_text(text)
    assert says in refused("run", "checks.toml", code=code)


def test_an_output_that_is_no_xml_or_the_file_itself_is_refused(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("checks.toml").write_text(CHECKS)
    assert "end its name in .xml" in refused("run", "checks.toml", "-o", "junit.json", code=2)
    assert "no-folder" in refused("run", "checks.toml", "-o", "no-folder/junit.xml")
    Path("checks.xml").write_text(CHECKS)
    assert "checks.xml" in refused("run", "checks.xml", "-o", "checks.xml")
    assert "no such file" in refused("run", "nowhere.toml")
