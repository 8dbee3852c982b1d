"""`wordbias --version -v`: what it says of packages, extras, the machine, the cache and devices."""

from __future__ import annotations

import configparser
import platform
import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import WordbiasError, __version__
from wordbias import installation as module
from wordbias.installation import ALWAYS, EXTRAS, described

Run = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[1]


def test_the_packages_are_those_of_the_installation() -> None:
    """Every requirement and every extra of setup.cfg, but for those that only name others."""
    read = configparser.ConfigParser()
    read.read(ROOT / "setup.cfg", encoding="utf-8")

    def names(text: str) -> tuple[str, ...]:
        return tuple(re.findall(r"^[\w-]+", text, re.MULTILINE))

    extras = {name: names(text) for name, text in read["options.extras_require"].items()}
    assert names(read["options"]["install_requires"]) == ALWAYS
    assert {name: extras[name] for name in extras if name not in ("all", "dev", "docs")} == EXTRAS


def test_ray_is_no_part_of_all() -> None:
    text = (ROOT / "setup.cfg").read_text("utf-8")
    assert "ray" not in text[text.index("\nall =") : text.index("\ndev =")]


def test_the_command_line_prints_it(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("she 1 0\nhe 0 1\n")
    wb.load(tmp_path / "a.txt")
    done = cli("--version", "-v")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"wordbias {__version__} in {ROOT / 'wordbias'}\nPython ")
    assert platform.python_version() in done.out
    assert re.search(rf"\n  numpy +{re.escape(np.__version__)}\n", done.out)
    assert ": 1 entry, " in done.out
    assert cli("--version").out == f"wordbias, version {__version__}\n"
    assert cli("-v").code == cli("-v", "lists").code == 2


def test_a_package_that_is_missing_has_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two extras one lacks a package and one lacks both."""

    def without(package: str) -> str:
        if package in ("pyarrow", "torch", "transformers", "accelerate"):
            raise PackageNotFoundError(package)
        return "1.0"

    monkeypatch.setattr(module, "version", without)
    report = described()
    assert len(report.tables) == 1
    assert " ".join(report.render("table").split()).endswith(
        'Install what is missing: pip install "wordbias[torch,contextual,parquet]" '
        '(in a checkout: pip install ".[torch,contextual,parquet]")'
    )
    monkeypatch.setattr(module, "version", lambda package: "1.0")
    assert "Install" not in described().render("table")


def test_a_device_that_cannot_compute_is_not_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")

    def find(name: str | None = None) -> Any:
        if name == "cuda:1":
            raise WordbiasError("device 'cuda:1': out of memory")
        return torch.device(name or "cuda")

    known = SimpleNamespace(name="A GPU", total_memory=80_000_000_000)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: known)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(module, "find_device", find)
    assert described().tables[1].cells == [
        ["cpu", "yes", "", ""],
        ["mps", "no", "torch finds no such device", ""],
        ["cuda:0", "yes, by default", "A GPU", "80.0 GB"],
        ["cuda:1", "no", "device 'cuda:1': out of memory", ""],
    ]


@pytest.mark.parametrize(
    ("built", "reason"),
    [
        (None, "torch was built without CUDA"),
        ("12.8", "torch was built for 12.8 and finds no device"),
    ],
)
def test_why_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch, built: Any, reason: str) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", built)
    monkeypatch.setattr(torch.version, "hip", None)
    assert described().tables[1].cells[-1] == ["cuda", "no", reason, ""]
