"""The calls of docs/integrations.md, and the folder that they are made in."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "integrations.md"


def python_block(module: str) -> str:
    """Return the only Python block that imports a module."""
    codes = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (block,) = (block for block in codes if f"import {module}\n" in block)
    return block


def arguments_of(program: str) -> list[str]:
    """Return the arguments of the only call of a program."""
    text = PAGE.read_text("utf-8").replace("\\\n", " ")
    (line,) = re.findall(rf"^{program} .*$", text, re.MULTILINE)
    return shlex.split(line)[1:]


def put_integrations(folder: Path) -> None:
    """Copy the folder `integrations`, which the calls name."""
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "integrations", folder / "integrations", ignore=leave)
