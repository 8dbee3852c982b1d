"""What every debiasing method returns: a frozen map of rows."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.threads import blas_threads, ordered_map

_ROWS = 4096
_TURNED = 16 * float(np.finfo(np.float32).eps)


@runtime_checkable
class Transform(Protocol):
    """A fitted method: called with rows ``(n, d)``, it returns new rows ``(n, d)``."""

    @property
    def name(self) -> str:
        """What the method is called, to name the result after."""
        ...

    def __call__(self, x: Any) -> Any:
        """Transform rows; the argument stays as it is."""


class Identity:
    """Changes nothing: how a file is converted."""

    name = "converted"

    def __call__(self, x: Any) -> Any:
        """Return the rows as they are."""
        return x


def transform_rows(transform: Transform, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Transform a matrix of any height block by block, in threads, into one new matrix."""
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
    """Return how many values a row of `d` has after a transform."""
    return int(transform(np.zeros((1, d), np.float32)).shape[1])


def turns(before: NDArray[np.float32], after: NDArray[np.float32]) -> bool:
    """Whether any row changed its direction, by more than rounding; length is no bias."""
    if before.shape[1] != after.shape[1]:
        return True
    for start in range(0, len(before), _ROWS):
        x, y = (part[start : start + _ROWS].astype(float) for part in (before, after))
        if (np.linalg.norm(_unit(x) - _unit(y), axis=1) > _TURNED).any():
            return True
    return False


def refuse_no_change(name: str, before: Embedding, after: Embedding) -> None:
    """Fail where a method left every word as it was.

    Raises
    ------
    WordbiasError
        If no vector changed its direction.
    """
    if not turns(before.vectors, after.vectors):
        raise WordbiasError(
            f"{name} changed no word of {before.name}: what it removes is not there; is that "
            "debiased already, or is none of its words within the method's reach?"
        )


def _unit(x: NDArray[np.float64]) -> NDArray[np.float64]:
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(norm == 0, 1, norm)
