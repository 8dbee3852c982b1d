"""What is probed: vectors of one or several layers and a label for each, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError
from wordbias.probes.representations import Column

Integers = NDArray[np.intp]

_TILE = 1 << 22  # numbers that are looked at at once
_LARGE = 1e15  # float32 cannot square the gradient of larger ones


@dataclass(frozen=True, eq=False)
class Examples:
    """Vectors and labels that fit together.

    Attributes
    ----------
    vectors
        Shape ``(L, n, d)``, any float type; may be a memory map.
    labels
        Codes 0 to K - 1, shape ``(n,)``.
    classes
        The K labels' names.
    layers
        What the layers are called, shape ``(L,)``.
    name
        What results call the vectors.
    """

    vectors: NDArray[np.floating[Any]] = field(repr=False)
    labels: Integers = field(repr=False)
    classes: tuple[str, ...]
    layers: tuple[int, ...]
    name: str = "vectors"

    @classmethod
    def of(
        cls,
        vectors: ArrayLike,
        labels: Column | ArrayLike,
        *,
        layers: Sequence[int] | None = None,
        name: str = "vectors",
    ) -> Examples:
        """Check vectors and labels.

        Parameters
        ----------
        vectors
            Shape ``(n, d)``, or ``(L, n, d)`` for several layers.
        labels
            One for each example, of any type that can be sorted, or a column.
        layers
            Numbers of the layers, by default 0 to L - 1.
        name
            What messages call the vectors.

        Raises
        ------
        WordbiasError
            If shapes do not fit, a number is not finite, or there are fewer than two classes, or
            so many that labels are no labels.
        """
        x = _layered(vectors, name)
        codes, classes = _coded(labels)
        _, n, d = x.shape
        if len(codes) != n:
            raise WordbiasError(
                f"{name}: {n:,} vectors, but {len(codes):,} labels; give one label for each vector"
            )
        if not d:
            raise WordbiasError(f"{name}: the vectors have no dimensions: shape {x.shape}")
        _check_classes(classes, n, name)
        numbers = tuple(range(len(x))) if layers is None else tuple(layers)
        _check_finite(x, numbers, name)
        return cls(x, codes, classes, numbers, name)

    def __len__(self) -> int:
        return len(self.labels)

    def rare(self) -> list[str]:
        """Return the classes that occur once: no probe is both taught and tested on them."""
        counts = np.bincount(self.labels, minlength=len(self.classes))
        return [self.classes[i] for i in np.flatnonzero(counts == 1)]


def _layered(vectors: ArrayLike, name: str) -> NDArray[np.floating[Any]]:
    x = np.asarray(vectors)
    if x.dtype.kind in "iub":
        x = x.astype(np.float32)
    if x.dtype.kind != "f" or x.ndim not in (2, 3):
        raise WordbiasError(
            f"{name}: expected numbers of shape (examples, dimensions) or (layers, examples, "
            f"dimensions), found {x.dtype} of shape {x.shape}"
        )
    return np.ascontiguousarray(x[None] if x.ndim == 2 else x)


def _coded(labels: Column | ArrayLike) -> tuple[Integers, tuple[str, ...]]:
    given = np.array(labels.values)[labels.codes] if isinstance(labels, Column) else labels
    y = np.asarray(given)
    if y.ndim != 1:
        raise WordbiasError(f"labels: expected one for each example, found shape {y.shape}")
    values, codes = np.unique(y, return_inverse=True)
    return codes.astype(np.intp), tuple(map(str, values))


def _check_classes(classes: Sequence[str], n: int, name: str) -> None:
    if len(classes) < 2:
        only = f"all are {classes[0]!r}" if classes else "there are none"
        raise WordbiasError(f"{name}: the labels need at least two classes; {only}")
    if len(classes) > n / 2:
        raise WordbiasError(
            f"{name}: {len(classes):,} different labels for {n:,} examples, such as "
            f"{classes[0]!r:.40}: fewer than two each; give more examples, or name another column "
            "or file"
        )


def _check_finite(x: NDArray[np.floating[Any]], layers: Sequence[int], name: str) -> None:
    room = max(1, _TILE // x.shape[2])
    limit = x.dtype.type(min(_LARGE, float(np.finfo(x.dtype).max)))
    for layer, vectors in zip(layers, x, strict=True):
        for start in range(0, len(vectors), room):
            good = np.abs(vectors[start : start + room]) <= limit
            if not good.all():
                row, place = np.argwhere(~good)[0].tolist()
                where = f"layer {layer}, row" if len(layers) > 1 else "row"
                raise WordbiasError(
                    f"{name}: {where} {start + row + 1} holds {vectors[start + row, place]:g}; "
                    f"probes need finite numbers up to {limit:g}, so leave it out or mend it"
                )
