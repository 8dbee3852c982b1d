"""Tokenised texts, side by side in a few arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int]
"""Characters of a text, from the first up to but without the second."""
Int = NDArray[np.int64]


class Lost(NamedTuple):
    """A span without tokens: its place among the texts, and why."""

    place: int
    reason: str


@dataclass(frozen=True, eq=False)
class Tokens:
    """Tokenised texts.

    Attributes
    ----------
    ids, special, types
        Of all tokens, text after text, shape ``(N,)``: numbers in the vocabulary, whether it was
        added by the tokenizer, segment.
    starts
        Where each text begins among them, and the end, shape ``(n + 1,)``.
    cut
        Which texts were cut, shape ``(n,)``.
    ranges
        First and behind the last token of each text's span, shape ``(n, 2)``; without spans the
        whole text.
    lost
        Spans that no token is left of.
    """

    ids: NDArray[np.int32]
    special: NDArray[np.bool_]
    types: NDArray[np.int8]
    starts: Int
    cut: NDArray[np.bool_]
    ranges: Int
    lost: list[Lost] = field(default_factory=list)

    @property
    def lengths(self) -> Int:
        """Tokens of each text, shape ``(n,)``."""
        return np.diff(self.starts)

    @classmethod
    def joined(cls, parts: Sequence[Tokens]) -> Tokens:
        """Put tokenised texts one after the other."""
        lengths = np.concatenate([part.lengths for part in parts])
        places = np.cumsum([0, *(len(part.cut) for part in parts)])
        return cls(
            np.concatenate([part.ids for part in parts]),
            np.concatenate([part.special for part in parts]),
            np.concatenate([part.types for part in parts]),
            np.cumsum([0, *lengths]),
            np.concatenate([part.cut for part in parts]),
            np.concatenate([part.ranges for part in parts]),
            [
                Lost(int(start) + lost.place, lost.reason)
                for start, part in zip(places, parts, strict=False)
                for lost in part.lost
            ],
        )
