"""Words to rewrite in texts: pairs to swap, and words that reveal a person's gender or group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from wordbias.errors import WordbiasError
from wordbias.wordlists.groups import Attribute
from wordbias.wordlists.toml import as_pairs, as_words, packaged, read_toml

_NOT_OF_PEOPLE = ("body_and_medicine", "animals")


@dataclass(frozen=True)
class Swaps:
    """Words with their replacements, all lower-cased."""

    # replacement of each word; the pronouns *her*, *his*, *him* and *hers* are not among them,
    # because their replacement depends on the sentence
    words: Mapping[str, str] = field(repr=False)
    one_way: frozenset[str]  # words whose replacement is not replaced by them
    small_only: frozenset[str]  # words that are not replaced where they begin with a capital letter


@cache
def swaps() -> Swaps:
    """Return the pairs of the built-in gender attribute and of ``swaps.toml``."""
    tables, gender = read_toml(packaged("swaps.toml")), Attribute.load()
    pairs = (*gender.pairs, *gender.equalise, *as_pairs(tables["pairs"], "swaps.toml: pairs"))
    words = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
    one_way = dict(as_pairs(tables["one_way"], "swaps.toml: one_way"))
    small = as_words(tables["names_when_capitalised"], "swaps.toml: names_when_capitalised")
    for word in ("her", "his", *ambiguous_words()):
        words.pop(word, None)
    both = frozenset(small) | {words[word] for word in small if word in words}
    return Swaps({**one_way, **words}, frozenset(one_way) - frozenset(words), both)


def swaps_of(attribute: Attribute) -> Swaps:
    """Return the pairs of another attribute; a word of several pairs is swapped as in the first."""
    words: dict[str, str] = {}
    for a, b in (*attribute.pairs, *attribute.equalise):
        words.setdefault(a.lower(), b.lower())
        words.setdefault(b.lower(), a.lower())
    if not words:
        raise WordbiasError(
            f"the attribute {attribute.name} has no pairs of words to swap; give its file "
            "[pairs], with a word of each group"
        )
    there_and_back = {word for word, other in words.items() if words[other] == word}
    return Swaps(words, frozenset(words) - there_and_back, frozenset())


def identifying_words(attribute: Attribute) -> frozenset[str]:
    """Return every word that identifies the group of a person, lower-cased."""
    members = (word for words in attribute.members for word in words)
    return frozenset(word.lower() for word in (*members, *attribute.specific))


@cache
def ambiguous_words() -> frozenset[str]:
    """Return gendered words that are not rewritten, because another meaning is commoner."""
    return frozenset(as_words(read_toml(packaged("swaps.toml"))["left_alone"], "left_alone"))


@cache
def pronoun_rule() -> Mapping[str, frozenset[str]]:
    """Return the words in the rule for *her* and *his*, by their part in it."""
    lists = read_toml(packaged("swaps.toml"))["pronouns"]
    return {key: frozenset(words.split()) for key, words in lists.items()}


@cache
def words_of_people() -> frozenset[str]:
    """Return the gender-specific words that reveal the gender of a person, lower-cased."""
    # Words of bodies, medicine and animals are not among them: in the biography of a surgeon
    # "prostate" and "breast" tell what is operated on, not who operates.
    lists = read_toml(packaged("gender_specific.toml"))
    word_lists = (as_words(v, k) for k, v in lists.items() if k not in _NOT_OF_PEOPLE)
    return frozenset(word.lower() for words in word_lists for word in words) - ambiguous_words()
