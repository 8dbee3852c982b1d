"""A model's weights: their hash, and whether they are those of its config."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from safetensors import safe_open

from wordbias.errors import WordbiasError
from wordbias.optional import need
from wordbias.pretrained.computing import PURPOSE

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


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


def check_layers(name: str, config: Any, **where: Any) -> None:
    """Compare the layers that a config promises with the weights, before a model is built.

    Parameters
    ----------
    where
        What transformers is told of where to look, such as ``local_files_only``.

    Raises
    ------
    WordbiasError
        If the config has no layer, or more than the weights.
    """
    layers = getattr(config, "num_hidden_layers", None)
    if not isinstance(layers, int):
        return
    if layers < 1:
        raise WordbiasError(
            f"its config.json says that it has {layers} layers; expected at least 1; give a folder "
            "whose files belong together"
        )
    names = _weight_names(name, **where)
    places = [(weight, found.end()) for weight in names for found in _NUMBER.finditer(weight)]
    numbered = len({weight[:end] for weight, end in places})
    if names and getattr(config, "num_hidden_groups", layers) > numbered:
        raise WordbiasError(
            f"its config.json says that it has {layers:,} layers, its weights have at most "
            f"{numbered:,}; give a folder whose files belong together"
        )


def _weight_names(name: str, **where: Any) -> Sequence[str]:
    """Return the names of the weights in a model's files, none where no file can be read."""
    hub = need("transformers.utils.hub", extra="contextual", purpose=PURPOSE)
    for file in _FILES:
        try:
            path = hub.cached_file(name, file, _raise_exceptions_for_missing_entries=False, **where)
            if path is None:
                continue
            if file.endswith(".json"):
                with open(path, encoding="utf-8") as stream:
                    return list(json.load(stream)["weight_map"])
            if file.endswith(".safetensors"):
                with safe_open(path, "np") as tensors:
                    return list(tensors.keys())
            torch = need("torch", extra="contextual", purpose=PURPOSE)
            return list(torch.load(path, map_location="meta", weights_only=True, mmap=True))
        except Exception:  # loading the model says what is the matter with the file
            return ()
    return ()


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
