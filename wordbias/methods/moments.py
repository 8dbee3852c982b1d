"""What fits take from an embedding: vectors of pairs, moments of all words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import ROWS
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.finite import finite_vectors, refuse_infinite
from wordbias.threads import blas_threads, ordered_map
from wordbias.wordlists import Attribute, resolve_pairs

Float = NDArray[np.float64]
Float32 = NDArray[np.float32]


class Pairs(NamedTuple):
    """Vectors of pairs' first and second words, both ``(n, d)``, in the order of `words`."""

    words: tuple[tuple[str, str], ...]
    first: Float32
    second: Float32


class Moments(NamedTuple):
    """Mean ``(d,)`` and covariance ``(d, d)`` of a whole vocabulary, each word counted once."""

    mean: Float
    covariance: Float


def pair_vectors(
    embedding: Embedding, attribute: Attribute, pairs: Iterable[tuple[str, str]], what: str
) -> Pairs:
    """Return the vectors of those pairs of which the embedding has both words.

    Parameters
    ----------
    embedding, attribute
        Where the vectors are from, and for messages, whose pairs these are.
    pairs
        As the attribute lists them.
    what
        What needs them, for messages.

    Raises
    ------
    WordbiasError
        If there is no pair, none is found, a vector is not finite, or no pair differs.
    """
    pairs = tuple(pairs)
    if not pairs:
        raise WordbiasError(
            f"{what} needs pairs of words that differ in {attribute.name} alone, and the attribute "
            'has none; give its file [pairs] definitional = [["a", "b"]]'
        )
    found = resolve_pairs(pairs, embedding, f"{embedding.name}: pairs for {what}").at_least(1).found
    first, second = (finite_vectors(embedding, words) for words in zip(*found, strict=True))
    if (first == second).all():
        raise WordbiasError(
            f"{embedding.name}: the words of all {len(found)} pairs for {what} have equal vectors; "
            "give vectors that were not debiased so already"
        )
    return Pairs(found, first, second)


def moments(embedding: Embedding) -> Moments:
    """Compute mean and covariance block by block, without a copy of the matrix.

    Every block is centred on its own mean; the covariance of the whole is the mean of the blocks'
    covariances plus the covariance of their means, so that nothing cancels however far from zero
    the vectors lie.

    Raises
    ------
    WordbiasError
        If a vector is not finite; the message names the word.
    """
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
    apart = np.array(means) - mean
    return Moments(mean, scatter / len(x) + (share[:, None] * apart).T @ apart)
