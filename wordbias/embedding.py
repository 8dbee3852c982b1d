"""Word vectors with their vocabulary."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import numbers
from wordbias.errors import WordbiasError, on_a_line
from wordbias.formats import FileInfo, Kind, load, save
from wordbias.formats.static_models import refuse_loaded_static
from wordbias.rendering import as_paragraph

if TYPE_CHECKING:
    from wordbias.reports import Report


class KeyedVectorsLike(Protocol):
    """gensim's ``KeyedVectors``, or an object with the same attributes."""

    index_to_key: Any
    vectors: Any


class WordsFrame(Protocol):
    """A pandas frame, whose index has the words."""

    index: Any

    def to_numpy(self) -> Any:
        """Return the vectors."""


@dataclass(frozen=True, eq=False)
class Embedding:
    """A vocabulary and one vector for each word; both are read-only.

    Parameters
    ----------
    words : sequence of str
        `n` distinct words.
    vectors : array of shape (n, d)
        Stored as a read-only view of C-contiguous float32, without a copy if
        it is that already (it may be memory-mapped).
    name : str
        Name in results.
    info : FileInfo, optional
        The file that it was loaded from.
    report : Report, optional
        Report of the function that made it.

    Raises
    ------
    WordbiasError
        If the shapes do not fit, a word is not a str or occurs twice, or a value is not finite.

    Examples
    --------
    >>> import wordbias as wb
    >>> emb = wb.Embedding(["she", "he"], [[1.0, 0.0], [0.0, 1.0]])
    >>> emb["she"].tolist()
    [1.0, 0.0]
    """

    words: Sequence[str]
    vectors: Any
    name: str = "embedding"
    info: FileInfo | None = None
    report: Report | None = field(default=None, repr=False)
    index: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        words = _texts(self.words, self.name)
        vectors = _matrix(self.vectors, len(words), self.name)
        if self.info is None:  # a file was checked when it was read
            _check_finite(vectors, words, self.name)
        index = dict(zip(words, range(len(words)), strict=True))
        if len(index) != len(words):
            twice = next(word for i, word in enumerate(words) if index[word] != i)
            raise WordbiasError(f"{self.name}: the word {twice!r} occurs more than once")
        for key, value in (("words", words), ("vectors", vectors), ("index", index)):
            object.__setattr__(self, key, value)

    def __getattr__(self, name: str) -> Any:
        deferred = vars(self).get("_deferred")
        if deferred is None or name not in ("words", "vectors", "index"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        loaded = deferred[0]()
        for key in ("words", "vectors", "index", "info"):
            object.__setattr__(self, key, getattr(loaded, key))
        object.__setattr__(self, "_deferred", None)
        return vars(self)[name]

    def __getstate__(self) -> dict[str, Any]:
        return {"words": self.words, "vectors": self.vectors, "index": self.index, **vars(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.vectors.flags.writeable = False  # copying had made them writeable

    @classmethod
    def sample(cls) -> Embedding:
        """Load the sample vectors of the package; see `wordbias.data`."""
        from wordbias.data import sample_path

        return read_embedding(sample_path())

    @classmethod
    def from_gensim(cls, keyed_vectors: Any, name: str = "embedding") -> Embedding:
        """Make an embedding of a gensim ``KeyedVectors``, sharing its memory where possible.

        Raises
        ------
        WordbiasError
            If the argument is no ``KeyedVectors``.
        """
        if not hasattr(keyed_vectors, "index_to_key"):
            raise WordbiasError(f"expected KeyedVectors, got {type(keyed_vectors).__name__}")
        return cls(keyed_vectors.index_to_key, keyed_vectors.vectors, name)

    def to_gensim(self) -> Any:
        """Make a gensim ``KeyedVectors`` with a copy of the vectors (extra `gensim`)."""
        from wordbias.formats.gensim import to_keyed_vectors

        return to_keyed_vectors(self.words, self.vectors)

    def save(self, path: str | os.PathLike[str], kind: Kind | None = None) -> None:
        """Write to a file; see `wordbias.formats.save`."""
        save(path, self.words, self.vectors, kind)

    @property
    def dim(self) -> int:
        """Number of values of a word."""
        return int(self.vectors.shape[1])

    def __repr__(self) -> str:
        deferred = vars(self).get("_deferred")
        n, d = (len(self), self.dim) if deferred is None else deferred[1]
        return on_a_line(f"<Embedding {self.name!r}: {n:,} words × {d}>")

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word in self.index

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, words: str | Sequence[str]) -> NDArray[np.float32]:
        """Return the vector of a word, shape ``(d,)``, or of several, shape ``(n, d)``.

        Raises
        ------
        KeyError
            If a word is missing; the message has the first one.
        """
        several = [words] if isinstance(words, str) else _texts(words, self.name)
        for word in several:
            if word not in self.index:
                raise KeyError(f"{self.name} has no word {word!r}")
        rows = [self.index[word] for word in several]
        vectors: NDArray[np.float32] = self.vectors[rows[0] if isinstance(words, str) else rows]
        return vectors

    def most_similar(
        self, word: str | Sequence[str] | ArrayLike, k: int = 10
    ) -> list[tuple[str, float]]:
        """Return the nearest words by cosine similarity, the nearest first.

        Parameters
        ----------
        word
            A word, several words, whose unit vectors are added, or a vector of shape ``(d,)``. The
            given words are left out of the result.
        k
            Number of words.

        Raises
        ------
        KeyError
            If a word is missing.
        """
        named: Sequence[str] = ()
        if isinstance(word, str):
            named = [word]
        elif isinstance(word, Sequence) and word and all(isinstance(term, str) for term in word):
            named = [str(term) for term in word]
        try:
            target = self._units(self[named]).sum(0) if named else np.asarray(word, np.float32)
        except (TypeError, ValueError):
            target = np.zeros(0, np.float32)
        if target.shape != (self.dim,) or not np.isfinite(target).all():
            raise WordbiasError(
                f"{self.name}: expected a word, words or a finite vector of shape ({self.dim},), "
                f"got {word!r}"
            )
        if not isinstance(cast("object", k), Integral) or k is True or k < 1:
            raise WordbiasError(f"k=: expected a whole number from 1 on, got {k!r}")
        lengths = np.sqrt(np.einsum("ij,ij->i", self.vectors, self.vectors))
        cosines = (
            self.vectors
            @ target
            / np.maximum(lengths * np.linalg.norm(target), np.finfo(np.float32).tiny)
        )
        cosines[[self.index[term] for term in named]] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(k, len(self) - len(set(named)))]
        return [(self.words[i], float(cosines[i])) for i in best.tolist()]

    @staticmethod
    def _units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        units: NDArray[np.float32] = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        return units

    def rows(self, words: Iterable[str]) -> tuple[NDArray[np.intp], list[str]]:
        """Return the row numbers of the known words, in order, and the missing words."""
        words = _texts(words, self.name)
        row_numbers = [self.index[word] for word in words if word in self.index]
        return np.array(row_numbers, np.intp), [word for word in words if word not in self.index]

    def take(self, words: Iterable[str]) -> NDArray[np.float32]:
        """Return the vectors of words, shape ``(len(words), d)``; refuse a missing word."""
        rows, missing = self.rows(words)
        if missing:
            raise WordbiasError(f"{self.name} has no word {missing[0]!r}")
        vectors: NDArray[np.float32] = self.vectors[rows]
        return vectors

    def subset(self, words: Iterable[str]) -> Embedding:
        """Return the embedding of the known ones of the words, in the order given."""
        rows, _ = self.rows(dict.fromkeys(words))
        if np.array_equal(rows, np.arange(len(self))):
            return self
        return Embedding(
            [self.words[i] for i in rows.tolist()], self.vectors[rows], self.name, self.info
        )

    def with_vectors(self, vectors: ArrayLike, name: str | None = None) -> Embedding:
        """Return the same words with other vectors, without file and report."""
        name = name or self.name
        matrix = _matrix(vectors, len(self), name)
        return self._changed(name=name, vectors=matrix, info=None, report=None)

    def with_report(self, report: Report) -> Embedding:
        """Return the same embedding with a report."""
        return self._changed(report=report)

    def renamed(self, name: str) -> Embedding:
        """Return the same embedding under another name."""
        return self._changed(name=name)

    def _changed(self, **values: Any) -> Embedding:
        changed = object.__new__(Embedding)  # the words need no second check
        for key, value in {**vars(self), **values}.items():
            object.__setattr__(changed, key, value)
        return changed

    def _repr_html_(self) -> str:
        """Show the size and the first words in a notebook."""
        summary = as_paragraph(repr(self))
        words = ", ".join(self.words[:12])
        return f"{summary}\n{as_paragraph(words + ('' if len(self) <= 12 else ', …'))}"


def as_embedding(source: EmbeddingLike) -> Embedding:
    """Return an object with words and vectors, such as one of gensim or pandas, as an embedding."""
    if isinstance(source, Embedding):
        return source
    refuse_loaded_static(source)
    keyed = getattr(source, "wv", source)
    if hasattr(keyed, "index_to_key"):
        return Embedding.from_gensim(keyed)
    if isinstance(source, Mapping):
        return Embedding(list(source), list(source.values()))
    if hasattr(source, "to_numpy"):
        frame = cast("WordsFrame", source)
        return Embedding([str(word) for word in frame.index], frame.to_numpy())
    if is_words_and_vectors(source):
        words, vectors = cast("tuple[Sequence[str], ArrayLike]", source)
        return Embedding(list(words), vectors)
    raise WordbiasError(
        f"expected an embedding: a path, the name of fetched vectors, an Embedding, KeyedVectors, "
        f"(words, vectors), a dictionary or a frame; got {type(source).__name__}"
    )


def is_words_and_vectors(source: object) -> bool:
    """Return whether an object is a pair of words and an array of vectors."""
    return (
        isinstance(source, (tuple, list))
        and len(source) == 2
        and isinstance(source[1], np.ndarray)
        and source[1].ndim == 2
    )


def read_embedding(path: str | os.PathLike[str], *, cache: bool = True) -> Embedding:
    """Read an embedding of any known format; see `wordbias.formats.load`."""
    loaded = load(path, cache=cache)
    return Embedding(loaded.words, loaded.vectors, loaded.name, loaded.info)


def lazy(
    make: Callable[[], Embedding], name: str, shape: tuple[int, int], report: Report
) -> Embedding:
    """Return an embedding that is loaded or computed when its words or vectors are first used."""
    embedding = object.__new__(Embedding)
    for key, value in {"name": name, "info": None, "report": report}.items():
        object.__setattr__(embedding, key, value)
    object.__setattr__(embedding, "_deferred", (make, shape))
    return embedding


EmbeddingLike = (
    str
    | os.PathLike[str]
    | Embedding
    | KeyedVectorsLike
    | WordsFrame
    | tuple[Sequence[str], ArrayLike]
    | Mapping[str, ArrayLike]
)
"""Arguments that functions accept as an embedding."""


def _texts(words: Any, name: str) -> tuple[str, ...]:
    """Return words as a tuple of str, also those of numpy."""
    several = isinstance(words, Iterable) and not isinstance(words, (str, bytes))
    several = several and getattr(words, "ndim", 1) > 0
    texts = tuple(words) if several else (words,)
    if not several or not all(issubclass(kind, str) for kind in set(map(type, texts))):
        other = next((word for word in texts if not several or not isinstance(word, str)), words)
        raise WordbiasError(f"{name}: expected a list of words, which are texts, got {other!r}")
    return tuple(map(str, texts)) if set(map(type, texts)) - {str} else texts


def _check_finite(vectors: NDArray[np.float32], words: Sequence[str], name: str) -> None:
    with np.errstate(invalid="ignore"):
        fine = np.isfinite(vectors.sum(dtype=np.float64))
    if not fine:
        word = words[int(np.argmin(np.isfinite(vectors).all(1)))]
        raise WordbiasError(
            f"{name}: the vector of {word!r} has a value that is not finite, or is too large for "
            "float32; leave the word out"
        )


def _matrix(vectors: ArrayLike, n: int, name: str) -> NDArray[np.float32]:
    """View vectors as read-only float32, shape ``(n, d)``."""
    try:
        if np.iscomplexobj(vectors):
            raise TypeError("these are complex")
        with np.errstate(over="ignore"):
            x = np.ascontiguousarray(numbers(vectors, name), np.float32).view()
    except WordbiasError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise WordbiasError(
            f"{name}: expected vectors of numbers, all of one length: {error}"
        ) from None
    x.flags.writeable = False
    if x.ndim != 2 or len(x) != n:
        raise WordbiasError(
            f"{name}: expected vectors of shape ({n}, d) for {n} words, got {x.shape}"
        )
    if n and not x.shape[1]:
        raise WordbiasError(f"{name}: expected vectors of one value or more, got none: {x.shape}")
    return x
