"""What a bug report needs, `wordbias --version -v`: versions, machine, cache, extras, devices."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wordbias import __version__
from wordbias.devices import find_device, threads
from wordbias.errors import WordbiasError, install_line, need
from wordbias.formats import cache
from wordbias.rendering import Table, how_many
from wordbias.reports import Report

ALWAYS = (
    "numpy",
    "scipy",
    "scikit-learn",
    "safetensors",
    "click",
    "tqdm",
    "orjson",
    "platformdirs",
    "threadpoolctl",
)
"""Packages that are installed with wordbias."""
EXTRAS: Mapping[str, Sequence[str]] = {
    "gensim": ("gensim",),
    "torch": ("torch",),
    "contextual": ("torch", "transformers", "accelerate"),
    "fairness": ("pot",),
    "spacy": ("spacy",),
    "parquet": ("pyarrow",),
    "pandas": ("pandas",),
    "plot": ("matplotlib",),
    "data": ("pooch", "huggingface_hub"),
    "cluster": ("dask", "distributed"),
    "ray": ("ray",),
}
"""Packages that each extra installs."""


def described() -> Report:
    """Return the versions, machine, cache and devices, and how to install what is missing."""
    names = dict.fromkeys([*ALWAYS, *(name for of_extra in EXTRAS.values() for name in of_extra)])
    packages = {name: installed(name) for name in names}
    missing = [
        extra
        for extra, of_extra in EXTRAS.items()
        if any(packages[package] is None for package in of_extra)
    ]
    cores, entries = os.cpu_count() or 1, cache.entries()
    size = sum(entry.size for entry in entries)
    heading = [
        f"wordbias {__version__} in {Path(__file__).resolve().parent}",
        f"Python {platform.python_version()} ({sys.executable})",
        f"{platform.platform()}, {how_many(cores, 'core')}, {how_many(threads(), 'thread')}",
        f"Cache {cache.folder()}: {how_many(len(entries), 'entry', 'entries')}, "
        f"{size / 1e6:,.1f} of {cache.limit() / 1e6:,.0f} MB",
    ]
    devices = [] if packages["torch"] is None else [_devices_table()]
    closing = [f"Install what is missing: {install_line(*missing)}"] if missing else []
    return Report(tables=[_packages_table(packages), *devices], heading=heading, closing=closing)


def installed(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed; load nothing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _packages_table(packages: Mapping[str, str | None]) -> Table:
    cells = []
    for name, release in packages.items():
        extras = ", ".join(extra for extra, names in EXTRAS.items() if name in names)
        cells.append([name, release or "–", extras])
    return Table("Packages", ["package", "version", "extra"], cells)


def _devices_table() -> Table:
    """Compute on each device that torch could have."""
    torch = need("torch", extra="torch", purpose="The list of devices")
    default, count = str(find_device()), torch.cuda.device_count()
    cells = []
    for name in ("cpu", "mps", *([f"cuda:{i}" for i in range(count)] or ["cuda"])):
        about, memory = _not_usable(torch, name), ""
        usable = (
            "no" if about else "yes, by default" if name in (default, f"{default}:0") else "yes"
        )
        if not about and name.startswith("cuda"):
            known = torch.cuda.get_device_properties(name)
            about, memory = known.name, f"{known.total_memory / 1e9:.1f} GB"
        cells.append([name, usable, about, memory])
    note = f"--device=auto, the default, is {default}: the first available of cuda, mps and cpu."
    return Table("Devices", ["device", "usable", "name or reason", "memory"], cells, note)


def _not_usable(torch: Any, device: str) -> str:
    """Return why torch cannot compute on a device; empty if it can."""
    if device == "mps" and not torch.backends.mps.is_available():
        return "torch finds no such device"
    if device == "cuda":
        built = torch.version.cuda or torch.version.hip
        if not built:
            return "torch was built without CUDA"
        return f"torch was built for {built} and finds no device"
    try:
        find_device(device)
    except WordbiasError as error:
        return str(error)
    return ""
