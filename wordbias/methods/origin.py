"""What a transform was fitted on, so that it is not applied to other vectors unawares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import frozen
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError

_FIRST = 64
_SPREAD = 192
_ALIKE = 0.99
"""Cosine, and ratio of lengths; what rounding to float16 or four decimals leaves far above it."""


@dataclass(frozen=True, eq=False)
class Origin:
    """An embedding as a saved transform remembers it.

    Attributes
    ----------
    name, sha256, size, dim
        Its name, the hash of its file where that is known, its words and dimensions.
    words, vectors
        A few words with their vectors, shape ``(n, d)``, by which it is known again.
    """

    name: str
    sha256: str
    size: int
    dim: int
    words: tuple[str, ...] = field(repr=False)
    vectors: Any = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", frozen(self.vectors))
        if not np.isfinite(self.vectors).all():
            raise WordbiasError("a vector by which its words are known again is no number")
        if self.vectors.shape != (len(self.words), self.dim):
            raise WordbiasError(
                f"{len(self.words)} words of {self.dim} dimensions do not fit vectors of shape "
                f"{self.vectors.shape}"
            )

    @classmethod
    def of(cls, embedding: Embedding, size: int | None = None, sha256: str = "") -> Origin:
        """Describe an embedding, or the part of one of `size` words."""
        n = len(embedding)  # spaced ever wider: a part of a file is most often its beginning
        spread = np.geomspace(1, n, _SPREAD).astype(int) - 1
        rows = list(dict.fromkeys([*range(min(_FIRST, n)), *spread.tolist()]))
        words = tuple(embedding.words[i] for i in rows)
        known = embedding.info.sha256 if embedding.info else ""
        return cls(
            embedding.name,
            sha256 or known,
            size or len(embedding),
            embedding.dim,
            words,
            embedding.vectors[rows],
        )

    def check(
        self, embedding: Embedding, what: str, *, by_length: bool = True, force: bool = False
    ) -> None:
        """Refuse vectors of other dimensions, and others that have the same words.

        Parameters
        ----------
        embedding
            What the transform is to be applied to, or a part of it with `words`.
        what
            The transform, for the message.
        by_length
            Also refuse the same directions at other lengths.
        force
            Only compare dimensions.

        Raises
        ------
        WordbiasError
            If the transform does not belong to these vectors, or no word tells.
        """
        if embedding.dim != self.dim:
            raise WordbiasError(
                f"{what}: fitted on {self.name}, whose vectors have {self.dim} dimensions; "
                f"{embedding.name} has {embedding.dim}; fit it anew on {embedding.name}"
            )
        if force:
            return
        if not self.words:
            raise WordbiasError(
                f"{what}: fitted on {self.name} of an array, which have no words by which vectors "
                f"are known again; if {embedding.name} is of the same space, --force"
            )
        shared = [i for i, word in enumerate(self.words) if word in embedding]
        if not shared:
            raise WordbiasError(
                f"{what}: {embedding.name} has none of the {len(self.words)} words by which it "
                f"knows the vectors of {self.name} again; if these are the same vectors, --force"
            )
        x, words = self.vectors[shared], [self.words[i] for i in shared]
        self._compare(x, embedding.take(words).astype(float), words, embedding.name, what)
        ratio = np.median(_ratios(embedding.take(words).astype(float), x))
        if by_length and not _ALIKE <= ratio <= 1 / _ALIKE:
            raise WordbiasError(
                f"{what}: fitted on {self.name}, whose vectors are {1 / ratio:.3g} times as long "
                f"as those of {embedding.name}, and what it does depends on lengths; fit it anew "
                f"on {embedding.name}, or apply it all the same with --force"
            )

    def _compare(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        words: Sequence[str],
        name: str,
        what: str,
    ) -> None:
        cosine = _cosines(x, y)
        if not np.median(cosine) >= _ALIKE:
            worst = int(cosine.argmin())
            raise WordbiasError(
                f"{what}: fitted on other vectors than {name}: its {words[worst]!r} has the cosine "
                f"{cosine[worst]:.2f} with that of {self.name}; fit it anew on {name}, or apply it "
                "all the same with --force"
            )


def _ratios(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    a, b = (np.linalg.norm(rows, axis=1) for rows in (x, y))
    return np.where((a == 0) | (b == 0), 1, a / np.where(b == 0, 1, b))


def _cosines(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    inner: NDArray[np.float64] = np.einsum("nd,nd->n", x, y)
    return np.where(lengths == 0, 1, inner / np.where(lengths == 0, 1, lengths))
