"""Transforms of vectors: how they are applied, and the steps that fitted methods are made of."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import FLOAT32_ROUNDING, frozen, like
from wordbias.devices import blas_threads, ordered_map
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.subspace import Subspace

Float = NDArray[np.float64]
Rows = NDArray[np.floating[Any]]
_ROWS = 4096


@runtime_checkable
class Transform(Protocol):
    """A fitted method: called with rows ``(n, d)``, it returns new rows ``(n, d)``."""

    @property
    def name(self) -> str:
        """Name of the method, which the name of the result ends in."""
        ...

    def __call__(self, x: Any) -> Any:
        """Transform rows; the argument stays as it is."""


class Identity:
    """Transform that changes nothing; it converts a file."""

    name = "converted"

    def __call__(self, x: Any) -> Any:
        """Return the rows as they are."""
        return x


def transform_rows(transform: Transform, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Transform a matrix block by block, in threads, into a new one."""
    out = np.empty((len(vectors), width_after(transform, vectors.shape[1])), np.float32)

    def work(start: int) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # refused when it is written
            out[start : start + _ROWS] = transform(vectors[start : start + _ROWS])

    with blas_threads(1):
        for _ in ordered_map(work, range(0, len(vectors), _ROWS)):
            pass
    return out


def transformed(embedding: Embedding, transform: Transform) -> Embedding:
    """Return the embedding with every vector transformed."""
    vectors = transform_rows(transform, embedding.vectors)
    return embedding.with_vectors(vectors, f"{embedding.name}.{transform.name}")


def width_after(transform: Transform, d: int) -> int:
    """Return the number of values that a transform makes of `d`."""
    return int(transform(np.zeros((1, d), np.float32)).shape[1])


def turns(before: NDArray[np.float32], after: NDArray[np.float32]) -> bool:
    """Return whether any row changed its direction by more than rounding; length is no bias."""
    if before.shape[1] != after.shape[1]:
        return True
    for start in range(0, len(before), _ROWS):
        x, y = (part[start : start + _ROWS].astype(float) for part in (before, after))
        if (np.linalg.norm(_unit(x) - _unit(y), axis=1) > FLOAT32_ROUNDING).any():
            return True
    return False


def refuse_no_change(name: str, before: Embedding, after: Embedding) -> None:
    """Refuse the result of a method in which no vector changed its direction."""
    if not turns(before.vectors, after.vectors):
        raise WordbiasError(
            f"{name} changed no word of {before.name}: what it removes is not there; is that "
            "debiased already, or is none of its words within the method's reach?"
        )


def _unit(x: NDArray[np.float64]) -> NDArray[np.float64]:
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(norm == 0, 1, norm)


# steps


@runtime_checkable
class Step(Protocol):
    """Map of rows ``(…, d)``, a dataclass of arrays, a `Subspace`, or plain values."""

    kind: ClassVar[str]

    def __call__(self, x: Any) -> Any:
        """Map rows; the argument stays as it is, its float type is kept."""


class Arrays:
    """Frozen dataclass whose fields are arrays, stored as read-only float64."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, frozen(getattr(self, field.name)))


def check_width(x: Any, d: int) -> None:
    """Refuse rows that do not have `d` values."""
    if x.shape[-1:] != (d,):
        raise WordbiasError(f"expected rows of {d} values, got shape {x.shape}")


@dataclass(frozen=True)
class Projection:
    """Removal of a subspace: soft by its weights (MISP), or hard (MHD)."""

    # Works on numpy arrays and torch tensors of any float type; the result has the type, device and
    # shape of its argument.

    kind: ClassVar[str] = "projection"
    subspace: Subspace
    hard: bool = False

    @property
    def name(self) -> str:
        """``misp``, or ``mhd`` if hard."""
        return "mhd" if self.hard else "misp"

    def __call__(self, x: Any) -> Any:
        """Return ``x``, rows of shape ``(…, d)`` or an `Embedding`, with the subspace removed."""
        if isinstance(x, Embedding):
            return transformed(x, self)
        x = np.asarray(x) if isinstance(x, (list, tuple)) else x
        check_width(x, self.subspace.basis.shape[1])
        return self.subspace.like(x).remove(x, self.hard)


@dataclass(frozen=True, eq=False)
class Normalise:
    """Division of every row by its length; a row of zeros stays as it is."""

    kind: ClassVar[str] = "normalise"

    def __call__(self, x: Rows) -> Rows:
        """Bring rows ``(…, d)`` to length one."""
        with np.errstate(over="ignore", under="ignore"):
            square = np.einsum("...d,...d->...", x, x)
        # of these rows alone, so that a row does not depend on those around it
        exactly = ~(np.isfinite(square) & (square > np.finfo(x.dtype).tiny))
        scaled: Rows = x / np.sqrt(np.where(exactly, 1, square))[..., None]
        if exactly.any():
            scaled[exactly] = _normalised_exactly(x[exactly])
        return scaled


def _normalised_exactly(x: Rows) -> Rows:
    """Bring rows to length one whose squares leave the range of their type."""
    wide = x.astype(np.longdouble)
    length = np.sqrt((wide * wide).sum(-1, keepdims=True))
    return (wide / np.where(length == 0, 1, length)).astype(x.dtype)


@dataclass(frozen=True, eq=False)
class Shift(Arrays):
    """Subtraction of one vector, shape ``(d,)``."""

    kind: ClassVar[str] = "shift"
    vector: Any

    def __call__(self, x: Rows) -> Rows:
        """Subtract the vector."""
        moved: Rows = x - like(self.vector, x)
        return moved


@dataclass(frozen=True, eq=False)
class Linear(Arrays):
    """Multiplication by a matrix from the right, shape ``(d, d)``."""

    kind: ClassVar[str] = "linear"
    matrix: Any

    def __call__(self, x: Rows) -> Rows:
        """Multiply rows ``(…, d)``."""
        check_width(x, len(self.matrix))
        mapped: Rows = x @ like(self.matrix, x)
        return mapped


@dataclass(frozen=True, eq=False)
class GradedRotation(Arrays):
    r"""Rotation in the plane of two directions that keeps one and takes the other to 90°.

    In the plane, let ``α`` be the angle of a vector from ``v1`` on the side of ``v2``, and ``Θ``
    that of ``v2``. A vector turns by

    .. math:: r(\alpha) = (\pi/2 - \Theta) \min\left(\frac{\alpha}{\Theta}, \frac{\pi - \alpha}{\pi
    - \Theta}\right), \quad 0 \le \alpha \le \pi

    and the image of ``-x`` is minus that of ``x``. The circle is stretched evenly on both sides of
    ``v2``: the map is continuous and one-to-one, keeps lengths, ``v1`` and all that is orthogonal
    to the plane, and takes ``v2`` to 90°, exactly. It depends only on the two lines, not on the
    signs of their directions.

    Dev et al. (2021) give the four cases of this formula. Their released code swaps Θ and ``π/2 −
    Θ`` in them, which takes 30° to 45° and 72° to 120°; AllenNLP's, in addition, has a Gram-Schmidt
    that does not orthogonalise. Neither is offered.
    """

    kind: ClassVar[str] = "graded-rotation"
    v1: Any
    v2: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.v1.ndim != 1 or self.v1.shape != self.v2.shape:
            raise WordbiasError(
                f"expected two directions of one shape (d,), got {self.v1.shape}, {self.v2.shape}"
            )
        if not all(np.isfinite(v).all() and v.any() for v in (self.v1, self.v2)):
            raise WordbiasError("a direction must be finite and not zero")
        if min(self.angle, np.pi - self.angle) < FLOAT32_ROUNDING:
            raise WordbiasError("the directions are parallel: they span no plane to rotate in")
        if abs(np.pi / 2 - self.angle) < FLOAT32_ROUNDING:
            raise WordbiasError("the directions are orthogonal already: there is nothing to rotate")

    @cached_property
    def angle(self) -> float:
        """Angle ``Θ`` between the directions, in radians."""
        return angle_between(self.v1, self.v2)

    @cached_property
    def basis(self) -> Float:
        """Orthonormal basis of the plane, ``v1`` first, ``v2`` on the positive side, ``(2, d)``."""
        u, v = _unit_vector(self.v1), _unit_vector(self.v2)
        for _ in range(2):  # once more, for nearly parallel directions
            v = _unit_vector(v - (u @ v) * u)
        return np.stack([u, v])

    def __call__(self, x: Rows) -> Rows:
        """Rotate rows ``(…, d)``."""
        check_width(x, len(self.v1))
        basis = like(self.basis, x)
        moved = like(self._moved(x @ basis.T), x)  # numpy 1 computes one float32 row in float64
        turned: Rows = x + moved @ basis
        return turned

    def _moved(self, plane: Rows) -> Rows:
        """Return the change of coordinates in the plane, ``(…, 2)``."""
        a, b = plane[..., 0], plane[..., 1]
        alpha = np.arctan2(np.abs(b), np.where(b < 0, -a, a))
        stretched = np.minimum(alpha / self.angle, (np.pi - alpha) / (np.pi - self.angle))
        r = (np.pi / 2 - self.angle) * stretched
        sine, less = np.sin(r), np.cos(r) - 1
        return np.stack([less * a - sine * b, sine * a + less * b], axis=-1)


def angle_between(v: ArrayLike, w: ArrayLike) -> float:
    """Angle between two vectors, shape ``(d,)``, in radians, exact for small angles too."""
    a, b = _unit_vector(np.asarray(v, float)), _unit_vector(np.asarray(w, float))
    return float(2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b)))


def _unit_vector(v: Float) -> Float:
    scaled = v / np.abs(v).max()
    unit: Float = scaled / np.linalg.norm(scaled)
    return unit
