"""Words and vectors that methods are fitted to: attributes, spellings, pairs, moments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import ROWS, blocks
from wordbias.devices import blas_threads, ordered_map
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.wordlists import Attribute, WordGroups, load_attribute, resolve_pairs
from wordbias.wordlists.groups import more_than_two

# attributes


def as_attribute(attribute: Attribute | WordGroups | str | Path | None) -> Attribute:
    """Return an attribute of two groups, by name or from a file; by default gender."""
    groups = as_groups(attribute)
    if isinstance(groups, WordGroups):
        raise more_than_two(groups)
    return groups


def as_groups(attribute: Attribute | WordGroups | str | Path | None) -> Attribute | WordGroups:
    """Return an attribute of any number of groups, by name or from a file; by default gender."""
    if not isinstance(attribute, (Attribute, WordGroups, str, Path, type(None))):
        raise WordbiasError(
            f"expected an Attribute or a TOML file with one, got {type(attribute).__name__}"
        )
    return load_attribute(attribute)


def listed_words(attribute: Attribute | WordGroups) -> set[str]:
    """Return every spelling of every word of an attribute."""
    pairs: list[tuple[str, ...]]
    if isinstance(attribute, Attribute):
        pairs = [*attribute.pairs, *attribute.equalise, attribute.direction or ()]
    else:
        pairs = [*attribute.definitional, *attribute.equalise, *attribute.wider]
    groups = [*attribute.members, *pairs, attribute.specific]
    return spellings(word for group in groups for word in group)


def spellings(words: Iterable[str]) -> set[str]:
    """Return words as written and in lower case, Capitalised, Title-Case and UPPER CASE."""
    forms = (str, str.lower, str.capitalize, str.title, str.upper)
    return {form(word) for word in words for form in forms}


# vectors


Float = NDArray[np.float64]
Float32 = NDArray[np.float32]


class Pairs(NamedTuple):
    """Vectors of pairs' first and second words, both ``(n, d)``, in the order of `words`."""

    words: tuple[tuple[str, str], ...]
    first: Float32
    second: Float32


class Moments(NamedTuple):
    """Mean ``(d,)`` and covariance ``(d, d)`` of the vectors of a whole vocabulary."""

    mean: Float
    covariance: Float


def pair_vectors(
    embedding: Embedding, attribute: Attribute, pairs: Iterable[tuple[str, str]], what: str
) -> Pairs:
    """Return the vectors of the pairs with both words in the embedding."""
    pairs = tuple(pairs)
    if not pairs:
        raise WordbiasError(
            f"{what} needs pairs of words that differ in {attribute.name} alone, and the attribute "
            'has none; give its file [pairs] definitional = [["a", "b"]]'
        )
    known = resolve_pairs(pairs, embedding, f"{embedding.name}: pairs for {what}").at_least(1).found
    first, second = (finite_vectors(embedding, words) for words in zip(*known, strict=True))
    if (first == second).all():
        raise WordbiasError(
            f"{embedding.name}: the words of all {len(known)} pairs for {what} have equal vectors; "
            "give vectors that were not debiased so already"
        )
    return Pairs(known, first, second)


def moments(embedding: Embedding) -> Moments:
    """Compute mean and covariance block by block, without a copy of the matrix."""
    # Every block is centred on its own mean. The covariance of the whole is the mean of the blocks'
    # covariances plus the covariance of their means. Nothing cancels then, however far from zero
    # the vectors lie.
    x = embedding.vectors

    def work(start: int) -> tuple[int, Float, Float]:
        part = x[start : start + ROWS]
        refuse_infinite(embedding, embedding.words[start : start + ROWS], part)
        block = part.astype(float)
        mean = block.mean(0)
        block -= mean
        return len(block), mean, block.T @ block

    sizes, means = [], []
    scatter = np.zeros((embedding.dim, embedding.dim))
    with blas_threads(1):
        for size, mean, own in ordered_map(work, range(0, len(x), ROWS)):
            sizes.append(size)
            means.append(mean)
            scatter += own
    share = np.array(sizes) / len(x)
    mean = share @ np.array(means)
    away = np.array(means) - mean
    return Moments(mean, scatter / len(x) + (share[:, None] * away).T @ away)


def check_embedding(embedding: object) -> None:
    """Refuse anything but an `Embedding`."""
    if not isinstance(embedding, Embedding):
        raise WordbiasError(
            f"expected an Embedding, got {type(embedding).__name__}; wb.load(path) reads one"
        )


def finite_vectors(embedding: Embedding, words: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors of words, shape ``(len(words), d)``, or name one that is not finite."""
    x = embedding.take(words)
    refuse_infinite(embedding, words, x)
    return x


def finite_blocks(embedding: Embedding) -> Iterator[NDArray[np.float64]]:
    """Yield consecutive rows, all finite, as float64."""
    for start, x in zip(range(0, len(embedding), ROWS), blocks(embedding.vectors), strict=True):
        refuse_infinite(embedding, embedding.words[start : start + ROWS], x)
        yield x


def refuse_infinite(embedding: Embedding, words: Sequence[str], x: NDArray[Any]) -> None:
    """Refuse the vectors of words, shape ``(len(words), d)``, that are not finite."""
    finite = np.isfinite(x).all(axis=1)
    if not finite.all():
        raise WordbiasError(
            f"{embedding.name}: the vector of {words[int(finite.argmin())]!r} is not finite; "
            "leave the word out"
        )
