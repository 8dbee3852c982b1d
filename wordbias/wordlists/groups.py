"""Named groups of words, two or more: what an attribute and its file consist of.

Reading a file of word groups: `WordGroups.load` says what stands in it.

An attribute: two groups of words, such as female and male, along which bias is measured.

The attributes that come with wordbias by name, and how one is asked for: ``religion:a,b``.

Sets of words that differ in one thing: judaism, christianity, islam. Any number of groups.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources.abc import Traversable
from itertools import combinations
from pathlib import Path, PurePath
from typing import Any, NamedTuple, Self, TypedDict

from wordbias.errors import WordbiasError, on_a_line
from wordbias.rendering import how_many
from wordbias.wordlists.resolve import Resolved, resolve
from wordbias.wordlists.templates import Subjects, read_subjects
from wordbias.wordlists.toml import (
    Pair,
    as_pair,
    as_pairs,
    as_sets,
    as_table,
    complain,
    packaged,
    read_toml,
    refuse_unknown,
    words_of,
)

Words = tuple[str, ...]

_KEYS = (
    "name",
    "source",
    "groups",
    "pairs",
    "sets",
    "direction",
    "specific",
    "subjects",
    "first_names",
)
_PAIRS = ("definitional", "equalise")
_SETS = (*_PAIRS, "wider", "specific")
_NO_WORDS = 'write, for example, young = ["young", "youth"]'


class GroupFields(TypedDict):
    """What a file says of its groups, under the names `WordGroups` gives it."""

    name: str
    groups: Words
    members: tuple[Words, ...]
    definitional: tuple[Words, ...]
    equalise: tuple[Words, ...]
    wider: tuple[Words, ...]
    direction: Pair | None
    specific: frozenset[str]
    source: str
    subjects: Subjects
    first_names: bool
    unlisted: frozenset[str]


def read_groups(file: Traversable) -> GroupFields:
    """Read a file of groups; what it holds is told by `WordGroups.load`.

    Raises
    ------
    WordbiasError
        The file cannot be read or something in it is not as described; the message names the
        file, the key, what was expected and found, and the remedy.
    """
    tables = read_toml(file)
    refuse_unknown(tables, _KEYS, str(file))
    groups, members = _groups(file, tables)
    sets = _sets(file, tables, len(groups))
    listed = _specific(file, tables)
    named = frozenset(word for found in sets.values() for words in found for word in words)
    return GroupFields(
        name=_text(file, tables, "name", PurePath(file.name).stem),
        groups=groups,
        members=members,
        definitional=sets["definitional"],
        equalise=sets["equalise"],
        wider=sets.get("wider", ()),
        direction=_direction(file, tables, groups, sets["definitional"]),
        specific=listed | named,
        source=_text(file, tables, "source", str(file)),
        subjects=read_subjects(file, tables, groups),
        first_names=_flag(file, tables, "first_names"),
        unlisted=named - listed,
    )


def _flag(file: Traversable, tables: dict[str, Any], key: str) -> bool:
    value = tables.get(key, False)
    if not isinstance(value, bool):
        raise complain(f"{file}: {key}", "true or false", value, f"write {key} = true")
    return value


def _text(file: Traversable, tables: dict[str, Any], key: str, default: str) -> str:
    value = tables.get(key, default)
    if not isinstance(value, str) or not value.strip():
        raise complain(f"{file}: {key}", "a text", value, f'write {key} = "..." in quotes')
    return value


def _groups(file: Traversable, tables: dict[str, Any]) -> tuple[Words, tuple[Words, ...]]:
    where = f"{file}: [groups]"
    lists = as_table(tables.get("groups"), where)
    if len(lists) < 2:
        found = ", ".join(lists) or "none"
        raise WordbiasError(
            f"{where}: expected two groups or more, found {len(lists)} ({found}); {_NO_WORDS}"
        )
    members = tuple(_members(file, words, f"{where} {name}") for name, words in lists.items())
    refuse_common(members, where)
    return tuple(lists), members


def _members(file: Traversable, value: object, where: str) -> Words:
    words = words_of(file, value, where)
    if len(words) < 2:
        raise WordbiasError(
            f"{where}: expected at least two different words, found {len(words)}; add words"
        )
    return words


def refuse_common(members: Iterable[Words], where: str) -> None:
    """Refuse groups that share a word."""
    seen: set[str] = set()
    for words in members:
        for word in words:
            if word.lower() in seen:
                raise WordbiasError(
                    f"{where}: expected groups without a common word, found {word!r} in both; "
                    "remove it from one"
                )
        seen |= {word.lower() for word in words}


def _sets(file: Traversable, tables: dict[str, Any], k: int) -> dict[str, tuple[Words, ...]]:
    """Read the sets, or the pairs, which only two groups have."""
    if k == 2 and "sets" not in tables:
        where = f"{file}: [pairs]"
        both = as_table(tables.get("pairs"), where)
        refuse_unknown(both, _PAIRS, where)
        return {key: as_pairs(both.get(key, []), f"{where} {key}") for key in _PAIRS}
    where = f"{file}: [sets]"
    if "pairs" in tables:
        raise WordbiasError(f"{file}: [pairs]: {k} groups have [sets] in place of pairs; rename it")
    lists = as_table(tables.get("sets"), where)
    refuse_unknown(lists, _SETS, where)
    found = {key: as_sets(lists.get(key, []), f"{where} {key}") for key in _SETS[:-1]}
    for key, sets in found.items():
        _short_enough(sets, k, f"{where} {key}")
    return found


def _short_enough(sets: Iterable[Words], k: int, where: str) -> None:
    for words in sets:
        if len(words) > k:
            raise WordbiasError(
                f"{where}: expected a word of each of {k} groups at most, found {len(words)} "
                f"({', '.join(words)}); leave words out"
            )


def _direction(
    file: Traversable, tables: dict[str, Any], groups: Words, definitional: Sequence[Words]
) -> Pair | None:
    if "direction" not in tables:
        return first_pair(definitional) if len(groups) == 2 else None
    if len(groups) > 2:
        raise WordbiasError(
            f"{file}: direction: {len(groups)} groups have no one direction; remove it"
        )
    return as_pair(tables["direction"], f"{file}: direction")


def _specific(file: Traversable, tables: dict[str, Any]) -> frozenset[str]:
    inside = as_table(tables.get("sets"), f"{file}: [sets]").get("specific", [])
    return frozenset(words_of(file, tables.get("specific", []), f"{file}: specific")).union(
        words_of(file, inside, f"{file}: [sets] specific")
    )


def first_pair(sets: Sequence[Words]) -> Pair | None:
    """Return the first of the sets if it is a pair: the axis where none is named."""
    return (sets[0][0], sets[0][1]) if sets and len(sets[0]) == 2 else None


ATTRIBUTES = {
    "gender": "female and male first names, English pairs",
    "gender-de": "the same in German",
    "age": "words for the young and for the old",
    "religion": "words of five religions",
    "ethnicity": "first names by the ethnicity US bearers of them reported",
}
"""What each holds, in a few words."""


class Asked(NamedTuple):
    """A file with groups of words, and the names of those chosen of them; none for all."""

    file: Traversable
    chosen: tuple[str, ...] = ()


def asked(text: object) -> Asked:
    """Find what ``NAME|FILE[:GROUP,GROUP]`` asks for; without it, gender.

    A built-in name comes before a file of that name, which ``./NAME`` still reads; a `Path` is
    always a file.

    Raises
    ------
    WordbiasError
        If it has no suffix and no folder, as names have none, and is neither built in nor a file.
    """
    if isinstance(text, Path):
        return Asked(text)
    text = "gender" if text is None else text
    if not isinstance(text, str):
        raise WordbiasError(
            f"--groups: got {type(text).__name__}; expected one of {', '.join(ATTRIBUTES)}, a "
            'TOML file, or {"female": [...], "male": [...]}'
        )
    name, _, choice = text.rpartition(":")
    chosen = tuple(part.strip() for part in choice.split(","))
    if not name or (len(chosen) < 2 and name not in ATTRIBUTES) or Path(text).exists():
        return Asked(_find(text))
    return Asked(_find(name), chosen)


def _find(name: str) -> Traversable:
    if not name:
        raise WordbiasError(f"the attribute has no name; built in are {', '.join(ATTRIBUTES)}")
    if name in ATTRIBUTES:
        return packaged(f"{name}.toml")
    path = Path(name)
    if path.suffix or len(path.parts) > 1 or path.exists():
        return path
    raise WordbiasError(
        f"no attribute {name!r}: built in are {', '.join(ATTRIBUTES)}; name one of them, or a TOML "
        "file with groups of words"
    )


_IN_MEMORY = "given in Python"


@dataclass(frozen=True)
class WordGroups:
    """Named groups of words and what goes with them; `Attribute` is the case of two.

    Parameters
    ----------
    name
        What the groups differ in: ``"religion"``.
    groups
        Their names, at least two.
    members
        The words of each.
    definitional, equalise
        Sets of words, one of each group in their order; of fewer, the first groups. May be empty.
    wider
        Sets over more groups than those, from which a choice of two groups has its pairs.
    direction
        The pair whose difference is the axis, where there are two groups.
    specific
        Words that keep their meaning when the rest is neutralised, those of all sets among them.
    unlisted
        Those of them that only the sets name: a file does not list them as specific.
    source
        Where the words come from.
    subjects
        Whom sentences are about, by kind of word; see `wordbias.wordlists.templates`.
    first_names
        Whether the words of the groups are first names, of which a handful says nothing; see
        `resolve_groups`.
    """

    name: str
    groups: Words
    members: tuple[Words, ...] = field(repr=False)
    definitional: tuple[Words, ...] = field(default=(), repr=False)
    equalise: tuple[Words, ...] = field(default=(), repr=False)
    wider: tuple[Words, ...] = field(default=(), repr=False)
    direction: Pair | None = None
    specific: frozenset[str] = field(default=frozenset(), repr=False)
    source: str = ""
    subjects: Subjects = field(default_factory=dict, repr=False, hash=False)
    first_names: bool = False
    unlisted: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def in_memory(self) -> bool:
        """Whether these are lists that were given, which no name or file stands for."""
        return self.source == _IN_MEMORY

    @classmethod
    def load(cls, path: str | Path | None = None) -> "WordGroups":
        """Read groups by name or from a file; without `path`, the built-in gender.

        The file has a table ``[groups]`` with two lists of words or more, and may have ``name``,
        ``source``, ``first_names = true``, ``specific = [...]`` and a table ``[sets]`` with
        ``definitional``, ``equalise`` and ``wider``, lists of lists with one word of each group.
        With two groups the table may be called ``[pairs]``, and there may be
        ``direction = [a, b]``. Tables ``[subjects.nouns]``, ``[subjects.names]``, … with a list for
        each group say whom sentences can be about. Instead of a list of words ``"FILE#key"`` names
        one in another TOML file beside it, ``"FILE#*"`` all of that file's.

        Parameters
        ----------
        path
            A built-in name or a file; ``religion:christian,hindu`` are two groups of it.

        Raises
        ------
        WordbiasError
            The file cannot be read or something in it is not as described; the message names the
            file, the key, what was expected and found, and the remedy.
        """
        file, chosen = asked(path)
        found = cls(**read_groups(file))
        return found.choose(chosen) if chosen else found

    @classmethod
    def of_lists(cls, lists: Mapping[str, Iterable[str]]) -> Self:
        """Make groups of lists of words by name, without pairs.

        Raises
        ------
        WordbiasError
            If there are fewer than two, one is empty or a text, a word is no text, or two share a
            word.
        """
        members = {str(name): words_of_group(str(name), words) for name, words in lists.items()}
        if len(members) < 2:
            raise WordbiasError(
                f"groups: expected two groups of words or more, found {len(members)}; "
                'write {"female": [...], "male": [...]}'
            )
        refuse_common(members.values(), "groups")
        names = tuple(members)
        return cls("/".join(names), names, tuple(members.values()), source=_IN_MEMORY)

    def choose(self, names: Sequence[str]) -> Self:
        """Keep some groups, in the order named; of the sets, those with a word of each.

        Raises
        ------
        WordbiasError
            If a name is none of the groups, or fewer than two different ones are named.
        """
        for name in names:
            if name not in self.groups:
                known = ", ".join(self.groups)
                raise WordbiasError(f"{self.name}: no group {name!r}; its groups are {known}")
        if len(set(names)) != len(names) or len(names) < 2:
            said = ", ".join(names) or "none"
            raise WordbiasError(f"{self.name}: expected two different groups, found {said}")
        places = [self.groups.index(name) for name in names]
        definitional = _columns((*self.definitional, *self.wider), places)
        two_at_all = len(self.groups) == 2 and self.direction
        return type(self)(
            self.name if len(names) == len(self.groups) else f"{self.name} {'/'.join(names)}",
            tuple(names),
            tuple(self.members[i] for i in places),
            definitional,
            _columns(self.equalise, places),
            direction=_turned(self.direction, places) if two_at_all else first_pair(definitional),
            specific=self.specific,
            source=self.source,
            subjects={
                kind: tuple(words[i] for i in places) for kind, words in self.subjects.items()
            },
            first_names=self.first_names,
            unlisted=self.unlisted,
        )

    def two_by_two(self) -> list[Self]:
        """Return every choice of two groups."""
        return [self.choose(names) for names in combinations(self.groups, 2)]


def words_of_group(name: str, words: Iterable[str]) -> Words:
    """Return the words of a group, each once."""
    several = isinstance(words, Iterable) and not isinstance(words, str)
    listed = list(words) if several else []
    if not listed or not all(isinstance(word, str) for word in listed):
        raise WordbiasError(f"groups: group {name!r}: expected a list of words, found {words!r}")
    return tuple(dict.fromkeys(listed))


def _columns(sets: Iterable[Words], places: Sequence[int]) -> tuple[Words, ...]:
    long_enough = (words for words in sets if len(words) > max(places))
    chosen = (tuple(words[i] for i in places) for words in long_enough)
    return tuple(dict.fromkeys(chosen))


def _turned(direction: Pair | None, places: Sequence[int]) -> Pair | None:
    return direction and (direction[places[0]], direction[places[1]])


Members = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Attribute:
    """Two named groups of words and what goes with them.

    Parameters
    ----------
    name : str
        What the groups differ in: ``"gender"``.
    groups : (str, str)
        The names of the two groups; the first is the positive side of every direction.
    members : two tuples of str
        The words of the first and of the second group.
    pairs : tuple of pairs
        Definitional pairs, the first group's word first; may be empty.
    equalise : tuple of pairs
        Pairs to be made equally far from every neutral word; may be empty.
    direction : (str, str), optional
        The pair whose difference is the axis: by default the first definitional pair, or none.
    specific : frozenset of str
        Words that keep their meaning when the rest is neutralised, those of all pairs among them.
    unlisted : frozenset of str
        Those of them that only the pairs name: a file does not list them as specific.
    source : str
        Where the words come from.
    subjects : mapping
        Whom sentences are about, by kind of word; see `wordbias.wordlists.templates`.
    first_names : bool
        Whether the words of the groups are first names; see `resolve_groups`.

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
        if isinstance(path, WordGroups):
            return cls.of(path)
        if isinstance(path, Mapping):
            return cls.of(WordGroups.of_lists(path))
        return cls.of(WordGroups.load(path), str(path))

    @classmethod
    def of(cls, groups: WordGroups, asked: str = "") -> "Attribute":
        """Make an attribute of two groups; `asked` is how they were asked for, for the message.

        Raises
        ------
        WordbiasError
            If there are more than two.
        """
        if len(groups.groups) != 2:
            raise more_than_two(groups, asked)
        first, second = groups.groups
        return cls(
            groups.name,
            (first, second),
            (groups.members[0], groups.members[1]),
            tuple((a, b) for a, b in groups.definitional),
            tuple((a, b) for a, b in groups.equalise),
            groups.direction,
            groups.specific,
            groups.source,
            {kind: (words[0], words[1]) for kind, words in groups.subjects.items()},
            groups.first_names,
            groups.unlisted,
        )


GroupsLike = str | Path | Mapping[str, Iterable[str]] | WordGroups | Attribute
"""What functions take as groups: a built-in name, a file, or lists of words by group."""

FEWEST_NAMES = 10
"""First names of a group that must be found before a subspace is fitted to them."""
FEW_NAMES = 30
"""Below so many a fit to first names comes with a note."""


def resolve_groups(
    attribute: Attribute | WordGroups, vocabulary: Container[str], what: str = ""
) -> list[Resolved[str]]:
    """Find the words of each group, as many as a subspace needs: two, or ten first names.

    A first name stands for its group only on average: the directions in which five names of each
    group differ are those of these five.

    Raises
    ------
    WordbiasError
        With the counts, and what else there is, if fewer are found.
    """
    named = f"{what}: group" if what else "group"
    found = [
        resolve(words, vocabulary, f"{named} {group}")
        for group, words in zip(attribute.groups, attribute.members, strict=True)
    ]
    if attribute.first_names and min(len(group.found) for group in found) < FEWEST_NAMES:
        counts = " and ".join(
            f"{len(group.found)} of {len(group.asked)} {name}"
            for name, group in zip(attribute.groups, found, strict=True)
        )
        raise WordbiasError(
            f"{what + ': ' if what else ''}{counts} first names found (at least {FEWEST_NAMES} of "
            "each group needed); so few do not tell the groups apart: take definitional pairs "
            "(the method hard, --direction=pca) or groups of your own (--groups FILE)"
        )
    return [group.at_least(2) for group in found]


def other_than_gender(path: "GroupsLike | None") -> Attribute | None:
    """Read an attribute, and return none for the built-in gender, which has lists of its own."""
    found = Attribute.load(path)
    return None if found == Attribute.load() else found


def load_attribute(path: "GroupsLike | None" = None) -> Attribute | WordGroups:
    """Read an attribute by name or from a file, of however many groups; see `WordGroups.load`."""
    if path is None or isinstance(path, Attribute):
        return Attribute.load(path)
    if isinstance(path, WordGroups):
        found = path
    elif isinstance(path, Mapping):
        found = WordGroups.of_lists(path)
    else:
        found = WordGroups.load(path)
    return Attribute.of(found) if len(found.groups) == 2 else found


def more_than_two(groups: WordGroups, asked: str = "") -> WordbiasError:
    """Return the error for groups of which two must be chosen, ready to be raised."""
    first, second = groups.groups[:2]
    choice = f", --groups={asked or groups.name}:{first},{second}"
    return WordbiasError(
        f"{groups.name}: expected exactly two groups, found {len(groups.groups)} "
        f"({', '.join(groups.groups)}); choose two of them{'' if groups.in_memory else choice}, "
        "or what takes all: weat, and debias with misp, mhd, multi-hard, inlp or leace"
    )


@cache
def _gender() -> Attribute:
    return Attribute.of(WordGroups.load())


_SET_KEYS = ("name", "source", "sets", "groups", "specific", "subjects")
_LISTS = ("definitional", "equalise", "specific", "wider")
_EXAMPLE = 'write it as [["church", "mosque", "synagogue"]]'


@dataclass(frozen=True)
class WordSets:
    """What debiasing over several groups is fitted on.

    Parameters
    ----------
    name
        What the groups differ in: ``"religion"``.
    definitional
        Sets of words, one of each group; their differences span the subspace.
    equalise
        Sets to be made equally far from every neutral word; may be empty.
    specific
        Words that keep their meaning when the rest is neutralised, those of all sets among them.
    """

    name: str
    definitional: tuple[Words, ...] = field(repr=False)
    equalise: tuple[Words, ...] = field(default=(), repr=False)
    specific: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def load(cls, path: str | Path | None = None) -> "WordSets":
        """Read sets by name or from a TOML file; without `path`, the built-in religion.

        The file has a table ``[sets]`` with ``definitional``, a list of lists of words, and may
        have ``equalise``, the same, ``specific``, a list of words, ``name`` and ``source``, and
        what else `WordGroups` reads, which plays no part here.

        Raises
        ------
        WordbiasError
            The file cannot be read or something in it is not as described.
        """
        return _read(asked("religion" if path is None else path).file)

    @classmethod
    def of(cls, attribute: Attribute | WordGroups) -> "WordSets":
        """Take the pairs of an attribute, or the sets of groups; without some to equalise, all."""
        sets = attribute.pairs if isinstance(attribute, Attribute) else attribute.definitional
        return cls(attribute.name, sets, attribute.equalise or sets, attribute.specific)


def _read(file: Traversable) -> WordSets:
    tables = read_toml(file)
    refuse_unknown(tables, _SET_KEYS, str(file))
    where = f"{file}: [sets]"
    lists = as_table(tables.get("sets"), where)
    refuse_unknown(lists, _LISTS, where)
    definitional, equalise, wider = (
        as_sets(lists.get(key, []), f"{where} {key}")
        for key in ("definitional", "equalise", "wider")
    )
    if not definitional:
        raise WordbiasError(f"{where}: expected definitional sets, found none; {_EXAMPLE}")
    specific = (
        *words_of(file, lists.get("specific", []), f"{where} specific"),
        *words_of(file, tables.get("specific", []), f"{file}: specific"),
    )
    name = tables.get("name", PurePath(file.name).stem)
    if not isinstance(name, str):
        raise complain(f"{file}: name", "a text", name, 'write name = "..." in quotes')
    every = frozenset(specific).union(*definitional, *equalise, *wider)
    return WordSets(name, definitional, equalise, every)
