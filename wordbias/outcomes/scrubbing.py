"""Scrubbing: texts without the words that say somebody's gender (De-Arteaga et al. 2019).

A classifier that is trained on scrubbed biographies cannot read the gender off pronouns; what it
still finds, such as the women's college in a biography, is what the probes of Orgad et al. (2022)
measure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from wordbias.outcomes.records import Record
from wordbias.outcomes.rewriting import Change
from wordbias.wordlists import names
from wordbias.wordlists.rewriting import swaps, words_of_people

MASK = "_"
PUBLISHED = frozenset(
    ("he", "she", "her", "his", "him", "hers", "himself", "herself", "mr", "mrs", "ms")
)
"""What the released code of De-Arteaga et al. removes; "husband" and "women" stay."""
_TITLES = frozenset(("mr", "mrs", "ms"))
_OTHER_TITLES = frozenset(("miss", "mx"))
DEGREES = frozenset(("MS", "MA", "PA"))
"""In capitals no forms of address but degrees, professions and places."""
_WORD = re.compile(r"([^\W\d_]+)")
_PUBLISHED_WORD = re.compile(r"(\w+)")


@cache
def gendered_words(as_published: bool = False) -> frozenset[str]:
    """Return the words to scrub, lower-cased.

    By default titles and every gender-specific word of the project's list about people (husband,
    daughters, chairwoman), but no first names and no words of medicine; with `as_published` the
    eleven words that the released code removes. Orgad et al. (2022, Table 9) find *husband* and
    *women* among the strongest features that these leave.
    """
    if as_published:
        return PUBLISHED
    return words_of_people() | _OTHER_TITLES | PUBLISHED


@dataclass(frozen=True)
class Scrubber:
    """Replaces words that say somebody's gender, and the person's names, by a mask.

    Attributes
    ----------
    words
        Lower-cased. A word of the text matches in any case, but only as a whole: *he* is not taken
        out of *the*, but is out of *he's*.
    small_only
        Those of the words that stay where they begin with a capital: Duke University.
    columns
        Columns with the names of the person that a text is about.
    first_names
        Names of anybody, matched as they are written.
    mask
        What stands there instead.
    kept
        Words that stay if they are written just so: MS, MA and PA are degrees and places.
    as_published
        As the released code does: pronouns in small letters or with a capital (HE stays), titles
        in any case (so that an MS in Nursing goes), names as they are written, initials too; a
        word ends where no letter, digit or underscore follows. A name of several words goes word
        by word.
    """

    words: frozenset[str] = field(default_factory=gendered_words, repr=False)
    small_only: frozenset[str] = field(default_factory=lambda: swaps().small_only, repr=False)
    columns: tuple[str, ...] = ()
    first_names: frozenset[str] = field(default=frozenset(), repr=False)
    mask: str = MASK
    kept: frozenset[str] = field(default=DEGREES, repr=False)
    as_published: bool = False

    def __call__(self, text: str, cells: Record | Mapping[str, str] | None = None) -> Change:
        """Return the scrubbed text, and the words that were replaced, lower-cased."""
        names = self.first_names
        if self.columns and cells is not None:
            names |= self._own_names(cells[column] for column in self.columns)
        pattern = _PUBLISHED_WORD if self.as_published else _WORD
        parts, words, found = pattern.split(text), self.words, []
        for i in range(1, len(parts), 2):  # every second part is a word
            word = parts[i]
            lower = word.lower()
            if (lower in words and not self._stays(word, lower)) or word in names:
                parts[i] = self.mask
                found.append(lower)
        return "".join(parts) if found else text, found

    def _stays(self, word: str, lower: str) -> bool:
        """Return whether one of the words stays because of how it is written."""
        if self.as_published:
            return lower not in _TITLES and not word[1:].islower()
        return word in self.kept or (lower in self.small_only and word[0].isupper())

    def _own_names(self, cells: Iterable[str]) -> frozenset[str]:
        """Return the parts of names, as they are written and in capitals; initials are left out.

        An initial is a word of many meanings (A, I) and says no gender.
        """
        pattern = _PUBLISHED_WORD if self.as_published else _WORD
        parts = [part for cell in cells for part in pattern.findall(cell)]
        if self.as_published:
            return frozenset(parts)
        longer = [part for part in parts if len(part) > 1]
        return frozenset((*longer, *(part.upper() for part in longer)))


def scrub(text: str, words: Collection[str] | None = None, *, mask: str = MASK) -> tuple[str, int]:
    """Return a text without gendered words, or without `words`, and how many were replaced."""
    scrubber = Scrubber(gendered_words() if words is None else frozenset(words), mask=mask)
    scrubbed, found = scrubber(text)
    return scrubbed, len(found)


def register() -> frozenset[str]:
    """Return the first names of US births in 2020 that the project knows, as they are written."""
    return frozenset(names())
