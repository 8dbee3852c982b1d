"""The tables of measures and of verdicts are what tools/measures_reference.py writes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from wordbias.measures.registry import MEASURES
from wordbias.verdicts import RULES

TOOL = Path(__file__).resolve().parent.parent / "tools" / "measures_reference.py"


@pytest.fixture(scope="module")
def tool() -> Any:
    """Import the tool."""
    spec = importlib.util.spec_from_file_location("measures_reference", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_up_to_date_and_name_every_measure_once(tool: Any) -> None:
    text = tool.OUTPUT.read_text(encoding="utf-8")
    assert text == tool.written(text), "run python tools/measures_reference.py"
    first = [line.split(" | ")[0] for line in text.split("\n") if line.startswith("| `")]
    named = [name.strip("`") for cell in first for name in cell.removeprefix("| ").split(", ")]
    assert sorted(named) == sorted(MEASURES)


def test_a_difference_is_found(tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "measures.md"
    copy.write_text(tool.OUTPUT.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(tool, "OUTPUT", copy)
    monkeypatch.setattr(sys, "argv", ["measures_reference.py", "--check"])
    tool.main()
    copy.write_text(
        copy.read_text(encoding="utf-8").replace("| 0.5 |", "| 0.6 |"), encoding="utf-8"
    )
    with pytest.raises(SystemExit, match="not up to date"):
        tool.main()
    monkeypatch.setattr(sys, "argv", ["measures_reference.py"])
    tool.main()
    assert copy.read_text(encoding="utf-8") == TOOL.parents[1].joinpath(
        "docs/measures.md"
    ).read_text(encoding="utf-8")


def test_an_area_or_a_question_without_a_table_is_refused(tool: Any) -> None:
    with pytest.raises(SystemExit, match=r"no table, or no measure, of .*Encoders"):
        tool.written("# Measures\n")
    with pytest.raises(SystemExit, match=r"no table, or no rules, of .*Did a value change"):
        tool.written_rules("# Verdicts\n")


def test_the_rules_of_verdicts_are_up_to_date(tool: Any) -> None:
    text = tool.VERDICTS.read_text(encoding="utf-8")
    assert text == tool.written_rules(text), "run python tools/measures_reference.py"
    for rules in RULES.values():
        assert all(f"| {rule.when} | {rule.verdict} |" in text for rule in rules)
