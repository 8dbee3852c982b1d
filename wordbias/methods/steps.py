"""The row-wise maps that fitted methods are made of; each is stored by its kind and its fields."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import frozen
from wordbias.casting import like
from wordbias.errors import WordbiasError

Rows = NDArray[np.floating[Any]]


@runtime_checkable
class Step(Protocol):
    """One map of rows ``(…, d)``; its fields are arrays, a `Subspace`, or plain values."""

    kind: ClassVar[str]

    def __call__(self, x: Any) -> Any:
        """Map rows; the argument stays as it is, its float type is kept."""


class Arrays:
    """A frozen dataclass whose fields are arrays, kept as float64 that nobody can change."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, frozen(getattr(self, field.name)))


@dataclass(frozen=True, eq=False)
class Normalise:
    """Every row at length one; a row of zeros stays as it is."""

    kind: ClassVar[str] = "normalise"

    def __call__(self, x: Rows) -> Rows:
        """Divide by the length, ``(…, 1)``."""
        with np.errstate(over="ignore", under="ignore"):
            square = np.einsum("...d,...d->...", x, x)
        if not (np.isfinite(square) & (square > np.finfo(x.dtype).tiny)).all():
            return _normalised_exactly(x)
        scaled: Rows = x / np.sqrt(square)[..., None]
        return scaled


@dataclass(frozen=True, eq=False)
class Shift(Arrays):
    """Subtraction of one vector, shape ``(d,)``."""

    kind: ClassVar[str] = "shift"
    vector: Any

    def __call__(self, x: Rows) -> Rows:
        """Subtract it."""
        moved: Rows = x - like(self.vector, x)
        return moved


@dataclass(frozen=True, eq=False)
class Linear(Arrays):
    """Multiplication by a matrix from the right, shape ``(d, d)``."""

    kind: ClassVar[str] = "linear"
    matrix: Any

    def __call__(self, x: Rows) -> Rows:
        """Multiply."""
        check_width(x, len(self.matrix))
        mapped: Rows = x @ like(self.matrix, x)
        return mapped


def check_width(x: Rows, d: int) -> None:
    """Refuse rows that do not have `d` values."""
    if x.shape[-1] != d:
        raise WordbiasError(f"expected rows of {d} values, got shape {x.shape}")


def _normalised_exactly(x: Rows) -> Rows:
    """Normalise rows whose squares leave the range of their type."""
    wide = x.astype(np.longdouble)
    length = np.sqrt((wide * wide).sum(-1, keepdims=True))
    return (wide / np.where(length == 0, 1, length)).astype(x.dtype)
