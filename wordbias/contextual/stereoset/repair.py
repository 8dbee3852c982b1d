"""Repairing what went wrong where genders were swapped: "into him kitchen", "from hers pocket".

The published swaps replace word by word, so that *her* before a noun became *him* and *his* became
*hers*; capitals and signs were lost on the way (TV to Tv, $3 to 3). A model finds such a sentence
unlikely whatever it thinks of gender, so that s measures grammar in part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from wordbias.contextual.stereoset.gsss import LABELS, Gsss, Item, Sentences, Triple
from wordbias.contextual.stereoset.pronouns import to_her, to_his
from wordbias.contextual.stereoset.spelling import spelled_as

RULES = ("him → his", "hers → her", "signs and capitals")
_REPAIRS: dict[str, Callable[[Sequence[str], Sequence[str]], list[str]]] = {
    RULES[0]: to_his,
    RULES[1]: to_her,
    RULES[2]: spelled_as,
}


class Change(NamedTuple):
    """What a rule did to one sentence: triple, label, part, rule, before and after."""

    id: str
    label: str
    part: str
    rule: str
    before: str
    after: str


@dataclass(frozen=True)
class Repaired:
    """Triples with repaired swaps; what was repaired, one entry a sentence and rule."""

    gsss: Gsss
    changes: Sequence[Change]

    def counts(self) -> dict[str, int]:
        """Return how many sentences each rule changed; a context counts once for its triple."""
        once = {(c.id, c.part, c.rule, c.before) for c in self.changes}
        found = Counter(rule for _, _, rule, _ in once)
        return {rule: found[rule] for rule in RULES}

    def ids(self) -> list[str]:
        """Return the ids of the triples that were changed, in their order."""
        return list(dict.fromkeys(change.id for change in self.changes))


def repair(gsss: Gsss, rules: Sequence[str] = RULES) -> Repaired:
    """Repair the swapped sentences; the original ones stay as they are.

    Parameters
    ----------
    rules
        Some of `RULES`.
    """
    changes: list[Change] = []
    triples = [_triple(triple, rules, changes) for triple in gsss.triples]
    return Repaired(replace(gsss, triples=triples), changes)


def repair_sentence(original: str, swapped: str, rules: Sequence[str] = RULES) -> dict[str, str]:
    """Return what each rule that changes a swapped sentence makes of it, one after the other.

    Examples
    --------
    >>> repair_sentence("She fed her dog for her.", "He fed him dog for him.")
    {'him → his': 'He fed his dog for him.'}
    >>> repair_sentence("He hid his TV.", "She hid hers Tv.")
    {'hers → her': 'She hid her Tv.', 'signs and capitals': 'She hid her TV.'}
    """
    done: dict[str, str] = {}
    text = swapped
    for rule in rules:
        found = _REPAIRS[rule](original.split(), text.split())
        if found != text.split():
            done[rule] = text = " ".join(found)
    return done


def _triple(triple: Triple, rules: Sequence[str], changes: list[Change]) -> Triple:
    first, second, third = (
        _item(triple.id, label, item, rules, changes)
        for label, item in zip(LABELS, triple.items, strict=True)
    )
    return replace(triple, items=(first, second, third))


def _item(name: str, label: str, item: Item, rules: Sequence[str], changes: list[Change]) -> Item:
    texts = []
    for part, original, text in zip(Sentences._fields, *item, strict=True):
        for rule, after in repair_sentence(original, text, rules).items():
            changes.append(Change(name, label, part, rule, text, after))
            text = after
        texts.append(text)
    return item._replace(swapped=Sentences(*texts))
