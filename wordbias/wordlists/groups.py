"""Groups of words along which bias is measured: an attribute has two, religion five."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Self

from wordbias.errors import WordbiasError, on_a_line
from wordbias.rendering import how_many
from wordbias.wordlists.attribute_files import (
    Subjects,
    find_groups,
    first_pair,
    read_groups,
    read_sets,
    refuse_common,
)
from wordbias.wordlists.resolve import Resolved, resolve
from wordbias.wordlists.toml import Pair

Words = tuple[str, ...]
Members = tuple[Words, Words]

FEWEST_NAMES = 10
"""First names of a group that must be found before a subspace is fitted to them."""
FEW_NAMES = 30
"""First names of a group below which a fit to them comes with a note."""
_IN_MEMORY = "given in Python"
_OF_SETS = ("definitional", "wider")
"""Fields of `WordGroups` that an `Attribute` has as its pairs."""


@dataclass(frozen=True)
class WordGroups:
    """Named groups of words and what goes with them; `Attribute` is the case of two."""

    name: str
    groups: Words
    members: tuple[Words, ...] = field(repr=False)
    # sets of words, one of each group in their order; a shorter set is of the first groups. May be
    # empty.
    definitional: tuple[Words, ...] = field(default=(), repr=False)
    equalise: tuple[Words, ...] = field(default=(), repr=False)
    # sets over more groups than those, from which a choice of two groups has its pairs
    wider: tuple[Words, ...] = field(default=(), repr=False)
    direction: Pair | None = None  # pair whose difference is the axis, where there are two groups
    # words that keep their meaning when the rest is neutralised, those of all sets among them
    specific: frozenset[str] = field(default=frozenset(), repr=False)
    source: str = ""
    # subjects of template sentences, by kind of word: nouns, pronouns, names, occupations
    subjects: Subjects = field(default_factory=dict, repr=False, hash=False)
    # the words of the groups are first names; a handful of them says nothing; see `resolve_groups`
    first_names: bool = False
    # those of `specific` that only the sets name: a file does not list them as specific
    unlisted: frozenset[str] = field(default=frozenset(), repr=False)
    # the nouns of the language have a grammatical gender, which the words of the groups have too;
    # see `notes_on_language`
    grammatical_gender: bool = False
    # groups whose words say no more of a person than "a person" does, such as *they*
    unmarked: Words = ()
    # pronouns of each group: subject, object, possessive; none where the words are no pronouns
    cases: tuple[Words, ...] = field(default=(), repr=False)

    @property
    def in_memory(self) -> bool:
        """True if the lists were given in Python, so that no name or file stands for them."""
        return self.source == _IN_MEMORY

    @classmethod
    def load(cls, path: str | Path | None = None) -> "WordGroups":
        """Read groups by name or from a file; without `path`, the built-in gender.

        The file has a table ``[groups]`` with two lists of words or more. It may have ``name``,
        ``source``, ``first_names = true``, ``grammatical_gender = true``, ``specific = [...]`` and
        ``unmarked = [...]``, some of the groups. Groups of pronouns have a table ``[cases]`` with
        the subject, the object and the possessive of each: ``they = ["they", "them", "their"]``.
        A table ``[sets]`` may have ``definitional``, ``equalise`` and ``wider``, lists of lists
        with one word of each group. With two groups the table may be called ``[pairs]``, and there
        may be ``direction = [a, b]``. Tables ``[subjects.nouns]``, ``[subjects.names]``, … with a
        list for each group hold the subjects of sentences. Nouns and occupations can follow an
        article, "young person"; pronouns and names have none. Instead of a list of words
        ``"FILE#key"`` names one in another TOML file in the same folder, ``"FILE#*"`` all of that
        file's.
        """
        file, chosen = find_groups(path)
        groups = cls(**read_groups(file))
        return groups.choose(chosen) if chosen else groups

    @classmethod
    def of_lists(cls, lists: Mapping[str, Iterable[str]]) -> Self:
        """Make groups of lists of words by name, without pairs."""
        members = {str(name): _words_of_group(str(name), words) for name, words in lists.items()}
        if len(members) < 2:
            raise WordbiasError(
                f"groups: expected two groups of words or more, found {len(members)}; "
                'write {"female": [...], "male": [...]}'
            )
        refuse_common(members.values(), "groups")
        names = tuple(members)
        return cls("/".join(names), names, tuple(members.values()), source=_IN_MEMORY)

    def choose(self, names: Sequence[str]) -> Self:
        """Keep some groups, in the order named; of the sets, those with a word of each."""
        for name in names:
            if name not in self.groups:
                known = ", ".join(self.groups)
                raise WordbiasError(f"{self.name}: no group {name!r}; its groups are {known}")
        if len(set(names)) != len(names) or len(names) < 2:
            listed = ", ".join(names) or "none"
            raise WordbiasError(f"{self.name}: expected two different groups, found {listed}")
        places = [self.groups.index(name) for name in names]

        def chosen(sets: Iterable[Words]) -> tuple[Words, ...]:
            long_enough = (words for words in sets if len(words) > max(places))
            return tuple(dict.fromkeys(tuple(words[i] for i in places) for words in long_enough))

        definitional = chosen((*self.definitional, *self.wider))
        direction = first_pair(definitional)
        if len(self.groups) == 2 and self.direction:
            direction = (self.direction[places[0]], self.direction[places[1]])
        subjects = {kind: tuple(words[i] for i in places) for kind, words in self.subjects.items()}
        return replace(
            self,
            name=self.name if len(names) == len(self.groups) else f"{self.name} {'/'.join(names)}",
            groups=tuple(names),
            members=tuple(self.members[i] for i in places),
            definitional=definitional,
            equalise=chosen(self.equalise),
            wider=(),
            direction=direction,
            subjects=subjects,
            unmarked=tuple(name for name in names if name in self.unmarked),
            cases=tuple(self.cases[i] for i in places) if self.cases else (),
        )

    def two_by_two(self) -> list[Self]:
        """Return every choice of two groups."""
        return [self.choose(names) for names in combinations(self.groups, 2)]


def _words_of_group(name: str, words: Iterable[str]) -> Words:
    several = isinstance(words, Iterable) and not isinstance(words, str)
    listed = list(words) if several else []
    if not listed or not all(isinstance(word, str) for word in listed):
        raise WordbiasError(f"groups: group {name!r}: expected a list of words, found {words!r}")
    return tuple(dict.fromkeys(listed))


@dataclass(frozen=True)
class Attribute:
    """Two named groups of words and what goes with them.

    Parameters
    ----------
    name : str
        Name of the attribute: ``"gender"``.
    groups : (str, str)
        Names of the two groups; the first is the positive side of every direction.
    members : two tuples of str
        Words of the first and of the second group.
    pairs : tuple of pairs
        Definitional pairs, the first group's word first; may be empty.
    equalise : tuple of pairs
        Pairs to be made equally far from every neutral word; may be empty.
    direction : (str, str), optional
        Pair whose difference is the axis: by default the first definitional pair, or none.
    specific : frozenset of str
        Words that keep their meaning when the rest is neutralised, those of all pairs among them.
    unlisted : frozenset of str
        Those of `specific` that only the pairs name: a file does not list them as specific.
    source : str
        Origin of the words.
    subjects : mapping
        Subjects of template sentences, by kind of word; see `WordGroups`.
    first_names : bool
        The words of the groups are first names; see `resolve_groups`.
    grammatical_gender : bool
        The nouns of the language have a grammatical gender; reports then say what that means.
    unmarked : tuple of str
        Groups whose words say no more of a person than "a person" does, such as *they*.
    cases : tuple of tuples of str
        Pronouns of each group: subject, object and possessive; empty if the words are no pronouns.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.Attribute.load({"female": ["she", "her"], "male": ["he", "him", "his"]})
    <Attribute 'female/male': 2 words female, 3 words male>
    """

    name: str
    groups: tuple[str, str]
    members: Members
    pairs: tuple[Pair, ...] = ()
    equalise: tuple[Pair, ...] = ()
    direction: Pair | None = None
    specific: frozenset[str] = frozenset()
    source: str = ""
    subjects: Mapping[str, Members] = field(default_factory=dict, hash=False)
    first_names: bool = False
    unlisted: frozenset[str] = frozenset()
    grammatical_gender: bool = False
    unmarked: Words = ()
    cases: tuple[Words, ...] = ()

    def __repr__(self) -> str:
        sizes = [
            f"{how_many(len(words), 'word')} {name}"
            for name, words in zip(self.groups, self.members, strict=True)
        ]
        return on_a_line(f"<Attribute {self.name!r}: {', '.join(sizes)}>")

    @classmethod
    def load(cls, path: "GroupsLike | None" = None) -> "Attribute":
        """Read an attribute by name or from a TOML file; without `path`, the built-in gender.

        In Python two lists of words by the names of their groups do as well, or an attribute.

        See `WordGroups.load` for the file. Of one with more groups two must be named:
        ``religion:christian,muslim``, or ``FILE:first,second``.

        Raises
        ------
        WordbiasError
            The file cannot be read, something in it is not as described, or it has more than two
            groups; the message says which of them to choose.
        """
        if path is None:
            return _gender()
        if isinstance(path, Attribute):
            return path
        return cls.of(_as_groups(path), str(path) if isinstance(path, str | Path) else "")

    @classmethod
    def of(cls, groups: WordGroups, text: str = "") -> "Attribute":
        """Make an attribute of two groups; `text` is the name or file they were loaded by.

        Raises
        ------
        WordbiasError
            If there are more than two.
        """
        if len(groups.groups) != 2:
            raise more_than_two(groups, text)
        alike = {name: value for name, value in vars(groups).items() if name not in _OF_SETS}
        return cls(**alike, pairs=tuple((a, b) for a, b in groups.definitional))


GroupsLike = str | Path | Mapping[str, Iterable[str]] | WordGroups | Attribute
"""Groups as functions take them: a built-in name, a file, or lists of words by group."""


def load_attribute(path: GroupsLike | None = None) -> Attribute | WordGroups:
    """Read an attribute of any number of groups, by name or from a file; see `WordGroups.load`."""
    if path is None or isinstance(path, Attribute):
        return Attribute.load(path)
    groups = _as_groups(path)
    return Attribute.of(groups) if len(groups.groups) == 2 else groups


def _as_groups(path: str | Path | Mapping[str, Iterable[str]] | WordGroups) -> WordGroups:
    if isinstance(path, WordGroups):
        return path
    return WordGroups.of_lists(path) if isinstance(path, Mapping) else WordGroups.load(path)


@cache
def _gender() -> Attribute:
    return Attribute.of(WordGroups.load())


def other_than_gender(path: GroupsLike | None) -> Attribute | None:
    """Read an attribute; return None for the built-in gender, which has lists of its own."""
    attribute = Attribute.load(path)
    return None if attribute == Attribute.load() else attribute


def more_than_two(groups: WordGroups, text: str = "") -> WordbiasError:
    """Return the error, ready to be raised, that two of some groups must be chosen."""
    first, second = groups.groups[:2]
    choice = f", --groups={text or groups.name}:{first},{second}"
    return WordbiasError(
        f"{groups.name}: expected exactly two groups, found {len(groups.groups)} "
        f"({', '.join(groups.groups)}); choose two of them{'' if groups.in_memory else choice}, "
        "or what takes all: weat, and debias with misp, mhd, multi-hard, inlp, leace or conceptor"
    )


def resolve_groups(
    attribute: Attribute | WordGroups, vocabulary: Container[str], what: str = ""
) -> list[Resolved[str]]:
    """Find the words of each group, at least two, or ten first names, which a subspace needs."""
    # A first name stands for its group only on average: the directions in which five names of each
    # group differ are those of these five.
    named = f"{what}: group" if what else "group"
    resolved = [
        resolve(words, vocabulary, f"{named} {group}")
        for group, words in zip(attribute.groups, attribute.members, strict=True)
    ]
    if attribute.first_names and min(len(group.found) for group in resolved) < FEWEST_NAMES:
        counts = " and ".join(
            f"{len(group.found)} of {len(group.listed)} {name}"
            for name, group in zip(attribute.groups, resolved, strict=True)
        )
        raise WordbiasError(
            f"{what + ': ' if what else ''}{counts} first names found; needed are {FEWEST_NAMES} "
            "of each group to tell the groups apart: take the lists of the vectors' language "
            "(wordbias lists), the method hard:direction=pca, or your own groups (--groups FILE)"
        )
    return [group.at_least(2) for group in resolved]


def notes_on_language(attribute: Attribute | WordGroups) -> list[str]:
    """Return what grammatical gender does to values along the words, where the language has it."""
    # Every noun of such a language has a gender, and vectors hold it as they hold that of people;
    # see Omrani Sabbaghi and Caliskan (2022), Measuring gender bias in word embeddings of gendered
    # languages requires disentangling grammatical gender signals.
    if not attribute.grammatical_gender:
        return []
    return [
        f"{attribute.name}: nouns of this language have a grammatical gender, which is in the "
        "vectors too: a value mixes grammar and bias; docs/attributes.md has a control"
    ]


@dataclass(frozen=True)
class WordSets:
    """Sets of words on which debiasing over several groups is fitted."""

    name: str
    # sets of words, one of each group; their differences span the subspace
    definitional: tuple[Words, ...] = field(repr=False)
    # sets to be made equally far from every neutral word; may be empty
    equalise: tuple[Words, ...] = field(default=(), repr=False)
    # words that keep their meaning when the rest is neutralised, those of all sets among them
    specific: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def load(cls, path: str | Path | None = None) -> "WordSets":
        """Read sets by name or from a TOML file; without `path`, the built-in religion.

        The file has a table ``[sets]`` with ``definitional``, a list of lists of words, and may
        have ``equalise``, the same, ``specific``, a list of words, ``name`` and ``source``; other
        keys of an attribute file are allowed and not used.
        """
        return cls(*read_sets(find_groups("religion" if path is None else path).file))

    @classmethod
    def of(cls, attribute: Attribute | WordGroups) -> "WordSets":
        """Make sets of the pairs of an attribute or the sets of groups; by default equalise all."""
        sets = attribute.pairs if isinstance(attribute, Attribute) else attribute.definitional
        return cls(attribute.name, sets, attribute.equalise or sets, attribute.specific)
