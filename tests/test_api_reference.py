"""docs/api.md is what tools/api_reference.py writes, and the tool says so when it is not."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import wordbias

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def tool() -> Any:
    """Import the tool."""
    spec = importlib.util.spec_from_file_location("api_reference", ROOT / "tools/api_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date(tool: Any) -> None:
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert written == tool.reference(), "run python tools/api_reference.py"


def test_it_lists_every_public_name_once_and_no_other(tool: Any) -> None:
    lines = tool.reference().split("\n")
    named = [line.removeprefix("### ") for line in lines if line.startswith("### ")]
    assert sorted(named) == sorted({*wordbias.__all__} - {"__version__"})


def test_a_difference_is_found(tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "OUTPUT", tmp_path / "api.md")
    monkeypatch.setattr(sys, "argv", ["api_reference.py"])
    tool.main()
    monkeypatch.setattr(sys, "argv", ["api_reference.py", "--check"])
    tool.main()
    tool.OUTPUT.write_text(tool.OUTPUT.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="not up to date"):
        tool.main()
