"""Reading adapters: what a file holds, and whether it was fitted on this model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wordbias.calls import method
from wordbias.contextual.adapters import FORMAT, Adapter, depth
from wordbias.contextual.fingerprint import Fingerprint
from wordbias.contextual.settings import SENT_DEBIAS
from wordbias.contextual.sites import Site
from wordbias.errors import WordbiasError
from wordbias.subspace import Subspace


def read_adapter(path: str | os.PathLike[str]) -> Adapter:
    """Read an adapter without asking which model it is for; nothing in it is run.

    Raises
    ------
    WordbiasError
        If there is no such file or it holds something else.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, TypeError, AttributeError) as error:
        raise WordbiasError(f"{path}: cannot be read as an adapter: {error}") from None
    if FORMAT not in about:
        raise WordbiasError(
            f"{path}: is no adapter; make one with: wordbias project MODEL -o {Path(path).name}"
        )
    try:
        return _made(json.loads(about[FORMAT]), tensors)
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise WordbiasError(f"{path}: is a damaged adapter: {error!s}; fit it again") from None


def load_adapter(
    model: Any, path: str | os.PathLike[str] | Adapter, *, force: bool = False
) -> Adapter:
    """Read an adapter for a model.

    Parameters
    ----------
    path
        Its file; or the adapter itself, which is only compared with the model.
    force
        Also take one that was fitted on another model; sites and dimensions must fit still.

    Raises
    ------
    WordbiasError
        If it was fitted on another model; the message names the difference.
    """
    adapter = path if isinstance(path, Adapter) else read_adapter(path)
    with method("force"):
        adapter.check(model, force=force, name="adapter" if adapter is path else str(path))
    return adapter


def _made(about: dict[str, Any], tensors: Mapping[str, Any]) -> Adapter:
    names = [name.removesuffix(".basis") for name in tensors if name.endswith(".basis")]
    found = {name: Subspace(tensors[f"{name}.basis"], tensors[f"{name}.weights"]) for name in names}
    baseline = found.pop(SENT_DEBIAS, None)
    subspaces = {Site.parse(name): subspace for name, subspace in found.items()}
    ordered = dict(sorted(subspaces.items(), key=lambda item: depth(item[0])))
    chosen = about.get("setting")
    if not isinstance(chosen, (str, type(None))):
        raise TypeError(f"its setting is {chosen!r}")
    return Adapter(ordered, Fingerprint(**about["model"]), baseline, about["facts"], chosen)
