"""Benchmarks and tools, which no other test runs: the names that they import exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="some of the modules need torch")

ROOT = Path(__file__).parents[1]
FILES = sorted([*ROOT.glob("benchmarks/*.py"), *ROOT.glob("tools/*.py")])
IMPORT = re.compile(r"^\s*from (wordbias[\w.]*) import (\([^)]*\)|.+)", re.MULTILINE)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_names_that_a_script_imports_exist(file: Path) -> None:
    """Also in the programs that a benchmark holds as texts and runs in processes of their own."""
    for module, names in IMPORT.findall(file.read_text(encoding="utf-8")):
        for name in re.findall(r"\w+(?: as \w+)?", names):
            attribute = name.split()[0]
            imported = import_module(module)
            if not hasattr(imported, attribute):
                import_module(f"{module}.{attribute}")
