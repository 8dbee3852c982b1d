"""Named groups of words, two or more: what an attribute and its file consist of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Self

from wordbias.errors import WordbiasError
from wordbias.wordlists._fields import Pair
from wordbias.wordlists.built_in import asked
from wordbias.wordlists.group_files import first_pair, read_groups, refuse_common
from wordbias.wordlists.subjects import Subjects

Words = tuple[str, ...]
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
        Whom sentences are about, by kind of word; see `wordbias.wordlists.subjects`.
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
