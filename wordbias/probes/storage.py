"""Representations on disk: safetensors, mapped into memory when read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.formats.atomic import replacing
from wordbias.formats.stored import REPRESENTATIONS, reading
from wordbias.formats.tensors import header_of
from wordbias.probes.representations import Column, Representations

_COLUMN = "column."


def save_representations(found: Representations, path: str | Path) -> None:
    """Write representations; the file takes its name only when it is complete."""
    with replacing(path) as file:
        file.write(header(found))
        file.write(np.ascontiguousarray(found.vectors, np.float32).data)
        for column in found.columns.values():
            file.write(np.ascontiguousarray(column.codes, np.int32).data)


def load_representations(path: str | Path) -> Representations:
    """Map what `save_representations` wrote.

    Raises
    ------
    WordbiasError
        If the file is none, is damaged, or holds something else.
    """
    with reading(path, REPRESENTATIONS, "mapped") as (tensors, known):
        layers = tuple(int(layer) for layer in known["layers"])
        columns = {
            name: _column(name, tensors[_COLUMN + name], tuple(values))
            for name, values in dict(known["columns"]).items()
        }
        about, vectors = dict(known["about"]), tensors["vectors"]
    return Representations(vectors, layers, columns, about, Path(path).stem)


def _column(name: str, codes: NDArray[Any], values: tuple[Any, ...]) -> Column:
    """Check that codes are places in the values."""
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"column {name!r} has values that are no text")
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise ValueError(f"column {name!r} has codes of {codes.dtype} of shape {codes.shape}")
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(values):
        raise ValueError(f"column {name!r} has codes beyond its {len(values)} values")
    return Column(codes, values)


def header(found: Representations) -> bytes:
    """Return the file's beginning; vectors and then the columns' codes follow it."""
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {"vectors": ("F32", found.vectors.shape)}
    shapes |= {_COLUMN + name: ("I32", (len(found),)) for name in found.columns}
    known: dict[str, Any] = {
        "layers": list(found.layers),
        "columns": {name: list(column.values) for name, column in found.columns.items()},
        "about": dict(found.about),
    }
    return header_of(shapes, {REPRESENTATIONS: json.dumps(known)})
