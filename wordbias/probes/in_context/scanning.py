r"""Which of many words stand in a text, and where.

A word stands where no letter, digit or underscore (``\w``) is before or behind it, nor an accent
that is a character by itself: `he` is not in `teacher`, but is in `he's`. A word written with a
capital (`Bill`, `NASA`) is found only so; one without (`bill`) in any case, so that it is found at
the beginning of a sentence. Looking a text's words up in a table of all words costs the same for
three words as for three hundred.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wordbias.errors import WordbiasError
from wordbias.probes.spans import first_alone, pattern_of

_WORDS = re.compile(r"\w+").findall


class Occurrence(NamedTuple):
    """The first occurrence of `word` in a text: characters from `start` up to but without `end`."""

    word: str
    start: int
    end: int


def can_be_found(word: str) -> bool:
    """Say whether a word has a letter or a digit."""
    return bool(_WORDS(word.lower()))


class Scanner:
    """Finds words in texts.

    Parameters
    ----------
    words
        Any of them may be several words (`New York`) or hold other characters (`short-term`).

    Raises
    ------
    WordbiasError
        If one has neither a letter nor a digit.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._patterns: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
        for word in dict.fromkeys(words):
            if not can_be_found(word):
                raise WordbiasError(f"the word {word!r} has neither a letter nor a digit")
            pattern = pattern_of(word, re.IGNORECASE if word == word.lower() else re.NOFLAG)
            self._patterns.setdefault(_WORDS(word.lower())[0], []).append((word, pattern))
        self._first = frozenset(self._patterns)

    def __call__(self, text: str) -> Iterator[Occurrence]:
        """Yield the first occurrence of every word that is in the text."""
        for first in self._first.intersection(_WORDS(text.lower())):
            for word, pattern in self._patterns[first]:
                if found := first_alone(pattern, text):
                    yield Occurrence(word, *found)
