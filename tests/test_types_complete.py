"""Whoever type-checks a program that uses wordbias finds a type for every name of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
CHECKERS = ("pyright", "basedpyright")


def _checker() -> str | None:
    """Return the first of the checkers that is beside this Python or on the path, and runs."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for name in CHECKERS:
        checker = shutil.which(name, path=places)
        if checker and subprocess.run([checker, "--version"], capture_output=True).returncode == 0:
            return checker
    return None


def test_every_public_name_has_a_type_and_every_function_a_docstring() -> None:
    checker = _checker()
    if checker is None:
        pytest.skip(f"needs {' or '.join(CHECKERS)}: pip install basedpyright")
    done = subprocess.run(
        [
            checker,
            "--pythonpath",
            sys.executable,
            "--verifytypes",
            "wordbias",
            "--ignoreexternal",
            "--outputjson",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    completeness = json.loads(done.stdout)["typeCompleteness"]
    assert Path(completeness["packageRootDirectory"]) == ROOT / "wordbias"
    problems = [
        f"{symbol['name']}: {diagnostic['message']}"
        for symbol in completeness["symbols"]
        for diagnostic in symbol["diagnostics"]
    ]
    assert problems == []
    assert completeness["completenessScore"] == 1
