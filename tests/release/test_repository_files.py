"""Workflows, hooks, forms and promises name files and commands that are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from wordbias.commands.shell import common_options

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(path: Path) -> list[str]:
    """Return the commands of a workflow."""
    jobs = read(path)["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_scripts_that_a_workflow_runs_exist(path: Path) -> None:
    for command in steps(path):
        for script in re.findall(r"\b(?:tools|benchmarks)/[\w.]+", command):
            if script != "tools/build_site.sh":  # made with the site
                assert (ROOT / script).is_file(), command


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_what_it_needs(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            assert re.search(r"@(?:v\d+|release/v1)$", step.get("uses", "@v1")), step


def test_the_linters_are_those_of_the_checkout() -> None:
    """The workflow, `make lint` and `.ci/run` lint alike."""
    linters = ("ruff check", "ruff format", "mypy", "lint-imports", "python tools/structure.py")
    recipe = re.search(r"^lint:\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    commands = recipe[1].replace("\t", "").splitlines()
    assert [command for command in commands if command.startswith(linters)] == commands
    run = steps(ROOT / ".github" / "workflows" / "lint.yml")
    assert [command for command in run if command.startswith(linters)] == commands
    ours = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [command for command in ours if command.startswith(linters)] == commands


def test_nothing_is_left_out_where_all_is_run() -> None:
    """Of the markers of a test only `slow` is deselected, and by no run of the integration."""
    settings = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    assert re.findall(r"^addopts = .*?-m (.+)$", settings, re.MULTILINE) == ['"not slow"']
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    lines += [line for path in WORKFLOWS for text in steps(path) for line in text.splitlines()]
    runs = [line for line in lines if re.search(r"(^|&& )pytest ", line)]
    assert len(runs) == 4
    for run in runs:
        assert run.endswith(' -m ""'), run
    given = [line for line in lines if "pytest" in line.lower() and "pip install" not in line]
    for line in given:
        assert not re.search(r" -k | --deselect| --ignore|-m (?!\"\")", line), line


def test_hooks_run_the_linters() -> None:
    (local,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    entries = [hook["entry"] for hook in local["hooks"]]
    assert entries == ["ruff format", "ruff check", "mypy wordbias", "lint-imports"]


def test_tests_run_on_every_version_that_the_package_names() -> None:
    settings = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    named = re.findall(r"Programming Language :: Python :: (3\.\d+)", settings)
    matrix = read(ROOT / ".github" / "workflows" / "test.yml")["jobs"]["all"]["strategy"]["matrix"]
    assert {*named} <= {*matrix["python"]}
    assert f"python_requires = >={named[0]}\n" in settings
    systems = {(included["os"], included["python"]) for included in matrix["include"]}
    assert systems == {("macos-latest", "3.13"), ("windows-latest", "3.13")}


def test_a_promise_names_tests_that_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    promises = text.partition("## What is promised")[2].partition("\n## ")[0]
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)
    assert len(named) == text.count("`tests/"), "one names a file and no test"
    there = {file: (ROOT / file).read_text(encoding="utf-8") for file, _ in named}
    assert [test for file, test in named if f"\ndef {test}(" not in there[file]] == []
    bare = [promise for promise in re.split(r"\n- ", promises)[1:] if "`tests/" not in promise]
    assert bare == [], "a promise that no test holds"
    option = "--longest-line"
    assert option in promises
    assert option in {name for click_option in common_options() for name in click_option.opts}


@pytest.mark.parametrize("name", ["bug", "request"])
def test_a_form_asks_for_something(name: str) -> None:
    form = read(ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert {"name", "description", "body"} <= set(form)
    required = [
        field["id"] for field in form["body"] if field.get("validations", {}).get("required")
    ]
    assert required == {"bug": ["call", "output", "expected", "installation"]}.get(name, ["task"])


def test_images_install_the_package_and_start_the_command() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    stages = [line.rpartition(" AS ")[2] for line in lines if line.startswith("FROM ")]
    assert stages == ["wheel", "base", "all"]
    assert 'ENTRYPOINT ["wordbias"]' in lines
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    needed = {"wordbias", "setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE"}
    assert not needed & set(ignored)
