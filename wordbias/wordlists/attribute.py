"""An attribute: two groups of words, such as female and male, along which bias is measured."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.rendering import how_many
from wordbias.visible import on_a_line
from wordbias.wordlists._fields import Pair
from wordbias.wordlists.groups import WordGroups
from wordbias.wordlists.resolve import Resolved, resolve

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
        Whom sentences are about, by kind of word; see `wordbias.wordlists.subjects`.
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
