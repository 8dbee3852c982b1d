"""The page that follows calls through the source names files and functions that are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = " ".join((ROOT / "docs" / "how-a-call-runs.md").read_text(encoding="utf-8").split())
FILES = sorted(set(re.findall(r"`([a-z_0-9/]+\.py)`", TEXT)))
NAMES = re.findall(r"`([\w/]+\.py)`, `([\w.]+)`(?: and `(\w+)`)?", TEXT)


@pytest.mark.parametrize("name", FILES)
def test_a_named_file_is_there(name: str) -> None:
    assert (ROOT / "wordbias" / name).is_file()


@cache
def defined_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "wordbias" / file).read_text(encoding="utf-8"))
    return {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


@pytest.mark.parametrize(("file", "first", "second"), NAMES)
def test_a_named_function_is_defined_in_its_file(file: str, first: str, second: str) -> None:
    assert {*first.split("."), *filter(None, [second])} <= defined_in(file)
