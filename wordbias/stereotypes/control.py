"""A swapped control of StereoSet for any two groups, as enhanced StereoSet is one for gender."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wordbias.outcomes.swap import Swapper
from wordbias.stereotypes.gsss import GENDERS, LABELS, Item, Triple, aligned, core, repair_sentence
from wordbias.stereotypes.next_sentence import Sentences
from wordbias.stereotypes.stereoset import StereoSet
from wordbias.wordlists import Attribute
from wordbias.wordlists.rewriting import identifying_words
from wordbias.wordlists.templates import Articles

NOTHING, BOTH, LEFT = "nothing swapped", "both groups", "left"
ARTICLE, AGREEMENT, UNRELATED = "a/an", "agreement", "unrelated sentence changed"
NEITHER = "neither"
"""Group of a triple whose context names none."""
_ARTICLE = re.compile(r"\b(an?)(\s+)([^\W\d_]+)", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_AFTER = {True: ("is", "was", "has", "does"), False: ("are", "were", "have", "do")}
_BEFORE = {True: ("a", "an", "this", "that", "each", "every"), False: ("these", "those", "many")}
"""Words that cannot stand behind or before a word: one in the plural, or in the singular."""
_WITH_A = frozenset(("Ugandan", "Ukrainian", "Uruguayan"))
"""Peoples with *a*, beside the words of the templates."""
_PLURALS = frozenset(("men", "women", "people", "children"))


@dataclass(frozen=True)
class Lists:
    """Words of two groups: how texts are swapped, and what is looked for in them."""

    groups: Sequence[str]
    swap: Callable[[str], str]  # function that swaps a text
    # words of each group that are swapped, lower-cased
    sides: tuple[frozenset[str], frozenset[str]]
    known: frozenset[str]  # every word that says a group, lower-cased

    @classmethod
    def of(cls, attribute: Attribute) -> Lists:
        """Return the lists of groups with pairs of words; of gender, the built-in swaps."""
        gender = attribute == Attribute.load()
        swapper = Swapper.built_in() if gender else Swapper.of(attribute)
        pairs = [*attribute.pairs, *attribute.equalise]
        first, second = (frozenset(pair[side].lower() for pair in pairs) for side in (0, 1))
        groups = ("F", "M") if gender else attribute.groups
        known = frozenset(swapper.words) if gender else identifying_words(attribute)
        return cls(
            groups, lambda text: with_articles(text, swapper(text)[0]), (first, second), known
        )

    def group_of(self, text: str) -> str:
        """Return the group that more words of a text are of."""
        words = [word.lower() for word in _WORD.findall(text)]
        counts = [sum(word in side for word in words) for side in self.sides]
        if counts[0] == counts[1]:
            return NEITHER
        return self.groups[counts[1] > counts[0]]


def propose(data: StereoSet, lists: Lists, kinds: Sequence[str] = ()) -> list[Triple]:
    """Return the triples of two sentences beside the same ones with words swapped."""
    # The unrelated sentence stays as it is: D compares it behind both contexts.
    triples = []
    for cluster in data.intersentence:
        if kinds and cluster.bias_type not in kinds:
            continue
        context = lists.swap(cluster.context)
        first, second, third = (
            Item(
                Sentences(cluster.context, text),
                Sentences(context, text if label == LABELS[2] else lists.swap(text)),
            )
            for label, text in zip(LABELS, cluster.candidates, strict=True)
        )
        triples.append(Triple(cluster.id, lists.group_of(cluster.context), (first, second, third)))
    return triples


def with_articles(original: str, swapped: str) -> str:
    """Correct *a* and *an* before the words of a swapped text that are not in the original."""
    known = set(_WORD.findall(original.lower()))
    articles = Articles.load()
    articles = replace(articles, a=articles.a | _WITH_A)

    def corrected(match: re.Match[str]) -> str:
        article, space, word = match.groups()
        if word.lower() in known:
            return match.group()
        listed = word in articles.a | articles.an  # European, but heir and Heir
        right = articles.before(word if listed else word.lower()).partition(" ")[0]
        if right not in ("a", "an"):  # no article fits the word
            return match.group()
        if article[0].isupper():  # A begins a sentence, unless all is in capitals
            shouted = article.isupper() and word.isupper()
            right = right.upper() if shouted else right.capitalize()
        return f"{right}{space}{word}"

    return _ARTICLE.sub(corrected, swapped)


# Checks


def problems(triple: Triple, lists: Lists) -> Iterator[tuple[str, list[str]]]:
    """Yield each label of a triple with what people should look at in its two sentences."""
    whole = [] if triple.is_swapped else [NOTHING]
    for label, item in zip(LABELS, triple.items, strict=True):
        issues = [*whole]
        for original, swapped in zip(*item, strict=True):
            issues += _of_text(original, swapped, lists)
        if label == LABELS[2] and item.original.following != item.swapped.following:
            issues.append(UNRELATED)
        yield label, list(dict.fromkeys(issues))


def _of_text(original: str, swapped: str, lists: Lists) -> list[str]:
    """Return the problems of a text and its swapped one; none of a text that is unchanged."""
    if original == swapped:
        return []
    words, others = original.split(), swapped.split()
    issues = []
    before = {word.lower() for word in _WORD.findall(original)}
    if all(side & before for side in lists.sides):
        issues.append(BOTH)
    same = (core(words[i]) for i, k in aligned(words, others) if core(words[i]) == core(others[k]))
    left = [word for word in dict.fromkeys(same) if word in lists.known]
    if left and not issues:  # the words of both groups change places
        issues.append(f"{LEFT}: {', '.join(left)}")
    if with_articles(original, swapped) != swapped:
        issues.append(ARTICLE)
    issues += [f"{AGREEMENT}: {two}" for two in _disagreeing(words, others)]
    if tuple(lists.groups) == GENDERS[::-1]:
        issues += repair_sentence(original, swapped)
    return issues


def _disagreeing(original: Sequence[str], swapped: Sequence[str]) -> Iterator[str]:
    """Yield changed words with a neighbour of another number, such as *Christians is*."""
    for i, k in aligned(original, swapped):
        was, now = core(original[i]), core(swapped[k])
        if was == now or _is_plural(was) == _is_plural(now):
            continue
        plural = _is_plural(now)
        if k + 1 < len(swapped) and core(swapped[k + 1]) in _AFTER[plural]:
            yield f"{now} {core(swapped[k + 1])}"
        if k and core(swapped[k - 1]) in _BEFORE[plural]:
            yield f"{core(swapped[k - 1])} {now}"


def _is_plural(word: str) -> bool:
    return word in _PLURALS or (word.endswith("s") and not word.endswith(("ss", "us", "is")))


# The file


def control_records(
    triples: Sequence[Triple], checks: Mapping[str, Mapping[str, Sequence[str]]]
) -> list[dict[str, Any]]:
    """Return a line for each sentence, as enhanced StereoSet has it, with its problems."""
    return [
        {
            "context_id": triple.id,
            "context": item.original.context,
            "next_sentence": item.original.following,
            "label": label,
            "group": triple.gender,
            "swapped_context": item.swapped.context,
            "swapped_next_sentence": item.swapped.following,
            "check": "; ".join(checks[triple.id][label]),
        }
        for triple in triples
        for label, item in zip(LABELS, triple.items, strict=True)
    ]
