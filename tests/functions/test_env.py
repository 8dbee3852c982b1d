"""`wordbias env`: what it says of packages, extras, the machine, the cache and devices."""

from __future__ import annotations

import configparser
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import orjson
import pytest
import scipy
import sklearn

import wordbias as wb
from wordbias import Report, WordbiasError, __version__
from wordbias.functions import env as module
from wordbias.functions.env import ALWAYS, EXTRAS, env

Run = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]


def details(report: Report, measure: str) -> dict[str, Any]:
    return {row.subject: row.details for row in report[measure]}


def test_the_packages_are_those_of_the_installation() -> None:
    """Every requirement and every extra of setup.cfg, but for those that only name others."""
    read = configparser.ConfigParser()
    read.read(ROOT / "setup.cfg", encoding="utf-8")

    def names(text: str) -> tuple[str, ...]:
        return tuple(re.findall(r"^[\w-]+", text, re.MULTILINE))

    extras = {name: names(text) for name, text in read["options.extras_require"].items()}
    assert names(read["options"]["install_requires"]) == ALWAYS
    assert {name: extras[name] for name in extras if name not in ("all", "dev", "docs")} == EXTRAS


def test_versions_are_those_that_the_packages_state() -> None:
    found = details(env(), "installed")
    assert found["wordbias"]["version"] == __version__
    assert Path(found["wordbias"]["path"]).samefile(ROOT / "wordbias")
    assert found["python"]["version"] == platform.python_version()
    assert found["numpy"]["version"] == np.__version__
    assert found["scipy"]["version"] == scipy.__version__
    assert found["scikit-learn"]["version"] == sklearn.__version__
    assert found["orjson"]["version"] == orjson.__version__
    assert {*found} == {"wordbias", "python", *ALWAYS, *(n for one in EXTRAS.values() for n in one)}


def test_a_package_that_is_missing_has_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two extras one lacks a package and one lacks both."""

    def without(package: str) -> str:
        if package in ("pyarrow", "torch", "transformers", "accelerate"):
            raise PackageNotFoundError(package)
        return "1.0"

    monkeypatch.setattr(module, "version", without)
    report = env()
    values = {row.subject: row.value for row in report["installed"]}
    assert [name for name, value in values.items() if value == 0] == [
        "torch", "transformers", "accelerate", "pyarrow"
    ]  # fmt: skip
    lacking = {row.subject: row for row in report["missing-packages"] if row.value}
    assert {name: row.value for name, row in lacking.items()} == {
        "torch": 1, "contextual": 3, "parquet": 1
    }  # fmt: skip
    assert lacking["parquet"].details == {
        "packages": ["pyarrow"], "install": "pip install 'wordbias[parquet]'"
    }  # fmt: skip
    assert " ".join(str(report).split()).endswith(
        "Install what is missing: pip install 'wordbias[torch,contextual,parquet]' "
        "(in a checkout: pip install '.[torch,contextual,parquet]')"
    )


def test_nothing_is_said_of_missing_extras_where_none_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "version", lambda package: "1.0")
    report = env()
    assert {row.value for row in report["missing-packages"]} == {0}
    assert "Install" not in str(report)


def test_the_cache_is_that_of_the_next_call(tmp_path: Path, cache_folder: Path) -> None:
    (row,) = env()["cached-bytes"]
    assert (row.value, row.details) == (0, {"path": str(cache_folder), "entries": 0})
    (tmp_path / "a.txt").write_text("she 1 0\nhe 0 1\n")
    wb.load(tmp_path / "a.txt")
    (row,) = env()["cached-bytes"]
    (entry,) = cache_folder.glob("*.safetensors")
    assert (row.value, row.details["entries"]) == (entry.stat().st_size, 1)


def test_the_command_gives_the_rows_of_the_function(cli: Run) -> None:
    typed = json.loads(cli("env", "--format", "json").out)
    assert typed["rows"] == [row.to_dict() for row in env()]
    assert typed["arguments"] == {"devices": False}
    threads = {row["measure"]: row["value"] for row in typed["rows"]}
    assert threads["cores"] == os.cpu_count()
    said = json.loads(cli("env", "--format", "json", "--threads", "1").out)
    assert [row["value"] for row in said["rows"] if row["measure"] == "threads"] == [1]


def test_the_entry_point_loads_no_package_to_learn_its_version() -> None:
    heavy = (
        "scipy",
        "sklearn",
        "gensim",
        "torch",
        "transformers",
        "ot",
        "pandas",
        "pyarrow",
        "ray",
    )
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "wordbias", "env"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.split("\n")}
    assert "wordbias" in loaded
    assert loaded & {*heavy} == set()
    assert done.stdout.startswith(f"wordbias {__version__} in {ROOT / 'wordbias'}\n")
    assert re.search(rf"\n  click +{re.escape(version('click'))}\n", done.stdout)
    assert click.__name__ in loaded


def test_devices_are_tried() -> None:
    torch = pytest.importorskip("torch")
    rows = {row.subject: row for row in env(devices=True)["usable"]}
    assert [rows["cpu"].value, rows["mps"].value] == [1, int(torch.backends.mps.is_available())]
    assert sum(bool(row.details.get("default")) for row in rows.values()) == 1
    assert all(row.details["reason"] for row in rows.values() if row.value == 0)
    count = torch.cuda.device_count()
    assert [*rows][2:] == ([f"cuda:{i}" for i in range(count)] or ["cuda"])


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
    report = env(devices=True)
    assert {row.subject: (row.value, row.details) for row in report["usable"]} == {
        "cpu": (1, {"default": False}),
        "mps": (0, {"reason": "torch finds no such device"}),
        "cuda:0": (1, {"default": True, "name": "A GPU", "memory": 80_000_000_000}),
        "cuda:1": (0, {"reason": "device 'cuda:1': out of memory"}),
    }
    assert report.tables[1].cells[2] == ["cuda:0", "yes, by default", "A GPU", "80.0 GB"]
    assert "the default, is cuda:0: the first available of" in report.tables[1].note


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
    (row,) = (one for one in env(devices=True)["usable"] if one.subject == "cuda")
    assert (row.value, row.details) == (0, {"reason": reason})


def test_devices_need_torch(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    done = cli("env", "--devices")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("wordbias: --devices needs torch; install it with: pip install")
