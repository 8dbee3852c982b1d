"""What is generated inside of stored files is what tools/write_tables.py writes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from fences import ROOT

from wordbias.verdicts import RULES


@pytest.fixture(scope="module")
def tool() -> Any:
    """Import the tool."""
    path = ROOT / "tools" / "write_tables.py"
    spec = importlib.util.spec_from_file_location("write_tables", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_up_to_date(tool: Any) -> None:
    for path, text in tool.written().items():
        assert path.read_text(encoding="utf-8") == text, "run python tools/write_tables.py"


@pytest.mark.parametrize(
    ("command", "name"), [("debias", "papers/methods"), ("rewrite", "fairness")]
)
def test_a_guide_has_the_settings_of_every_method(tool: Any, command: str, name: str) -> None:
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for method in tool.METHODS[command]:
        assert f"| `{method}:" in text or method == "none"


def test_every_rule_of_a_verdict_is_in_its_table(tool: Any) -> None:
    text = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
    for rules in RULES.values():
        assert all(f"| {rule.when} | {rule.verdict} |" in text for rule in rules)


def test_a_question_without_a_table_is_refused(tool: Any) -> None:
    with pytest.raises(SystemExit, match=r"no table, or no rules, of .*Did a value change"):
        tool.rules("# Verdicts\n")


def test_a_difference_is_found(tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tool.DOCUMENTS:
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(tool, "DOCS", tmp_path)
    monkeypatch.setattr(tool, "COMPLETION", tmp_path / "completion.json")
    monkeypatch.setattr(sys, "argv", ["write_tables.py"])
    tool.main()
    monkeypatch.setattr(sys, "argv", ["write_tables.py", "--check"])
    tool.main()
    rows = tmp_path / "rows.md"
    rows.write_text(rows.read_text(encoding="utf-8").replace("| `measure` |", "| `what` |"))
    with pytest.raises(SystemExit, match=r"rows\.md is not up to date"):
        tool.main()
