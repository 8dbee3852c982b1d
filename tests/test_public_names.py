"""Public names stay what they are, whatever is imported: no package is called like a command."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import wordbias
from wordbias.cli import SECTIONS

CHECK = """
import importlib, json, pkgutil, sys
from types import ModuleType

modules, replaced, uncallable = [], [], []

def check(package):
    names = [name for name in getattr(package, "__all__", ()) if not name.startswith("__")]
    before = {name: getattr(package, name) for name in names}
    for module in pkgutil.iter_modules(package.__path__):
        modules.append(f"{package.__name__}.{module.name}")
        found = importlib.import_module(modules[-1])
        if module.ispkg:
            check(found)
    for name, value in before.items():
        now = getattr(package, name)
        if now is not value or isinstance(now, ModuleType):
            replaced.append(f"{package.__name__}.{name}")
    if package.__name__ == sys.argv[1]:
        uncallable.extend(name for name in names if not callable(getattr(package, name)))

check(importlib.import_module(sys.argv[1]))
print("FOUND", json.dumps({"modules": modules, "replaced": replaced, "uncallable": uncallable}))
"""


def _found(package: str, *, where: Path | None = None) -> Any:
    """Import all modules of a package in a fresh interpreter; return what became of its names."""
    there = [str(where)] if where else []
    path = os.pathsep.join([*there, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", CHECK, package],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rpartition("FOUND")[2])


def test_importing_every_module_replaces_no_public_name() -> None:
    found = _found("wordbias")
    assert {"wordbias.methods.misp", "wordbias.commands.misp"} <= set(found["modules"])
    assert (found["replaced"], found["uncallable"]) == ([], [])


def test_the_check_sees_a_function_that_a_package_replaces(tmp_path: Path) -> None:
    home = tmp_path / "made_up"
    (home / "turn").mkdir(parents=True)
    (home / "turning.py").write_text("def turn():\n    pass\n")
    (home / "turn" / "__init__.py").write_text("")
    (home / "__init__.py").write_text(
        "__all__ = ['turn']\n\n\n"
        "def __getattr__(name):\n"
        "    from made_up.turning import turn\n"
        "    return turn\n"
    )
    found = _found("made_up", where=tmp_path)
    assert (found["replaced"], found["uncallable"]) == (["made_up.turn"], ["turn"])


def test_no_module_of_the_package_has_the_name_of_a_command() -> None:
    modules = {module.name for module in pkgutil.iter_modules(wordbias.__path__)}
    commands = {name.replace("-", "_") for section in SECTIONS.values() for name in section}
    assert modules & commands == set()
    assert {"methods", "outcomes", "word_tasks", "biographies", "pages"} <= modules
