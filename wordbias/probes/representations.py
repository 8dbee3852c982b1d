"""Representations: vectors of texts from several layers of an encoder, and the texts' labels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.rendering import as_paragraph, how_many
from wordbias.results import Report
from wordbias.visible import on_a_line

Layers = int | Sequence[int] | str | None
"""Numbers of layers, ``all``, ``last``, or None where nothing is asked for."""


def which_layers(asked: Layers, known: Sequence[int], default: str = "all") -> tuple[int, ...]:
    """Return the numbers of the layers that are asked for, of those there are; -1 is the last."""
    asked = default if asked is None else asked
    if isinstance(asked, str):
        if asked not in ("all", "last"):
            raise WordbiasError(f"layers {asked!r}: expected all, last, or numbers such as 0,3,6")
        return tuple(known if asked == "all" else known[-1:])
    listed = [asked] if isinstance(asked, int | Integral) else list(asked)
    if not listed:
        raise WordbiasError("layers: expected all, last, or numbers such as 0,3,6; got none")
    counted = [int(layer) for layer in listed]
    found = [known[layer] if -len(known) <= layer < 0 else layer for layer in counted]
    return tuple(dict.fromkeys(found))


def cell_of(value: object) -> str | None:
    """Return a label or another value as text; None where it is missing, as pandas has it."""
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    if missing or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return None
    return str(value)


@dataclass(frozen=True, eq=False)
class Column:
    """One value for every text: a label, a word, a split.

    Attributes
    ----------
    codes
        Places in `values`, shape ``(n,)``, int32.
    values
        The distinct values, sorted.
    """

    codes: NDArray[np.int32]
    values: tuple[str, ...]

    @classmethod
    def of(cls, cells: Iterable[str]) -> Column:
        """Make a column of cells, whose distinct values are numbered in sorted order."""
        cells = list(cells)
        values = tuple(sorted(set(cells)))
        places = {value: i for i, value in enumerate(values)}
        return cls(np.array([places[cell] for cell in cells], np.int32), values)

    def cells(self) -> list[str]:
        """Return the value of every text."""
        return [self.values[code] for code in self.codes]


@dataclass(frozen=True, eq=False)
class Representations:
    """Vectors of `n` texts from `L` layers.

    Parameters
    ----------
    vectors : array of shape (L, n, d)
        May be a memory map.
    layers : tuple of int, of length L
        Which layers, 0 being the input embeddings.
    columns : mapping
        What is known of each text, by name.
    about : mapping
        Model, pooling, hash of the data and whatever else JSON holds.
    name : str
        What results call it.
    report : Report, optional
        Of the function that made it, if one did.

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
        """Show in a notebook what they are, and of what."""
        keys = ("model", "pooling", "texts")
        said = [f"{key}: {self.about[key]}" for key in keys if key in self.about]
        said += [f"columns: {', '.join(self.columns)}"] if self.columns else []
        return "\n".join(map(as_paragraph, [repr(self), *said]))

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
    """There is no telling whether texts or layers would be meant."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all vectors, shape ``(L, n, d)``."""
        return np.array(self.vectors, dtype, copy=copy)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them as ``wordbias encode`` does; the file is written whole or not at all."""
        from wordbias.probes.storage import save_representations

        save_representations(self, os.fspath(path))

    def layer(self, number: int) -> NDArray[np.float32]:
        """Return the vectors of one layer, shape ``(n, d)``.

        Raises
        ------
        WordbiasError
            If it is not among the layers.
        """
        found: NDArray[np.float32] = self.vectors[self.place(number)]
        return found

    def place(self, number: int) -> int:
        """Return where a layer stands in `vectors`."""
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
