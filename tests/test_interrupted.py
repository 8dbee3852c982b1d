"""Ctrl-C while modules load: one line, status 130, whatever module it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
INTERRUPTING = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""
ENTRY_POINT = "import sys; from wordbias.__main__ import main; sys.exit(main())"
STARTS = {"-m wordbias": ["-m", "wordbias"], "entry point": ["-c", ENTRY_POINT]}
MODULES = [
    "wordbias.cli",
    "click",
    "click.parser",
    "wordbias.errors",
    "wordbias.commands.misp",
    "numpy",
    f"{'numpy._core' if np.__version__ >= '2' else 'numpy.core'}.multiarray",
    "numpy.linalg",
    "wordbias.formats",
]


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("start", STARTS)
def test_an_interruption_while_a_module_loads_is_one_line(
    start: str, module: str, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING)
    done = subprocess.run(
        [sys.executable, *STARTS[start], "misp", "-o", str(tmp_path / "out.txt")],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
            "INTERRUPT_AT": module,
        },
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "wordbias: interrupted; no output was changed\n"
    assert not (tmp_path / "out.txt").exists()
