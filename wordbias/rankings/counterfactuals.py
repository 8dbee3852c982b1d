"""Versions of texts that differ in a first name: of another group, and of the same group.

A change of the name within the group means nothing. Both names come from one set, with two names of
each group that have the same number of tokens and stand next to each other in lists ordered by
frequency. Who is first in each group is drawn. If the group of a name means nothing, the two
changes can therefore be exchanged, and no name is in two sets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, listed
from wordbias.outcomes.swap import Swapper, in_case_of
from wordbias.wordlists.groups import Attribute, GroupsLike, WordGroups, load_attribute
from wordbias.wordlists.templates import unambiguous_names

Integers = NDArray[np.intp]
Names = Mapping[str, Sequence[str]]
"""First names by group, frequent ones first."""
Lengths = Callable[[Sequence[str]], Sequence[int]]
"""Function that returns the number of tokens of each name."""

GIVEN, SAME = "as given", "another name"
NAME, WORDS = "name", "name and words"
COUNTERFACTUAL, MEANINGLESS = "counterfactual", "meaningless"
SPACE, SYNONYMS = "white space", "synonyms"
"""Versions: the text itself, with a changed name, gendered words or text, and without meaning."""
OF_GROUP = (NAME, WORDS, COUNTERFACTUAL)
"""Versions about a person of another group."""
BESIDE = (SPACE, SYNONYMS)
"""Versions that are shown with the null, and are no part of it."""
PRONOUNS = {
    "female": {"pronoun": "she", "possessive": "her", "object": "her"},
    "male": {"pronoun": "he", "possessive": "his", "object": "him"},
}
"""What stands in place of a placeholder, by group."""
_PLACE = re.compile(r"\{(name|pronoun|possessive|object)\}", re.IGNORECASE)
_MORE_SPACE = re.compile(r" ")


def names_by_group(groups: GroupsLike | None) -> tuple[Names, bool]:
    """Return first names by group, and whether the attribute is gender."""
    if groups is None or groups == "gender":
        known = unambiguous_names()
        return {"female": known.female, "male": known.male}, True
    attribute: Attribute | WordGroups = load_attribute(groups)
    names = dict(zip(attribute.groups, attribute.members, strict=True))
    for group, words in names.items():
        if small := [word for word in words if word[:1].islower()]:
            raise WordbiasError(
                f"--groups {attribute.name}: group {group} has the word {small[0]!r}, which is no "
                "first name; name groups of first names such as ethnicity, or give the changed "
                "texts with --counterfactual"
            )
        if len(words) < 2:
            raise WordbiasError(
                f"--groups {attribute.name}: group {group} has {len(words)} name; expected two or "
                "more, one to put in place of another"
            )
    return names, set(names) == set(PRONOUNS)


@dataclass(frozen=True)
class NameSets:
    """Sets of two names of each group."""

    groups: tuple[str, ...]
    # `sets[s][g]` has the two names of group g in set s
    sets: Sequence[Sequence[tuple[str, str]]] = field(repr=False)

    @classmethod
    def of(cls, names: Names, lengths: Lengths, seed: int) -> NameSets:
        """Match names by their number of tokens and their places in the lists, in random order."""
        if len(names) < 2:
            raise WordbiasError(
                f"expected first names of two groups, found those of {listed(names) or 'none'}; "
                "name groups with --groups"
            )
        rng = np.random.default_rng(seed)
        tokens = {group: lengths(words) for group, words in names.items()}
        sets: list[list[tuple[str, str]]] = []
        for size in sorted({count for many in tokens.values() for count in many}):
            alike = [
                [word for word, n in zip(words, tokens[group], strict=True) if n == size]
                for group, words in names.items()
            ]
            for i in range(min(map(len, alike)) // 2):
                pairs = [rng.permutation(words[2 * i : 2 * i + 2]).tolist() for words in alike]
                sets.append([(first, second) for first, second in pairs])
        if not sets:
            raise WordbiasError(
                f"groups {listed(names)}: no two names of each have the same number of tokens; "
                "give more names"
            )
        order = rng.permutation(len(sets)).tolist()
        return cls(tuple(names), [sets[i] for i in order])

    def part(self, odd: bool) -> NameSets:
        """Return every second set."""
        return NameSets(self.groups, self.sets[int(odd) :: 2])

    def __len__(self) -> int:
        return len(self.sets)


@dataclass(frozen=True, eq=False)
class Versions:
    """Texts, and what they are changed to, with other names in each draw."""

    # kinds of the versions; the first is that of the text that the others are compared with
    kinds: tuple[str, ...]
    # `texts[r][kind]` has the version of each text in draw r
    texts: Sequence[Mapping[str, Sequence[str]]] = field(repr=False)
    # which of the texts have versions, in order; the others are as given in every version
    places: Integers = field(repr=False)
    # number of the set of names of each text that has versions, shape `(draws, n)`
    sets: Integers = field(repr=False)
    # group of each of them as given, shape `(n,)`, and after the change, `(draws, n)`
    codes: Integers = field(repr=False)
    others: Integers = field(repr=False)
    groups: tuple[str, ...] = ()

    @property
    def is_distinct(self) -> bool:
        """Whether no set of names is used twice."""
        return len(np.unique(self.sets)) == self.sets.size


def is_template(texts: Iterable[str]) -> bool:
    """Return whether a text has a place for a name or pronoun."""
    return any(_PLACE.search(text) for text in texts)


def _pattern_of(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of names that are no part of a word or of a name such as Anne-Marie."""
    several = sorted(names, key=len, reverse=True)
    first = "".join({re.escape(name[0]) for name in several})  # else each letter takes long
    any_of = "|".join(map(re.escape, several))
    letter = r"[^\W\d_]"
    return re.compile(
        rf"(?=[{first}])(?<!{letter})(?<!{letter}-)(?:{any_of})(?!{letter}|-[A-ZÀ-Þ])"
    )


def versions_of(
    texts: Sequence[str],
    names: Names,
    sets: NameSets,
    *,
    draws: int,
    gendered: bool,
    seed: int,
    where: Callable[[int], str],
) -> Versions:
    """Change the first name in each text, or fill the places of a template."""
    # If a text has a place such as {name}, all are templates. `gendered` also changes pronouns and
    # gendered words.
    template = is_template(texts)
    codes = {name: g for g, words in enumerate(names.values()) for name in words}
    pattern = _pattern_of(codes)
    known = [pattern.findall(text) for text in texts]
    if template:
        _check_places(texts, sets.groups, where)
        first_names: dict[int, str | None] = dict.fromkeys(range(len(texts)))
    else:
        first_names = {i: text_names[0] for i, text_names in enumerate(known) if text_names}
        if not first_names:
            raise WordbiasError(
                f"{where(0)} and the others: no text has a first name of {listed(names)}; give "
                "templates with {name}, or the changed texts with --counterfactual"
            )
    rng = np.random.default_rng((seed, 1))
    n, m = len(first_names), len(sets.groups)
    draws = max(1, min(draws, len(sets) // n)) if n <= len(sets) else draws
    swapper = Swapper.built_in() if gendered else None
    own = (
        rng.integers(m, size=n)
        if template
        else np.array([codes[str(x)] for x in first_names.values()])
    )
    others = (own + rng.integers(1, m, size=(draws, n))) % m
    numbers, by_draw, next_set = np.zeros((draws, n), np.intp), [], 0
    for r in range(draws):
        by_kind: dict[str, list[str]] = {}
        for j, (i, name) in enumerate(first_names.items()):
            text = texts[i]
            for _ in range(len(sets)):  # a set without a name that the text has already
                name_set, number = sets.sets[next_set % len(sets)], next_set % len(sets)
                next_set += 1
                if all(name not in known[i] for pair in name_set for name in pair):
                    break
            numbers[r, j] = number
            same, other = name_set[own[j]], name_set[others[r, j]]
            if name is None:
                filled = _filled(text, sets.groups, int(own[j]), int(others[r, j]), same, other)
            else:
                filled = _renamed(text, name, same[0], other[0], swapper)
            for kind, version in filled.items():
                by_kind.setdefault(kind, []).append(version)
        by_draw.append(by_kind)
    unused = [WORDS] if all(draw_texts[WORDS] == draw_texts[NAME] for draw_texts in by_draw) else []
    kinds = tuple(kind for kind in by_draw[0] if kind not in unused)
    return Versions(kinds, by_draw, np.array([*first_names]), numbers, own, others, sets.groups)


def _check_places(texts: Sequence[str], groups: Sequence[str], where: Callable[[int], str]) -> None:
    """Refuse a template without a name, or with pronouns of groups that have none."""
    for i, text in enumerate(texts):
        places = {place.lower() for place in _PLACE.findall(text)}
        if "name" not in places:
            raise WordbiasError(
                f"{where(i)}: has no {{name}}, and other texts have places to fill; write {{name}} "
                "where the name stands"
            )
        if places != {"name"} and not set(groups) <= set(PRONOUNS):
            raise WordbiasError(
                f"{where(i)}: has {{{min(places - {'name'})}}}, and the groups {listed(groups)} "
                "have no pronouns; write {name} in its place"
            )


def _filled(
    text: str, groups: Sequence[str], own: int, other: int, same: Sequence[str], new: Sequence[str]
) -> dict[str, str]:
    """Fill a template: a name of the own group, another of it, and one of the other group."""

    def fill(name: str, group: int) -> str:
        words = {"name": name, **PRONOUNS.get(groups[group], {})}

        def put(match: re.Match[str]) -> str:
            word = words[match[1].lower()]
            return word[:1].upper() + word[1:] if match[1][0].isupper() else word

        return _PLACE.sub(put, text)

    given = fill(same[0], own)
    return {
        GIVEN: given,
        NAME: fill(new[0], own),
        WORDS: fill(new[0], other),
        SAME: fill(same[1], own),
        SPACE: _MORE_SPACE.sub("  ", given),
    }


def _renamed(text: str, name: str, same: str, new: str, swapper: Swapper | None) -> dict[str, str]:
    """Put other names in place of a name, wherever it stands."""
    pattern = _pattern_of([name])
    other = pattern.sub(lambda _: new, text)
    # the words around the name are swapped while a mark holds its place: Mark is a word, too
    swapped = other if swapper is None else _around(text, pattern, new, swapper)
    return {
        GIVEN: text,
        NAME: other,
        WORDS: swapped,
        SAME: pattern.sub(lambda _: same, text),
        SPACE: _MORE_SPACE.sub("  ", text),
    }


def _around(text: str, pattern: re.Pattern[str], new: str, swapper: Swapper) -> str:
    """Swap the gendered words of a text, and put a name in the places of another."""
    place = "Xqzname"
    changed, _ = swapper(pattern.sub(place, text))
    return changed.replace(place, new)


def with_synonyms(
    versions: Versions, synonyms: Sequence[tuple[str, str]], names: Names
) -> tuple[Versions, int]:
    """Add versions of the texts in which words, but no first names, become their synonyms."""
    other: dict[str, str] = {}
    for first, second in synonyms:
        if other.setdefault(first.lower(), second) != second:
            raise WordbiasError(
                f"--meaningless: {first!r} has two synonyms, {other[first.lower()]!r} and "
                f"{second!r}; leave one of the pairs out"
            )
    first_names = {name for words in names.values() for name in words}
    several = "|".join(map(re.escape, sorted(other, key=len, reverse=True)))
    pattern = re.compile(rf"(?<!\w)(?:{several})(?!\w)", re.IGNORECASE)

    def put(match: re.Match[str]) -> str:
        word = match[0]
        new = (
            None if word in first_names else other.get(word.lower())
        )  # BİG matches big, and is none
        return word if new is None else in_case_of(word, new)

    by_draw = [
        {**by_kind, SYNONYMS: [pattern.sub(put, text) for text in by_kind[GIVEN]]}
        for by_kind in versions.texts
    ]
    texts = zip(by_draw[0][GIVEN], by_draw[0][SYNONYMS], strict=True)
    changed = sum(first != second for first, second in texts)
    return replace(versions, kinds=(*versions.kinds, SYNONYMS), texts=by_draw), changed


def given_versions(texts: Sequence[str], given: Mapping[str, Sequence[str]]) -> Versions:
    """Return texts with changed ones that were given by kind, each a set of its own."""
    n = len(texts)
    kinds = {GIVEN: texts, **given}
    numbers, none = np.arange(n), np.zeros(n, np.intp)
    return Versions(tuple(kinds), [kinds], numbers, numbers[None], none, none[None])
