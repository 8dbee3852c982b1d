"""Pronouns that a swap word by word gets wrong: *him* for *his*, *hers* for *her*.

English has one word *her* where it has *him* and *his*, and one *his* where it has *her* and
*hers*: what follows tells which was meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wordbias.contextual.stereoset.alignment import aligned, core, parts

# articles, pronouns, quantifiers; prepositions and particles; conjunctions and question words;
# auxiliaries; adverbs
_FUNCTION_WORDS = """
a an the this that these those it them me you us him some any all more most less no none both each
every one another about above across after against along among around as at away back before behind
below beside between beyond by down during except for forward from home in inside into like near of
off on onto out outside over past round since through to together toward towards under until up upon
with within without apart aside ahead and but or nor so than then though although because if unless
while when where whether who whom whose which what why how is was are were be been has had have does
did do will would can could should may might must not never again alone already also always anymore
anyway better constantly enough even ever everywhere hard here instead just later now often once
only please right soon still straight there today tomorrow tonight too twice very well yesterday yet
"""
_HARMLESS = frozenset(_FUNCTION_WORDS.split())
"""What may follow *her* as an object, or *hers*."""
_NOUNS_IN_LY = frozenset(
    ("family", "belly", "bully", "jelly", "lovely", "elderly", "early", "daily")
)
_WITH_OBJECT = re.compile(
    r"(?:watch|see|saw|seen|hear|help|let|make|made|mak|notic|feel|felt|have|had|ha)"
    r"(?:e|s|es|ed|d|ing|ting|n)?"
)
"""Verbs after which *her* may be followed by another verb: "helps her relax"."""
_OWN = """
own mother father mom mum dad mommy daddy parents brother sister son daughter child children kids
baby husband wife friend friends family boss hair eyes face hand hands
"""
_OWNED = frozenset(_OWN.split())
"""What is a noun even after such a verb: "helps her mother"."""


def to_his(original: Sequence[str], swapped: Sequence[str]) -> list[str]:
    """Turn *him* to *his* where the original has *her* before a noun."""
    return _possessive(original, swapped, "her", "him", "his")


def to_her(original: Sequence[str], swapped: Sequence[str]) -> list[str]:
    """Turn *hers* to *her* where the original has *his* before a noun."""
    return _possessive(original, swapped, "his", "hers", "her")


def _possessive(
    original: Sequence[str], swapped: Sequence[str], was: str, wrong: str, right: str
) -> list[str]:
    out = list(swapped)
    for i, k in aligned(original, swapped):
        before, word, after = parts(swapped[k])
        fits = core(original[i]) == was and word.lower() == wrong and not after
        if fits and _owns(swapped, k):
            out[k] = before + (right.capitalize() if word[0].isupper() else right)
    return out


def _owns(words: Sequence[str], k: int) -> bool:
    """Say whether what follows the word at `k` is a thing that somebody has."""
    if k + 1 >= len(words) or parts(words[k + 1])[0]:
        return False
    following = core(words[k + 1])
    if not following or following in _HARMLESS:
        return False
    if following.endswith("ly") and following not in _NOUNS_IN_LY:
        return False
    verb = k > 0 and _WITH_OBJECT.fullmatch(core(words[k - 1]))
    return following in _OWNED or not verb
