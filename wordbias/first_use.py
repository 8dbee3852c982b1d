"""Import of public names on first use (PEP 562); alone, as every package's first lines need it."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as typing has it, which takes time to load

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def on_first_use(package: str, homes: Mapping[str, str], name: str) -> Any:
    """Import a name of a package from its home; the body of the package's ``__getattr__``."""
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
