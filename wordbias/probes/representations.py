"""Representations: vectors of texts from several layers of an encoder, and the texts' labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError


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

    Attributes
    ----------
    vectors
        Shape ``(L, n, d)``; may be a memory map.
    layers
        Which layers, 0 being the input embeddings, shape ``(L,)``.
    columns
        What is known of each text, by name.
    about
        Model, pooling, hash of the data and whatever else JSON holds.
    name
        What results call it.
    """

    vectors: NDArray[np.float32] = field(repr=False)
    layers: tuple[int, ...]
    columns: Mapping[str, Column] = field(default_factory=dict, repr=False)
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)
    name: str = "representations"

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
