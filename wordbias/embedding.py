"""Word vectors with their vocabulary."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError
from wordbias.formats import FileInfo, Kind, load, save


@dataclass(frozen=True, eq=False)
class Embedding:
    """A vocabulary and one vector a word; neither can be changed.

    Parameters
    ----------
    words
        `n` distinct words.
    vectors
        Shape ``(n, d)``. Kept as C-contiguous float32, without a copy if it is that already
        (it may be memory-mapped), and seen through a read-only view.
    name
        What results call it.
    info
        The file it was loaded from.

    Raises
    ------
    WordbiasError
        If the shapes do not fit or a word occurs twice.

    Examples
    --------
    >>> emb = Embedding(["she", "he"], [[1.0, 0.0], [0.0, 1.0]])
    >>> emb["she"].tolist()
    [1.0, 0.0]
    """

    words: Sequence[str]
    vectors: Any
    name: str = "embedding"
    info: FileInfo | None = None
    index: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        words = tuple(self.words)
        vectors = _matrix(self.vectors, len(words), self.name)
        index = dict(zip(words, range(len(words)), strict=True))
        if len(index) != len(words):
            twice = next(word for i, word in enumerate(words) if index[word] != i)
            raise WordbiasError(f"{self.name}: the word {twice!r} occurs more than once")
        for key, value in (("words", words), ("vectors", vectors), ("index", index)):
            object.__setattr__(self, key, value)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        cache: bool = True,
        skip_bad: bool = False,
        allow_pickle: bool = False,
    ) -> Embedding:
        """Load an embedding of any known format; see `wordbias.formats.load`."""
        loaded = load(path, cache=cache, skip_bad=skip_bad, allow_pickle=allow_pickle)
        return cls(loaded.words, loaded.vectors, loaded.name, loaded.info)

    @classmethod
    def sample(cls) -> Embedding:
        """Load the real vectors that come with the package; see `wordbias.data`."""
        from wordbias.data import sample_path

        return cls.load(sample_path())

    @classmethod
    def from_gensim(cls, keyed_vectors: Any, name: str = "embedding") -> Embedding:
        """Make an embedding of a gensim ``KeyedVectors``, sharing its memory where possible."""
        from wordbias.formats.keyed_vectors import from_object

        return cls(*from_object(keyed_vectors), name)

    def to_gensim(self) -> Any:
        """Make a gensim ``KeyedVectors`` with a copy of the vectors (extra `gensim`)."""
        from wordbias.formats.keyed_vectors import to_object

        return to_object(self.words, self.vectors)

    def save(self, path: str | os.PathLike[str], kind: Kind | None = None) -> None:
        """Write to a file; see `wordbias.formats.save`."""
        save(path, self.words, self.vectors, kind)

    @property
    def dim(self) -> int:
        """Values a word has."""
        return int(self.vectors.shape[1])

    def __repr__(self) -> str:
        return f"<Embedding {self.name!r}: {len(self):,} words × {self.dim}>"

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        if word not in self.index:
            raise KeyError(f"{self.name} has no word {word!r}")
        vector: NDArray[np.float32] = self.vectors[self.index[word]]
        return vector

    def rows(self, words: Iterable[str]) -> tuple[NDArray[np.intp], list[str]]:
        """Return the row numbers of the words that are here, in order, and the missing words."""
        words = list(words)
        found = [self.index[word] for word in words if word in self.index]
        return np.array(found, np.intp), [word for word in words if word not in self.index]

    def take(self, words: Iterable[str]) -> NDArray[np.float32]:
        """Return the vectors of words that are all here, shape ``(len(words), d)``."""
        rows, missing = self.rows(words)
        if missing:
            raise WordbiasError(f"{self.name} has no word {missing[0]!r}")
        vectors: NDArray[np.float32] = self.vectors[rows]
        return vectors

    def subset(self, words: Iterable[str]) -> Embedding:
        """Return the embedding of those of the words that are here, in the order given."""
        rows, _ = self.rows(dict.fromkeys(words))
        if np.array_equal(rows, np.arange(len(self))):
            return self
        return Embedding(
            [self.words[i] for i in rows.tolist()], self.vectors[rows], self.name, self.info
        )

    def with_vectors(self, vectors: ArrayLike, name: str | None = None) -> Embedding:
        """Return the same words with other vectors."""
        name = name or self.name
        made = object.__new__(Embedding)  # the words need not be looked at again
        known = {"words": self.words, "info": self.info, "index": self.index}
        for key, value in (
            *known.items(), ("name", name), ("vectors", _matrix(vectors, len(self), name))
        ):  # fmt: skip
            object.__setattr__(made, key, value)
        return made


def _matrix(vectors: ArrayLike, n: int, name: str) -> NDArray[np.float32]:
    """View vectors as read-only float32, shape ``(n, d)``."""
    x = np.ascontiguousarray(vectors, np.float32).view()
    x.flags.writeable = False
    if x.ndim != 2 or len(x) != n:
        raise WordbiasError(
            f"{name}: expected vectors of shape ({n}, d) for {n} words, got {x.shape}"
        )
    return x
