"""The package's own files: named tensors and a JSON text in one safetensors file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wordbias import __version__
from wordbias.errors import WordbiasError
from wordbias.formats.files import replacing
from wordbias.formats.tensors import Tensors, map_tensors

Framework = Literal["numpy", "pt", "mapped"]
"""Arrays of numpy, tensors of torch, or arrays of numpy that are memory-mapped on access."""

ADAPTER = "wordbias adapter 1"
ADAPTER_OF_LABELS = "wordbias adapter 2"
"""Adapter with removals that were fitted to labels, which earlier versions do not know."""
CHECKPOINT = "training"
COREFERENCE = "coreference"
COREFERENCE_SETTINGS = "coreference.json"
"""File with the settings of a coreference model, in its folder."""
NLI_MODEL = "nli"
REPRESENTATIONS = "representations"
SUBSPACE = "subspace"
TRANSFORM = "transform"

_KINDS = {
    ADAPTER: ("an ", "adapter", "make one with: wordbias project MODEL -o ADAPTER"),
    ADAPTER_OF_LABELS: ("an ", "adapter", "make one with: wordbias project MODEL -o ADAPTER"),
    CHECKPOINT: ("a ", "checkpoint", "remove it, or name another output"),
    COREFERENCE: ("a ", "head of a coreference model", "train one with: wordbias coref-train"),
    NLI_MODEL: ("an ", "NLI model", "train one with: wordbias nli-train"),
    REPRESENTATIONS: ("", "representations", "write such a file with: wordbias encode"),
    SUBSPACE: ("a ", "subspace", "write one with: Subspace.save"),
    TRANSFORM: ("a ", "transform", "save one with: wordbias debias --save-transform"),
}
"""For each kind its article, its name, and the remedy for a file of another kind."""

_LATER = {ADAPTER: ADAPTER_OF_LABELS}
"""Later version of a kind of file, which is read as well."""


def write(
    path: str | os.PathLike[str],
    kind: str,
    tensors: Mapping[str, Any],
    header: Any,
    framework: Literal["numpy", "pt"] = "numpy",
    **options: Any,
) -> None:
    """Write a file atomically; equal content gives equal bytes."""
    # A subspace has no JSON text, and is recognised by its tensors.
    metadata = None if kind == SUBSPACE else {kind: json.dumps(header, **options)}
    if framework == "pt":
        from safetensors.torch import save as save_torch

        ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        data = save_torch(ready, metadata)
    else:
        from safetensors.numpy import save

        data = save({name: np.ascontiguousarray(x) for name, x in tensors.items()}, metadata)
    with replacing(path) as file:
        file.write(data)


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """Return the kind of one of the package's own files to load; None for any other file."""
    if not os.path.isfile(path):
        return None
    try:
        tensors, metadata = map_tensors(Path(path))
    except (OSError, WordbiasError):
        return None
    if ADAPTER_OF_LABELS in metadata:
        return ADAPTER
    if not metadata and tensors.keys() == {"basis", "weights"}:
        return SUBSPACE
    kinds = (ADAPTER, NLI_MODEL, REPRESENTATIONS, TRANSFORM)
    return next((kind for kind in kinds if kind in metadata), None)


def is_coreference(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder holds a coreference model."""
    return (Path(folder) / COREFERENCE_SETTINGS).is_file()


@contextmanager
def reading(
    path: str | os.PathLike[str], kind: str, framework: Framework = "numpy"
) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Open a file for a block that builds an object from its tensors and its JSON text."""
    mapped, text = _open(path, kind)
    tensors = mapped if framework == "mapped" else _load(path, kind, framework)
    header: Any = None
    try:
        header = json.loads(text)
        yield tensors, header
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        article, name, remedy = _KINDS[kind]
        damaged = f"{article and 'a '}damaged {name}"
        by = header.get("wordbias", __version__) if isinstance(header, dict) else __version__
        if by != __version__:
            damaged += f" (written by wordbias {by})"
        raise WordbiasError(f"{path}: holds {damaged}: {_reason(path, error)}; {remedy}") from None


def read_header(path: str | os.PathLike[str], kind: str) -> Any:
    """Read only the JSON text of a file."""
    text = _open(path, kind)[1]
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise _unreadable(path, kind, error) from None


def _open(path: str | os.PathLike[str], kind: str) -> tuple[Tensors, str]:
    """Return the memory-mapped tensors and the JSON text of a file; check its kind."""
    try:
        tensors, metadata = map_tensors(Path(path))
    except (OSError, WordbiasError) as error:
        raise _unreadable(path, kind, error) from None
    for stored_kind in (kind, _LATER.get(kind, kind)):
        if stored_kind in metadata:
            return tensors, metadata[stored_kind]
    if kind == SUBSPACE and tensors.keys() == {"basis", "weights"}:
        return tensors, "null"
    _, name, remedy = _KINDS[kind]
    known = [key for key in metadata if key in _KINDS]
    if known:
        contents = "".join(_KINDS[known[0]][:2])
    elif tensors.keys() >= {"vectors", "words"}:
        contents = "an embedding"
    else:
        contents = f"the tensors {', '.join(sorted(tensors))[:200] or 'none'}"
        contents += f" and the header {', '.join(sorted(metadata))[:200]}" if metadata else ""
    raise WordbiasError(f"{path}: holds {contents}, but no {name}; {remedy}")


def _load(path: str | os.PathLike[str], kind: str, framework: str) -> dict[str, Any]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework) as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, TypeError, AttributeError) as error:
        raise _unreadable(path, kind, error) from None


def _unreadable(path: str | os.PathLike[str], kind: str, error: Exception) -> WordbiasError:
    article, name, remedy = _KINDS[kind]
    reason = _reason(path, error)
    return WordbiasError(f"{path}: cannot be read as {article}{name}: {reason}; {remedy}")


def _reason(path: str | os.PathLike[str], error: Exception) -> str:
    if isinstance(error, WordbiasError):
        return str(error).removeprefix(f"{path}: ")
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
