"""Splits of rows: parts that a column names, folds by a hash of a row, draws within classes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import Column
from wordbias.errors import WordbiasError

Integers = NDArray[np.intp]

TRAIN, TEST, DEV = 1, 2, 3
"""Parts that a split names; 0 is none of them."""
_PARTS = {"train": TRAIN, "training": TRAIN, "test": TEST, "testing": TEST, "held-out": TEST,
          "dev": DEV, "val": DEV, "valid": DEV, "validate": DEV, "validation": DEV}  # fmt: skip


def parts_of(option: str, column: Column) -> NDArray[np.int8]:
    """Return `TRAIN`, `TEST` or `DEV` for each row, as a column names them; 0 where it is blank."""
    unknown = [label for label in column.values if label.strip() and label.lower() not in _PARTS]
    if unknown:
        raise WordbiasError(
            f"{option}: {unknown[0]!r:.40} is not train, dev or test; name another column"
        )
    parts = np.array([_PARTS.get(label.lower(), 0) for label in column.values], np.int8)
    row_parts: NDArray[np.int8] = parts[column.codes]
    return row_parts


@dataclass(frozen=True, eq=False)
class Folds:
    """Folds of the rows that a method is fitted on."""

    k: int  # number of folds; 0 without cross-fitting
    # fold of each row, from 1 on, shape `(n,)`; 0 for a row that is not fitted on
    numbers: NDArray[np.int8]
    # fold of each row by its unit, shape `(n,)`; by default a row's values decide
    units: NDArray[np.int8] | None

    @classmethod
    def of(cls, n: int, k: int, units: Column | None) -> Folds:
        """Return folds of n rows, which no row has entered yet."""
        by_unit = None
        if units is not None and k:
            by_unit = _fold_of((unit.encode() for unit in units.values), k)[units.codes]
        return cls(k, np.zeros(n, np.int8), by_unit)

    def enter(self, x: NDArray[Any], places: Integers) -> NDArray[np.int8]:
        """Store and return the folds of the rows at some places."""
        if self.units is not None:
            self.numbers[places] = self.units[places]
        elif self.k:
            self.numbers[places] = _fold_of(np.ascontiguousarray(x, np.float64), self.k)
        return self.numbers[places]


def _fold_of(keys: Iterable[Any], k: int) -> NDArray[np.int8]:
    """Return the fold of each key by a hash of its bytes, whatever the other keys are."""
    hashes = (hashlib.blake2b(key, digest_size=8).digest() for key in keys)
    return np.array([int.from_bytes(digest, "big") % k + 1 for digest in hashes], np.int8)


def combined(codes: Sequence[Integers]) -> Integers:
    """Return the combination of several codes of each row, as a number from 0 on."""
    combination: Integers = np.unique(np.stack(codes), axis=1, return_inverse=True)[1].reshape(-1)
    return combination


def ranks(codes: Integers, rng: np.random.Generator) -> Integers:
    """Return the place of each row among those of its code, in a random order."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    counts = np.bincount(codes)
    ranks = np.empty(len(codes), np.intp)
    ranks[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks
