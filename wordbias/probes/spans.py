"""Where a word stands in a text: characters from the first up to but without the second."""

from __future__ import annotations

import re
from functools import cache

Span = tuple[int, int]


def find_word(text: str, word: str) -> Span | None:
    """Return the span of the first occurrence of a word, whatever its case; None if there is none.

    What stands before and behind it is no letter, digit or underscore, so that `man` is not found
    in `woman`, but is in `man's`. A word may consist of several, as `New York`.
    """
    pattern = _pattern(" ".join(word.split()))
    found = pattern.search(text) if pattern else None
    return found.span() if found else None


@cache
def _pattern(word: str) -> re.Pattern[str] | None:
    if not word:
        return None
    parts = r"\s+".join(map(re.escape, word.split(" ")))
    return re.compile(rf"(?<!\w){parts}(?!\w)", re.IGNORECASE)
