"""docs/cli.md is what tools/cli_reference.py writes, and the tool says so when it is not."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from wordbias.cli import SECTIONS

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def tool() -> Any:
    """Import the tool."""
    spec = importlib.util.spec_from_file_location("cli_reference", ROOT / "tools/cli_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date(tool: Any) -> None:
    written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert written == tool.reference(), "run python tools/cli_reference.py"


def test_what_shells_complete_is_up_to_date(tool: Any) -> None:
    written = (ROOT / "wordbias" / "completion.json").read_text(encoding="utf-8")
    assert written == tool.completion(), "run python tools/cli_reference.py"


@pytest.mark.parametrize("command", ["debias", "rewrite"])
def test_the_tables_of_settings_are_up_to_date(tool: Any, command: str) -> None:
    text = tool.GUIDES[command].read_text(encoding="utf-8")
    assert text == tool.guide(text), "run python tools/cli_reference.py"
    for name in tool.METHODS[command]:
        assert f"| `{name}:" in text or name == "none"


def test_it_lists_every_command_and_option_once(tool: Any) -> None:
    text = tool.reference()
    for name in (name for section in SECTIONS.values() for name in section):
        assert text.count(f"\n### {name}\n") == 1
        part = text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        for parameter in tool.cli.get_command(tool.click.Context(tool.cli), name).params:
            if isinstance(parameter, tool.click.Option) and not parameter.hidden:
                rows = [line for line in part.split("\n") if line.startswith("| `")]
                wanted = f"`{parameter.opts[0]}`"
                assert sum(wanted in row.split(" | ")[0] for row in rows) == 1, (name, wanted)


def test_a_difference_is_found(tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "OUTPUT", tmp_path / "cli.md")
    monkeypatch.setattr(tool, "COMPLETION", tmp_path / "completion.json")
    monkeypatch.setattr(sys, "argv", ["cli_reference.py"])
    tool.main()
    monkeypatch.setattr(sys, "argv", ["cli_reference.py", "--check"])
    tool.main()
    tool.OUTPUT.write_text(tool.OUTPUT.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="not up to date"):
        tool.main()
