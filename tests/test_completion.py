"""Shell completion: what Tab offers, without numpy, and up to date with the commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from wordbias import completion
from wordbias.cli import SECTIONS, cli
from wordbias.methods.methods import METHODS
from wordbias.resources import catalogue
from wordbias.resources.catalogue import Resource
from wordbias.wordlists.attribute_files import ATTRIBUTES

Tab = Callable[[str], list[str]]


@pytest.fixture
def tab(tmp_path: Path) -> Tab:
    """Complete a line as bash asks for it; refuse that numpy is loaded."""

    def call(line: str) -> list[str]:
        words = line.split(" ")
        code = (
            "import sys\nfrom wordbias.cli import main\n"
            "try:\n    main()\nfinally:\n    assert 'numpy' not in sys.modules"
        )
        variables = {
            "_WORDBIAS_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
            "WORDBIAS_DATA": str(tmp_path),
        }
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return call


def test_commands(tab: Tab) -> None:
    every = [f"plain,{name}" for section in SECTIONS.values() for name in section]
    assert tab("wordbias ") == every
    assert tab("wordbias mab-") == [name for name in every if name.startswith("plain,mab-")]


def test_methods_also_behind_a_comma(tab: Tab) -> None:
    assert tab("wordbias debias ") == [f"plain,{name}" for name in METHODS]
    assert tab("wordbias debias misp,ha") == ["plain,misp,hard", "plain,misp,half-sibling"]
    assert tab("wordbias rewrite scr") == ["plain,scrub"]


def test_attributes_and_files(tab: Tab) -> None:
    assert tab("wordbias measure --groups ") == ["file,", *(f"plain,{n}" for n in ATTRIBUTES)]
    assert tab("wordbias misp glove") == ["file,glove"]


def test_options_and_what_they_choose_from(tab: Tab) -> None:
    assert tab("wordbias weat --quer") == ["plain,--query"]
    assert "plain,jsonl" in tab("wordbias weat --format ")
    assert tab("wordbias weat --no-") == ["plain,--no-cache"]


def test_what_can_be_fetched_and_what_was(
    tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tab("wordbias fetch ") == [f"plain,{name}" for name in catalogue()]
    resource: Resource = catalogue()["men"]
    home = tmp_path / resource.name
    home.mkdir()
    (home / resource.files[0]).write_text("x")
    record = {"url": resource.urls[0], "origin": "o", "sha256": ["0"], "fetched": "2020-01-01"}
    record["files"] = {resource.files[0]: 1}  # type: ignore[assignment]
    (home / ".fetched.json").write_text(json.dumps(record))
    for line in ("wordbias quality --benchmarks ", "wordbias misp "):
        assert tab(line) == ["file,", "plain,men"]


def test_parameters_are_those_of_the_commands() -> None:
    """Names that the module knows exist, and a command is completed with all it takes."""
    names: set[str | None] = set()
    for name in (name for section in SECTIONS.values() for name in section):
        real: Any = cli.get_command(click.Context(cli), name)
        known = completion.command(name)
        used = [
            param
            for param in real.params
            if not getattr(param, "hidden", False)
            or {*param.opts, *param.secondary_opts} & {*real.common}
        ]
        assert [param.opts for param in known.params] == [param.opts for param in used]
        assert [param.secondary_opts for param in known.params] == [
            param.secondary_opts for param in used
        ]
        for ours, theirs in zip(known.params, used, strict=True):
            assert (ours.name, ours.nargs) == (theirs.name, theirs.nargs)
            assert getattr(ours, "is_flag", None) == getattr(theirs, "is_flag", None)
            assert ours.multiple == theirs.multiple
        names |= {param.name for param in real.params}
    assert {*completion.FETCHED, "names", "groups", "methods"} <= names
