"""The package has no circle of imports and no upward one; the tool that says so finds both.

And its variables have names that can be searched for.
"""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
VAGUE = {"again", "asked", "found", "kept", "made", "one", "said", "shown", "some", "told"}


@pytest.fixture(scope="module")
def structure() -> Any:
    spec = importlib.util.spec_from_file_location("structure", ROOT / "tools" / "structure.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_package_has_no_circle_and_no_upward_import(
    structure: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert structure.sound(ROOT), capsys.readouterr().out


def test_circles_are_found(structure: Any) -> None:
    imports = {
        "p.a": {"p.b"}, "p.b": {"p.c", "numpy"}, "p.c": {"p.a"}, "p.d": {"p.a", "p.e"},
        "p.e": {"p.d"}, "p.f": {"p.a"},
    }  # fmt: skip
    assert structure.circles_of(imports) == [{"p.a", "p.b", "p.c"}, {"p.d", "p.e"}]
    assert structure.circles_of({"p.a": {"p.b"}, "p.b": set()}) == []
    assert structure.circles_of({"p.a": set()}) == []


def test_upward_imports_are_found(structure: Any) -> None:
    layers = [["p.high"], ["p.low", "p.beside"]]
    imports = {
        "p": set(), "p.high": {"p.low.part"}, "p.low.part": {"p.beside", "p.high"},
        "p.beside": {"p.low.part", "json"}, "p.new": {"p.high"},
    }  # fmt: skip
    assert structure.upward_of(imports, layers) == [
        "p.new: has no layer", "p.low.part imports p.high",
    ]  # fmt: skip


def test_an_import_in_a_function_counts_and_one_for_types_does_not(
    structure: Any, tmp_path: Path
) -> None:
    package = tmp_path / "wordbias"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("def late():\n    from wordbias.b import x\n    return x\n")
    (package / "b.py").write_text("from wordbias import a\nx = a\n")
    (package / "c.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from wordbias import d\n"
    )
    (package / "d.py").write_text("from wordbias import c\ny = c\n")
    imports = structure.imports_of(tmp_path)
    assert structure.circles_of(imports) == [{"wordbias.a", "wordbias.b"}]


def test_a_variable_says_what_it_is() -> None:
    folders = ("wordbias", "tests", "tools", "benchmarks", "integrations")
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        functions = [
            node
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        for node in functions:
            vague = VAGUE - {
                argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)
            }
            for name in ast.walk(node):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    assert name.id not in vague, f"{path}, line {name.lineno}"
