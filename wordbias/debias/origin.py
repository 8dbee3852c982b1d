"""What a transform was fitted on, so that it is not applied to other vectors unawares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import frozen
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError

_FIRST = 16
_SPREAD = 16
_ALIKE = 0.99
"""Cosine; what rounding to float16 or to four decimals leaves far above it."""


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
        if self.vectors.shape != (len(self.words), self.dim):
            raise WordbiasError(
                f"{len(self.words)} words of {self.dim} dimensions do not fit vectors of shape "
                f"{self.vectors.shape}"
            )

    @classmethod
    def of(cls, embedding: Embedding, size: int | None = None, sha256: str = "") -> Origin:
        """Describe an embedding, or the part of one of `size` words."""
        spread = np.linspace(0, len(embedding) - 1, _SPREAD, dtype=int).tolist()
        rows = list(dict.fromkeys([*range(min(_FIRST, len(embedding))), *spread]))
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

    def check(self, embedding: Embedding, what: str, *, force: bool = False) -> str:
        """Refuse vectors of other dimensions, and others that have the same words.

        Parameters
        ----------
        embedding
            What the transform is to be applied to, or a part of it with `words`.
        what
            The transform, for the message.
        force
            Only compare dimensions.

        Returns
        -------
        str
            A remark, if no word could be compared.

        Raises
        ------
        WordbiasError
            If the transform does not belong to these vectors.
        """
        if embedding.dim != self.dim:
            raise WordbiasError(
                f"{what}: fitted on {self.name}, whose vectors have {self.dim} dimensions; "
                f"{embedding.name} has {embedding.dim}; fit it anew on {embedding.name}"
            )
        shared = [i for i, word in enumerate(self.words) if word in embedding]
        if force:
            return ""
        if not shared:
            return f"none of the words by which {what} knows {self.name} is in {embedding.name}"
        words = [self.words[i] for i in shared]
        cosine = _cosines(self.vectors[shared], embedding.take(words).astype(float))
        if np.median(cosine) < _ALIKE:
            worst = int(cosine.argmin())
            raise WordbiasError(
                f"{what}: fitted on other vectors than {embedding.name}: its {words[worst]!r} has "
                f"the cosine {cosine[worst]:.2f} with that of {self.name}; fit it anew on "
                f"{embedding.name}, or apply it all the same with --force"
            )
        return ""


def _cosines(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    inner: NDArray[np.float64] = np.einsum("nd,nd->n", x, y)
    return np.where(lengths == 0, 1, inner / np.where(lengths == 0, 1, lengths))
