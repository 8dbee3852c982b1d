"""What a bug report needs: versions, the machine, the cache, and which extras are missing."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wordbias import __version__
from wordbias.calls import public
from wordbias.devices import find_device, threads
from wordbias.errors import WordbiasError, need
from wordbias.formats import cache
from wordbias.rendering import Table, how_many
from wordbias.results import Report, Row

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
    "fairlearn": ("fairlearn",),
    "spacy": ("spacy",),
    "parquet": ("pyarrow",),
    "pandas": ("pandas",),
    "plot": ("matplotlib",),
    "data": ("pooch", "huggingface_hub"),
    "cluster": ("dask", "distributed", "ray"),
}
"""Packages that each extra installs."""


@public
def env(*, devices: bool = False) -> Report:
    """Show the versions, the machine and the cache, as a bug report needs them.

    Versions are read from what is installed; no package is loaded for them. Missing extras are
    listed with the line that installs them.

    Parameters
    ----------
    devices : bool
        Load torch and try each device that it could compute on; say which one ``auto`` is.

    Returns
    -------
    Report
        Rows ``installed`` of each package, ``missing-packages`` of each extra, ``cores``,
        ``threads``, ``cached-bytes`` and, with ``devices``, ``usable``. A package or device that is
        not there has the value 0.

    Raises
    ------
    WordbiasError
        If devices are to be tried and torch is not installed.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.env()["installed"][0].subject
    'wordbias'
    """
    names = dict.fromkeys([*ALWAYS, *(name for of_extra in EXTRAS.values() for name in of_extra)])
    packages = {name: installed(name) for name in names}
    missing = {
        extra: [name for name in of_extra if packages[name] is None]
        for extra, of_extra in EXTRAS.items()
    }
    system, python = platform.platform(), platform.python_version()
    folder = str(Path(__file__).resolve().parents[1])
    cores = os.cpu_count()
    entries = cache.entries()
    size = sum(entry.size for entry in entries)
    usable = _devices() if devices else []
    rows = [
        Row("wordbias", "installed", 1, {"version": __version__, "path": folder}),
        Row("python", "installed", 1, {"version": python, "path": sys.executable}),
        *(_package_row(name, found) for name, found in packages.items()),
        *(_extra_row(extra, lacked) for extra, lacked in missing.items()),
        Row("machine", "cores", cores, {"platform": system}),
        Row("machine", "threads", threads()),
        Row("cache", "cached-bytes", size, {"path": str(cache.folder()), "entries": len(entries)}),
        *usable,
    ]
    heading = [
        f"wordbias {__version__} in {folder}",
        f"Python {python} ({sys.executable})",
        f"{system}, {how_many(cores or 1, 'core')}, {how_many(threads(), 'thread')}",
        f"Cache {cache.folder()}: {how_many(len(entries), 'entry', 'entries')}, "
        f"{size / 1e6:,.1f} of {cache.limit() / 1e6:,.0f} MB",
    ]
    incomplete = [extra for extra, lacked in missing.items() if lacked]
    closing = [
        f"Install what is missing: {_install(incomplete)} (in a checkout: pip install "
        f"'.[{','.join(incomplete)}]')"
    ]
    return Report(
        rows=rows,
        tables=[_packages_table(packages), *([_devices_table(usable)] if devices else [])],
        heading=heading,
        closing=closing if incomplete else [],
    )


def installed(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed; load nothing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _package_row(package: str, found: str | None) -> Row:
    about = {"version": found, "extras": _extras_with(package)}
    known = {key: value for key, value in about.items() if value}
    return Row(package, "installed", int(found is not None), known)


def _extras_with(package: str) -> list[str]:
    return [extra for extra, names in EXTRAS.items() if package in names]


def _extra_row(extra: str, missing: Sequence[str]) -> Row:
    about = {"packages": list(missing), "install": _install([extra])} if missing else {}
    return Row(extra, "missing-packages", len(missing), about)


def _install(extras: Sequence[str]) -> str:
    return f"pip install 'wordbias[{','.join(extras)}]'"


def _packages_table(packages: Mapping[str, str | None]) -> Table:
    cells = [
        [name, found or "–", ", ".join(_extras_with(name))] for name, found in packages.items()
    ]
    return Table("Packages", ["package", "version", "extra"], cells)


def _devices() -> list[Row]:
    """Compute on each device that torch could have; a row of one that cannot has a reason."""
    torch = need("torch", extra="torch", purpose="--devices")
    default, count = str(find_device()), torch.cuda.device_count()
    rows = []
    for name in ("cpu", "mps", *([f"cuda:{i}" for i in range(count)] or ["cuda"])):
        reason = _not_usable(torch, name)
        about: dict[str, Any] = {"reason": reason}
        if not reason:
            about = {"default": name in (default, f"{default}:0")}
            if name.startswith("cuda"):
                known = torch.cuda.get_device_properties(name)
                about |= {"name": known.name, "memory": known.total_memory}
        rows.append(Row(name, "usable", int(not reason), about))
    return rows


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


def _devices_table(rows: Sequence[Row]) -> Table:
    cells = []
    for row in rows:
        about = row.details
        found = "yes, by default" if about.get("default") else "yes" if row.value else "no"
        memory = f"{about['memory'] / 1e9:.1f} GB" if "memory" in about else ""
        cells.append([row.subject, found, about.get("reason") or about.get("name", ""), memory])
    auto = next((row.subject for row in rows if row.details.get("default")), "none of them")
    note = f"--device=auto, the default, is {auto}: the first available of cuda, mps and cpu."
    return Table("Devices", ["device", "usable", "name or reason", "memory"], cells, note)
