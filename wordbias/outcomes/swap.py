"""Counterfactual texts: the same sentence about a person of the other group (Zhao et al. 2018).

Swapping twice gives a text back if every word has one counterpart and the rule for *her* and *his*
decides alike for both texts. It does not for words without a way back (*Mrs* becomes *Mr*, which
becomes *Ms*), which `Swaps.one_way` names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from wordbias.outcomes.records import Record
from wordbias.outcomes.rewrite import Change
from wordbias.outcomes.scrub import DEGREES
from wordbias.wordlists import Attribute, names
from wordbias.wordlists.rewriting import pronoun_rule, swaps, swaps_of

# ma'am, s/he and (s)he are one word each; the last two are of no gender
_WORD = re.compile(
    r"ma['’]am(?![^\W\d_])|(?<![^\W\d_])(?<!['’])(?:s/|\(s\))he(?![^\W\d_])|[^\W\d_]+",
    re.IGNORECASE,
)
_SIMPLE = {"him": "her", "hers": "his"}
_BY_RULE = frozenset(("her", "his"))
CERTAIN = 0.9
"""A name is swapped if at least this share of its bearers is of one sex."""


@dataclass(frozen=True)
class Swapper:
    """Method that swaps gendered words."""

    # counterparts by lower-cased word; those of *her* and *his* are decided by a rule
    words: Mapping[str, str] = field(repr=False)
    # words that are not swapped if they begin with a capital
    small_only: frozenset[str] = field(repr=False)
    # counterparts by first name, as it is written
    names: Mapping[str, str] = field(default_factory=dict, repr=False)
    pronouns: bool = True  # True if *her* and *his* are swapped

    @classmethod
    def built_in(cls, *, with_names: bool = False) -> Swapper:
        """Return a swapper of the built-in pairs, on request with first names."""
        known = swaps()
        others = name_pairs() if with_names else {}
        return cls({**known.words, **_SIMPLE}, known.small_only, others)

    @classmethod
    def of(cls, attribute: Attribute) -> Swapper:
        """Return a swapper of another attribute than gender: *young* becomes *old*."""
        known = swaps_of(attribute)
        return cls(known.words, known.small_only, pronouns=False)

    def __call__(self, text: str, cells: Record | None = None) -> Change:
        """Return the counterfactual text, and ``word → other`` for each word that was swapped."""
        done: list[str] = []

        def swapped(match: re.Match[str]) -> str:
            word = match.group()
            other = self._swapped_word(word, match)
            if other is None:
                return word
            done.append(f"{word.lower()} → {other.lower()}")
            return other

        return _WORD.sub(swapped, text), done

    def _swapped_word(self, word: str, match: re.Match[str]) -> str | None:
        lower = word.lower().replace("’", "'")
        if self.pronouns and lower in _BY_RULE:
            no_noun = has_no_noun(match.string, *match.span())
            return in_case_of(word, _third_person(lower, no_noun))
        other = self.words.get(lower)
        if other is None:
            return self.names.get(word)
        if word in DEGREES or (lower in self.small_only and word[0].isupper()):
            return None
        return in_case_of(word, other)


def _third_person(word: str, no_noun: bool) -> str:
    if word == "her":
        return "him" if no_noun else "his"
    return "hers" if no_noun else "her"


def in_case_of(word: str, other: str) -> str:
    """Return `other` in the case of `word`: SHE, She or she."""
    if word.isupper():
        return other.upper()
    return other.capitalize() if word[0].isupper() else other


@cache
def name_pairs() -> Mapping[str, str]:
    """Return first names in pairs of about equal frequency, each the other's counterpart."""
    # The most frequent female name is paired with the most frequent male one, the second with the
    # second, and so on; names with less than a share of `CERTAIN` of bearers of one sex, and those
    # left over, are in no pair.
    female = [name for name, share in names().items() if share >= CERTAIN]
    male = [name for name, share in names().items() if share <= 1 - CERTAIN]
    pairs = list(zip(female, male, strict=False))
    return {a: b for pair in pairs for a, b in (pair, pair[::-1])}


# her and his


_NEXT = re.compile(r"(\s*)([\"“‘'«*_]*)([^\W_]+(?:['’][^\W\d_]+)?)(-(?=\w))?")
_BEFORE = re.compile(r"([^\W\d_]+)[\s\"“‘'*_]*$")
_JOINED = re.compile(r"\s*/|-")  # her/his patients, her / his patients
_FAR = 40


def has_no_noun(text: str, start: int, end: int) -> bool:
    """Return whether the pronoun at ``text[start:end]``, *her* or *his*, begins no noun phrase."""
    # English has one word for two of the other gender: her is possessive (her book, his) or an
    # object (saw her, him); his is possessive (his book, her) or has no noun (is his, hers). The
    # rule looks at the two words after it, at what is between them, and at the word before. It
    # knows only a few hundred words, those of wordlists/swaps.toml, and needs no tagger and no
    # model; the ambiguous "gave her flowers" becomes "gave his flowers".
    rule, first = pronoun_rule(), _NEXT.match(text, end)
    if first is None or not (first[1] or first[2]):
        return not _JOINED.match(text, end)
    if first[4]:  # her in-depth knowledge
        return False
    word, before = first[3].lower(), _before(text, start)
    if word in rule["conjunctions"]:
        return not _coordinated(text, first.end())
    if word in rule["places"]:
        return before in rule["moving"]
    if word in rule["either"]:
        return _ends_phrase(text, first.end())
    return (
        word in rule["never_possessed"]
        or (before in rule["giving"] and _is_given(text, first))
        or (before in rule["making"] and _does_or_is(text, first))
        or (before in rule["beside"] and word.endswith("ing") and word not in rule["nouns_in_ing"])
        or (_is_adverb(word) and _ends_phrase(text, first.end()))
    )


def _before(text: str, start: int) -> str:
    match = _BEFORE.search(text, max(0, start - _FAR), start)
    return match[1].lower() if match else ""


def _behind(text: str, end: int) -> str:
    """Return the next word if only spaces come before it."""
    match = _NEXT.match(text, end)
    return match[3].lower() if match and match[1] else ""


def _coordinated(text: str, end: int) -> bool:
    """Return whether another possessive follows: his or her patients."""
    second = _NEXT.match(text, end)
    if second is None or second[3].lower() not in pronoun_rule()["possessives"]:
        return False
    return not has_no_noun(text, second.start(3), second.end(3))


def _is_given(text: str, first: re.Match[str]) -> bool:
    given = pronoun_rule()["given"]
    return first[3].lower() in given or _behind(text, first.end()) in given


def _does_or_is(text: str, first: re.Match[str]) -> bool:
    """Return whether it is what she does or is: let her speak, but let her work speak."""
    rule, word = pronoun_rule(), first[3].lower()
    if word in rule["doing"]:
        return _behind(text, first.end()) not in rule["doing"]
    return word in rule["states"] and _ends_phrase(text, first.end())


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and word not in pronoun_rule()["nouns_in_ly"]


def _ends_phrase(text: str, end: int) -> bool:
    """Return whether what follows cannot continue a noun phrase."""
    word, rule = _behind(text, end), pronoun_rule()
    return not word or word in rule["never_possessed"] or word in rule["conjunctions"]
