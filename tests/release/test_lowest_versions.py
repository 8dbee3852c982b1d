"""The lowest versions are those of setup.cfg, and what is installed here is at least them."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return import_module("lowest_versions")


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def test_every_requirement_of_the_base_has_a_lowest_version(tool: ModuleType) -> None:
    found = dict(line.split("==") for line in tool.lowest())
    assert {"numpy", "scipy", "scikit-learn", "click", "safetensors"} <= set(found)
    for name, lowest in found.items():
        assert numbers(version(name)) >= numbers(lowest), name


def test_extras_are_added(tool: ModuleType) -> None:
    settings = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    extras = settings.partition("[options.extras_require]")[2].partition("\n[")[0]
    names = re.findall(r"^(\w+) =$", extras, re.MULTILINE)
    base, every = tool.lowest(), tool.lowest(names)
    assert every[: len(base)] == base
    for line in every[len(base) :]:
        name, lowest = line.split("==")
        assert re.search(rf"^ +{name}(?:\[\w+\])?>={re.escape(lowest)}$", extras, re.MULTILINE)
        try:
            assert numbers(version(name)) >= numbers(lowest), name
        except PackageNotFoundError:
            continue  # of an extra that is not installed here
    assert "torch==2.4" in every


def test_an_extra_that_is_none_is_named(tool: ModuleType) -> None:
    with pytest.raises(SystemExit, match="no extra torhc; there are gensim, torch"):
        tool.lowest(["torhc"])
