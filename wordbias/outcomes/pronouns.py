"""Which *her* is a *him* and which a *his*: a small part-of-speech rule.

English has one word where it has two for men: *her* is possessive (*her book*, his) or an object
(*saw her*, him). The other way *his* is possessive (*his book*, her) or stands alone (*is his*,
hers). Both questions are one: does the pronoun begin a noun phrase? The rule looks at the two words
behind it, at what stands between, and at the word before. It knows only a few hundred words, those
of ``wordlists/swaps.toml``; it needs no tagger and no model, and the sentence *gave her flowers*,
which has two readings, it reads as *gave his flowers*.
"""

from __future__ import annotations

import re

from wordbias.wordlists.rewriting import pronoun_rule

_NEXT = re.compile(r"(\s*)([\"“‘'«*_]*)([^\W_]+(?:['’][^\W\d_]+)?)(-(?=\w))?")
_BEFORE = re.compile(r"([^\W\d_]+)[\s\"“‘'*_]*$")
_FAR = 40


def stands_alone(text: str, start: int, end: int) -> bool:
    """Return whether the pronoun at ``text[start:end]`` begins no noun phrase.

    Parameters
    ----------
    text
        The whole text, in any case.
    start, end
        Of *her* or *his* in it, in characters.

    Returns
    -------
    bool
        True: *her* is an object, as *him* is, and *his* is what *hers* is; False: it is
        possessive.
    """
    rule, first = pronoun_rule(), _NEXT.match(text, end)
    if first is None or not (first[1] or first[2]):
        return not text.startswith(("/", "-"), end)  # her/his patients
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
    found = _BEFORE.search(text, max(0, start - _FAR), start)
    return found[1].lower() if found else ""


def _behind(text: str, end: int) -> str:
    """Return the next word if nothing but space stands before it."""
    found = _NEXT.match(text, end)
    return found[3].lower() if found and found[1] else ""


def _coordinated(text: str, end: int) -> bool:
    """Return whether another possessive follows: his or her patients."""
    second = _NEXT.match(text, end)
    if second is None or second[3].lower() not in pronoun_rule()["possessives"]:
        return False
    return not stands_alone(text, second.start(3), second.end(3))


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
    """Return whether what follows cannot go on with a noun phrase."""
    word, rule = _behind(text, end), pronoun_rule()
    return not word or word in rule["never_possessed"] or word in rule["conjunctions"]
