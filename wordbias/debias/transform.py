"""What every debiasing method returns: a frozen row-wise map."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.threads import blas_threads, ordered_map

_ROWS = 4096


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
    out = np.empty_like(vectors)

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
