"""Bags of words: how often each word is in each text, as a sparse matrix."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_WORD = re.compile(r"[^\W\d_]+")
MIN_TEXTS = 5
"""A word of fewer texts says nothing that could be seen again in others."""


@dataclass(frozen=True)
class Bags:
    """Counts of words.

    Attributes
    ----------
    counts
        Shape ``(texts, words)``, a scipy CSR array of float64.
    words
        Lower-cased, sorted. Taking a word out of the texts is leaving out its column.
    """

    counts: Any = field(repr=False)
    words: tuple[str, ...] = field(repr=False)

    def without(self, words: Iterable[str]) -> Bags:
        """Leave words out."""
        gone = frozenset(words)
        kept = [i for i, word in enumerate(self.words) if word not in gone]
        return Bags(self.counts[:, kept], tuple(self.words[i] for i in kept))

    def of(self, rows: Any) -> Bags:
        """Return the bags of some texts."""
        return Bags(self.counts[rows], self.words)


class BagCounter:
    """Counts the words of texts one by one; none of the texts is kept.

    A word consists of letters and is lower-cased.
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._columns, self._starts = array("i"), array("q", [0])

    def add(self, text: str) -> None:
        """Count the words of one more text."""
        places = self._places
        for word in _WORD.findall(text):
            self._columns.append(places.setdefault(word.lower(), len(places)))
        self._starts.append(len(self._columns))

    def bags(self, min_texts: int = MIN_TEXTS) -> Bags:
        """Return the bags of all texts, without the words of fewer than `min_texts`."""
        from scipy.sparse import csr_array

        shape = (len(self._starts) - 1, len(self._places))
        cells = np.ones(len(self._columns)), np.array(self._columns), np.array(self._starts)
        counts = csr_array(cells, shape=shape)
        counts.sum_duplicates()
        words = np.array(list(self._places), dtype=object)
        order = np.flatnonzero(np.bincount(counts.indices, minlength=shape[1]) >= min_texts)
        order = order[np.argsort(words[order])]
        return Bags(counts[:, order], tuple(words[order].tolist()))


def bags_of_words(texts: Iterable[str], min_texts: int = MIN_TEXTS) -> Bags:
    """Count the words of texts, but for words of fewer than `min_texts`."""
    counter = BagCounter()
    for text in texts:
        counter.add(text)
    return counter.bags(min_texts)
