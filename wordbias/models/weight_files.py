"""The weights in the files of a model, compared with its config and with the loaded model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

from safetensors import safe_open

from wordbias.errors import WordbiasError, need
from wordbias.models.model_like import PURPOSE
from wordbias.resources.models import CONFIG

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
POSITIONS = ("position_embeddings", "embed_positions", "wpe")
"""Ends of the names of tables of positions: of BERT and most others, OPT, GPT-2."""
LENGTHS = (
    "n_positions",
    "max_position_embeddings",
    "n_ctx",
    "max_seq_len",
    "max_sequence_length",
)
"""Names of the number of positions in the configs of decoders."""


def check_layers(folder: str, config: Any) -> None:
    """Compare the number of layers in a config with the weights, before a model is built."""
    layers = getattr(config, "num_hidden_layers", None)
    if not isinstance(layers, int):
        return
    if layers < 1:
        raise WordbiasError(
            f"its config.json says that it has {layers} layers; expected at least 1; give a folder "
            "whose files belong together"
        )
    names = _weight_shapes(folder)
    places = [(weight, match.end()) for weight in names for match in _NUMBER.finditer(weight)]
    numbered = len({weight[:end] for weight, end in places})
    if names and getattr(config, "num_hidden_groups", layers) > numbered:
        raise WordbiasError(
            f"its config.json says that it has {layers:,} layers, its weights have at most "
            f"{numbered:,}; give a folder whose files belong together"
        )


_SIZES = (
    "num_labels", "r", "hidden_size", "intermediate_size", "embedding_size", "vocab_size",
    "type_vocab_size", "num_attention_heads", "num_key_value_heads", "d_model", "d_ff", "ffn_dim",
    "dim", "hidden_dim", "n_embd", "n_inner", "n_head", "n_heads",
)  # fmt: skip
"""Settings that are dimensions of weights, or of a head, or as small."""
_FEW = 1 << 10
"""A size that costs nothing, whatever the weights."""
_LARGEST = 1 << 20
"""Largest dimension where there are no weights to compare with."""


def check_sizes(folder: str) -> None:
    """Compare the sizes in a config, and of an adapter beside it, with the weights' dimensions."""
    # Labels are made for each that a config claims, before a weight is read.
    shapes = _weight_shapes(folder)
    dimensions = [n for shape in shapes.values() for n in shape]
    largest = max(_FEW, *dimensions) if dimensions else _LARGEST
    rows = [shape[0] for key, shape in shapes.items() if key.split(".")[-2:-1] and shape
            and key.split(".")[-2].endswith(POSITIONS)]  # fmt: skip
    limits = dict.fromkeys(_SIZES, largest)
    if rows or not shapes:
        limits |= dict.fromkeys(LENGTHS, max(_FEW, *rows) if rows else _LARGEST)
    for file in (CONFIG, "adapter_config.json"):
        try:
            settings = json.loads(Path(folder, file).read_bytes())
        except (OSError, ValueError, RecursionError):  # loading the model raises an error
            continue
        for key, value in _integers(settings):
            if value > limits.get(key, value):
                raise WordbiasError(
                    f"its {file} says that {key} is {value:,}, its weights have {limits[key]:,} at "
                    "most; give a folder whose files belong together"
                )


def _integers(settings: Any) -> Iterator[tuple[str, int]]:
    """Yield the whole numbers of nested settings by their names."""
    remaining = [settings]
    while remaining:
        section = remaining.pop()
        for key, value in section.items() if isinstance(section, dict) else ():
            if isinstance(value, dict):
                remaining.append(value)
            elif isinstance(value, int):
                yield key, value


def _weight_shapes(folder: str) -> dict[str, Sequence[int]]:
    """Return the shapes of the weights in a model's files by name, none where none can be read."""
    for file in _FILES:
        path = Path(folder, file)
        if not path.is_file():
            continue
        try:
            if not file.endswith(".json"):
                return _shapes_in(str(path))
            listed = json.loads(path.read_bytes())["weight_map"]
            shapes: dict[str, Sequence[int]] = dict.fromkeys(listed, ())
            for shard in sorted(set(listed.values())):
                if not (shard and shard == PurePath(shard).name):
                    raise WordbiasError(
                        f"its {file} names weights outside its folder, {shard!r}; expected names "
                        "of files in it"
                    )
                part = Path(folder, shard)
                shapes |= _shapes_in(str(part)) if part.is_file() else {}
            return shapes
        except WordbiasError:
            raise
        except Exception:  # loading the model raises an error with the reason
            return {}
    return {}


def _shapes_in(path: str) -> dict[str, Sequence[int]]:
    if path.endswith(".safetensors"):
        with safe_open(path, "np") as tensors:
            return {key: tensors.get_slice(key).get_shape() for key in tensors.keys()}  # noqa: SIM118
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    weights = torch.load(path, map_location="meta", weights_only=True, mmap=True)
    return {key: tuple(value.shape) for key, value in weights.items()}


def of_other_layers(model: Any, unused: Iterable[str]) -> str | None:
    """Return a weight of a layer that a model lacks, though it has others of the same kind."""
    # A head of another task is no such layer: it may be left out.
    prefix = f"{model.base_model_prefix}."
    known = {_alike(name, prefix) for name in model.state_dict()}
    numbered = (name for name in unused if _NUMBER.search(name))
    return next((name for name in numbered if _alike(name, prefix) in known), None)


def _alike(name: str, prefix: str) -> str:
    return _NUMBER.sub("#", name.removeprefix(prefix))
