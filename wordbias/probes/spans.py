"""Where a word stands in a text: characters from the first up to but without the second."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

Span = tuple[int, int]


def find_word(text: str, word: str) -> Span | None:
    """Return the span of the first occurrence of a word, whatever its case; None if there is none.

    What stands before and behind it is no letter, digit, underscore or combining mark, so that
    `man` is not found in `woman`, but is in `man's`. A word may consist of several, as `New York`.
    """
    pattern = _pattern(" ".join(word.split()))
    return first_alone(pattern, text) if pattern else None


@cache
def _pattern(word: str) -> re.Pattern[str] | None:
    return pattern_of(word, re.IGNORECASE) if word else None


def pattern_of(word: str, flags: re.RegexFlag) -> re.Pattern[str]:
    """Compile a word, its parts apart by any white space, with no letter or digit around it."""
    parts = r"\s+".join(map(re.escape, word.split()))
    return re.compile(rf"(?<!\w){parts}(?!\w)", flags)


def first_alone(pattern: re.Pattern[str], text: str) -> Span | None:
    """Return where a pattern first matches without a combining mark before or behind it.

    Such a mark (an accent by itself, a vowel sign of Devanagari) belongs to the word it stands in:
    `cafe` is not in `cafe` + U+0301.
    """
    found = pattern.search(text)
    while found is not None:
        start, end = found.span()
        if not (_is_mark(text[start - 1 : start]) or _is_mark(text[end : end + 1])):
            return start, end
        found = pattern.search(text, start + 1)
    return None


def _is_mark(character: str) -> bool:
    """Say whether a character is a combining mark.

    A variation selector is none: it chooses how a symbol is drawn, behind which a word may stand.
    """
    if not character or character.isascii() or unicodedata.category(character)[0] != "M":
        return False
    return not unicodedata.name(character, "").startswith("VARIATION SELECTOR")
