"""Representations: vectors of texts from several layers of an encoder, with columns of labels."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import Column
from wordbias.errors import WordbiasError, on_a_line
from wordbias.formats.files import replacing
from wordbias.formats.rows.writing import NAME as ROWS_NAME
from wordbias.formats.rows.writing import is_row_suffix, write_rows
from wordbias.formats.stored import REPRESENTATIONS, read_header, reading
from wordbias.formats.tensors import header_of
from wordbias.models.encoding import EncodingJob
from wordbias.models.model_like import interventions_in
from wordbias.rendering import as_paragraph, how_many
from wordbias.store import REMEDY, refuse_other

if TYPE_CHECKING:
    from wordbias.reports import Report

Layers = int | Sequence[int] | str | None
"""Numbers of layers, ``all``, ``last``, or None for the default."""
_COLUMN = "column."


def which_layers(layers: Layers, known: Sequence[int], default: str = "all") -> tuple[int, ...]:
    """Return the numbers of layers, each once; -1 is the last of the known ones."""
    layers = default if layers is None else layers
    if isinstance(layers, str):
        if layers not in ("all", "last"):
            raise WordbiasError(f"layers {layers!r}: expected all, last, or numbers such as 0,3,6")
        return tuple(known if layers == "all" else known[-1:])
    listed = [layers] if isinstance(layers, int | Integral) else list(layers)
    if not listed:
        raise WordbiasError("layers: expected all, last, or numbers such as 0,3,6; got none")
    counted = [int(layer) for layer in listed]
    numbers = [known[layer] if -len(known) <= layer < 0 else layer for layer in counted]
    return tuple(dict.fromkeys(numbers))


@dataclass(frozen=True, eq=False)
class Representations:
    """Vectors of `n` texts from `L` layers.

    Parameters
    ----------
    vectors : array of shape (L, n, d)
        May be a memory map.
    layers : tuple of int, of length L
        Numbers of the layers, 0 being the input embeddings.
    columns : mapping
        Columns by name: one value for each text.
    about : mapping
        Provenance: model, pooling, hash of the data and other values of JSON.
    name : str
        Name in results.
    report : Report, optional
        Report of the function that made it, if one did.

    Examples
    --------
    >>> import numpy as np
    >>> import wordbias as wb
    >>> reps = wb.Representations(np.zeros((2, 3, 4), np.float32), layers=(0, 6))
    >>> reps[6].shape
    (3, 4)
    >>> reps
    <Representations 'representations': 3 texts × 4, layers 0, 6>
    """

    vectors: NDArray[np.float32]
    layers: tuple[int, ...]
    columns: Mapping[str, Column] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    name: str = "representations"
    report: Report | None = None

    def __post_init__(self) -> None:
        if self.vectors.ndim != 3 or len(self.vectors) != len(self.layers):
            raise WordbiasError(
                f"{self.name}: expected vectors of shape ({len(self.layers)}, texts, dimensions), "
                f"one block a layer, found {self.vectors.shape}"
            )
        for name, column in self.columns.items():
            if len(column.codes) != len(self):
                raise WordbiasError(
                    f"{self.name}: column {name!r} has {len(column.codes)} values for {len(self)} "
                    "texts"
                )

    def __len__(self) -> int:
        return int(self.vectors.shape[1])

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return int(self.vectors.shape[2])

    def __repr__(self) -> str:
        layers = how_many(len(self.layers), "layer")
        if len(self.layers) <= 4:
            layers = f"layer{'s' * (len(self.layers) > 1)} {', '.join(map(str, self.layers))}"
        return on_a_line(
            f"<Representations {self.name!r}: {how_many(len(self), 'text')} × {self.dim}, {layers}>"
        )

    def _repr_html_(self) -> str:
        """Return HTML for a notebook."""
        keys = ("model", "pooling", "texts")
        lines = [f"{key}: {self.about[key]}" for key in keys if key in self.about]
        lines += [f"columns: {', '.join(self.columns)}"] if self.columns else []
        return "\n".join(map(as_paragraph, [repr(self), *lines]))

    def __getitem__(self, layer: int) -> NDArray[np.float32]:
        """Return the vectors of one layer, shape ``(n, d)``; -1 is the last.

        Raises
        ------
        KeyError
            Naming the layers there are.
        """
        if -len(self.layers) <= layer < 0:
            layer = self.layers[layer]
        if layer not in self.layers:
            known = ", ".join(map(str, self.layers))
            raise KeyError(f"{self.name} has no layer {layer}; it holds {known}")
        return self.layer(layer)

    __iter__ = None
    """No iteration, which could mean texts or layers."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all vectors, shape ``(L, n, d)``."""
        if copy is None:  # no word of numpy before 2.0
            return np.asarray(self.vectors, dtype)
        return np.array(self.vectors, dtype, copy=copy)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file as ``wordbias encode`` does, in the format of its suffix."""
        save_representations(self, os.fspath(path))

    def layer(self, number: int) -> NDArray[np.float32]:
        """Return the vectors of one layer, shape ``(n, d)``.

        Raises
        ------
        WordbiasError
            If it is not among the layers.
        """
        vectors: NDArray[np.float32] = self.vectors[self.place(number)]
        return vectors

    def place(self, number: int) -> int:
        """Return the place of a layer in `vectors`."""
        if number not in self.layers:
            known = ", ".join(map(str, self.layers))
            raise WordbiasError(f"{self.name}: no layer {number}; it holds {known}")
        return self.layers.index(number)

    def column(self, name: str) -> Column:
        """Return one column.

        Raises
        ------
        WordbiasError
            If there is none of this name.
        """
        if name not in self.columns:
            known = ", ".join(self.columns) or "none"
            raise WordbiasError(f"{self.name}: no column {name!r}; it holds {known}")
        return self.columns[name]


# files


def save_representations(representations: Representations, path: str | Path) -> None:
    """Write representations; the file takes its name only when it is complete."""
    # By the suffix also as rows, such as .parquet: the vectors of each layer and the columns.
    if is_row_suffix(path):
        vectors = dict(
            zip(row_names(representations.layers), np.asarray(representations.vectors), strict=True)
        )
        write_rows(
            path,
            vectors,
            {name: text_column.cells() for name, text_column in representations.columns.items()},
        )
        return
    with replacing(path) as file:
        file.write(header(representations))
        file.write(np.ascontiguousarray(representations.vectors, np.float32).data)
        for column in representations.columns.values():
            file.write(np.ascontiguousarray(column.codes, np.int32).data)


def row_names(layers: Sequence[int]) -> list[str]:
    """Return the names of the vectors of layers in a file of rows."""
    return [ROWS_NAME] if len(layers) == 1 else [f"layer_{layer}" for layer in layers]


def load_representations(path: str | Path) -> Representations:
    """Map a file of representations into memory."""
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


def header(representations: Representations) -> bytes:
    """Return the header of a file; vectors and then the columns' codes follow it."""
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        "vectors": ("F32", representations.vectors.shape)
    }
    shapes |= {_COLUMN + name: ("I32", (len(representations),)) for name in representations.columns}
    known: dict[str, Any] = {
        "layers": list(representations.layers),
        "columns": {name: list(column.values) for name, column in representations.columns.items()},
        "about": dict(representations.about),
    }
    return header_of(shapes, {REPRESENTATIONS: json.dumps(known)})


# provenance


def provenance(job: EncodingJob, texts: str, sha256: str) -> dict[str, Any]:
    """Return the provenance of encoded texts."""
    from importlib.metadata import version

    encoder = job.encoder
    return {
        "model": encoder.name,
        "random_init": encoder.random_init,
        "precision": encoder.precision,
        "device": encoder.device,
        "weights_sha256": encoder.sha256(),
        **job.settings.to_dict(),
        "texts": texts,
        "texts_sha256": sha256,
        "truncated": job.truncated,
        **removals_in(encoder.model),
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
    }


def removals_in(model: Any) -> dict[str, str]:
    """Return the settings of the interventions in a model and their hash; empty without any."""
    active = [intervention for intervention in interventions_in(model) if intervention.sites]
    if not active:
        return {}
    return {
        "setting": "; ".join(intervention.setting for intervention in active),
        "adapter_sha256": "; ".join(intervention.sha256 for intervention in active),
    }


def stored_provenance(path: Path) -> dict[str, Any]:
    """Return the provenance in a file's header."""
    try:
        return dict(read_header(path, REPRESENTATIONS)["about"])
    except (WordbiasError, ValueError, KeyError, TypeError):
        raise WordbiasError(
            f"{path}: is there already and holds no representations; {REMEDY}"
        ) from None


def check_same(path: Path, wanted: Representations) -> None:
    """Refuse a file whose header is not that of `wanted`."""
    refuse_other(path, stored_provenance(path), dict(wanted.about), "run")
    head = header(wanted)
    with path.open("rb") as file:
        if file.read(len(head)) != head:
            raise WordbiasError(f"{path}: is of another run: its columns are others; {REMEDY}")
