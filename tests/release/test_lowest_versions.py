"""The lowest versions are those of setup.cfg, and what is installed here is at least them."""

from __future__ import annotations

import re
from configparser import ConfigParser
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
    requirements = dict(line.split("==") for line in tool.lowest())
    assert {"numpy", "scipy", "scikit-learn", "click", "safetensors"} <= set(requirements)
    for name, lowest in requirements.items():
        assert numbers(version(name)) >= numbers(lowest), name


def test_extras_are_added(tool: ModuleType) -> None:
    settings = ConfigParser(interpolation=None)
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    extras = settings["options.extras_require"]
    listed = [line for text in extras.values() for line in text.splitlines()]
    base, every = tool.lowest(), tool.lowest([*extras])
    assert every[: len(base)] == base
    for line in every[len(base) :]:
        name, lowest = line.split("==")
        wanted = rf"{name}(?:\[\w+\])?>={re.escape(lowest)}"
        assert any(re.fullmatch(wanted, line) for line in listed), line
        try:
            assert numbers(version(name)) >= numbers(lowest), name
        except PackageNotFoundError:
            continue  # of an extra that is not installed here
    assert "torch==2.6" in every
    assert "torch==2.6" in tool.lowest(["dev"]), "dev names the extra contextual, which has torch"


def test_an_extra_that_is_none_is_named(tool: ModuleType) -> None:
    with pytest.raises(SystemExit, match="no extra torhc; there are gensim, torch"):
        tool.lowest(["torhc"])
