"""A model's weights: their hash, and whether they are those of its config."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from wordbias.optional import need
from wordbias.pretrained.computing import PURPOSE

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


def weights_sha256(model: Any, without: str = "") -> str:
    """Return a hash of all weights and their names, but for those of a part called `without`."""
    digest = hashlib.sha256()
    uint8 = need("torch", extra="contextual", purpose=PURPOSE).uint8
    for name, weight in sorted(model.state_dict().items()):
        if without in name.split("."):
            continue
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}\n".encode())
        digest.update(weight.detach().cpu().contiguous().view(-1).view(uint8).numpy().data)
    return digest.hexdigest()


def of_other_layers(model: Any, unused: Iterable[str]) -> str | None:
    """Return a weight of a layer that a model lacks, though it has others of the same kind.

    A head of another task is of no such layer: it may be left out.

    Parameters
    ----------
    unused
        Names of weights that a file holds and the model does not.
    """
    prefix = f"{model.base_model_prefix}."
    known = {_alike(name, prefix) for name in model.state_dict()}
    numbered = (name for name in unused if _NUMBER.search(name))
    return next((name for name in numbered if _alike(name, prefix) in known), None)


def _alike(name: str, prefix: str) -> str:
    return _NUMBER.sub("#", name.removeprefix(prefix))
