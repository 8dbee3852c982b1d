"""Reading adapters: what a file holds, and whether it was fitted on this model."""

from __future__ import annotations

import os
from typing import Any

from wordbias.calls import method
from wordbias.contextual.adapters import Adapter, depth
from wordbias.contextual.fingerprint import Fingerprint
from wordbias.contextual.settings import SENT_DEBIAS
from wordbias.contextual.sites import Site
from wordbias.formats.stored import ADAPTER, reading
from wordbias.subspace import Subspace


def read_adapter(path: str | os.PathLike[str]) -> Adapter:
    """Read an adapter without asking which model it is for; nothing in it is run.

    Raises
    ------
    WordbiasError
        If there is no such file or it holds something else.
    """
    with reading(path, ADAPTER) as (tensors, about):
        names = [name.removesuffix(".basis") for name in tensors if name.endswith(".basis")]
        found = {
            name: Subspace(tensors[f"{name}.basis"], tensors[f"{name}.weights"]) for name in names
        }
        baseline = found.pop(SENT_DEBIAS, None)
        subspaces = {Site.parse(name): subspace for name, subspace in found.items()}
        ordered = dict(sorted(subspaces.items(), key=lambda item: depth(item[0])))
        chosen = about.get("setting")
        if not isinstance(chosen, (str, type(None))):
            raise TypeError(f"its setting is {chosen!r}")
        return Adapter(ordered, Fingerprint(**about["model"]), baseline, about["facts"], chosen)


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
