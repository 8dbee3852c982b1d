"""The README is what it says: its output, its Python, its TOML, its commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wordbias.cli import SECTIONS
from wordbias.results import LIMITS
from wordbias.wordlists import Attribute

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_printed_result_is_what_the_command_prints(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert cli("misp").out == blocks("text")[0]


def test_the_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {})


def test_the_group_file_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "age.toml"
    path.write_text(blocks("toml")[0], encoding="utf-8")
    assert Attribute.load(path).groups == ("young", "old")


def test_every_command_of_the_readme_exists() -> None:
    known = {name for section in SECTIONS.values() for name in section}
    lines = [
        line.lstrip("$ ")
        for block in blocks("sh") + blocks("console")
        for line in block.split("\n")
    ]
    called = {
        words[1]
        for line in lines
        if (words := shlex.split(line, comments=True))[:1] == ["wordbias"]
    }
    assert called
    assert called <= known
    assert known <= called | {"misp"}


def test_the_limits_stand_in_the_readme_as_in_every_result() -> None:
    assert LIMITS in " ".join(README.split())


def test_two_commands_do_all_the_set_up() -> None:
    assert "pip install . && wordbias misp\n" in README
    setup = "pip install -e '.[dev]' -c constraints.txt && pytest\n"
    assert setup in README
    assert setup in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
