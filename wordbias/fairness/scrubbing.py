"""Scrubbing: texts without the words that say somebody's gender (De-Arteaga et al. 2019).

A classifier that is trained on scrubbed biographies cannot read the gender off pronouns; what it
still finds, such as the women's college in a biography, is what the probes of Orgad et al. (2022)
measure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import cache

from wordbias.wordlists import Attribute

MASK = "_"
PUBLISHED = frozenset(
    ("he", "she", "her", "his", "him", "hers", "himself", "herself", "mr", "mrs", "ms")
)
"""What the released code of De-Arteaga et al. removes; "husband" and "women" stay."""
_TITLES = ("mr", "mrs", "ms", "miss", "mx")
_WORD = re.compile(r"[^\W\d_]+")


@cache
def gendered_words(as_published: bool = False) -> frozenset[str]:
    """Return the words to scrub, lower-cased.

    By default titles and every gender-specific word of the project's list (husband, daughters,
    chairwoman), but no first names; with `as_published` the eleven words that the released code
    removes. Orgad et al. (2022, Table 9) find *husband* and *women* among the
    strongest features that these leave.
    """
    if as_published:
        return PUBLISHED
    return frozenset(map(str.lower, (*Attribute.load().specific, *_TITLES, *PUBLISHED)))


def scrub(
    text: str, words: Collection[str], *, names: Iterable[str] = (), mask: str = MASK
) -> tuple[str, int]:
    """Replace words, and the names of a person, by a mask.

    Parameters
    ----------
    text
        Any text.
    words
        Lower-cased, a set for speed; a word of the text matches in any case, and only as a whole:
        *he* is not taken out of *the*, but is out of *he's*.
    names
        Names of the person the text is about, replaced in the same way.

    Returns
    -------
    text, count
        The scrubbed text, and how many words were replaced.
    """
    own = {name.lower() for name in names}
    known = {*words, *own} if own else words
    scrubbed, counted = _replacing(known, mask)
    return _WORD.sub(scrubbed, text), counted()


def _replacing(
    words: Collection[str], mask: str
) -> tuple[Callable[[re.Match[str]], str], Callable[[], int]]:
    found = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal found
        word = match.group()
        if word.lower() not in words:
            return word
        found += 1
        return mask

    return replaced, lambda: found
