"""Queries: two sets of target words and two of attribute words, such as those of WEAT."""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.visible import on_a_line
from wordbias.wordlists.attribute import Attribute
from wordbias.wordlists.groups import WordGroups
from wordbias.wordlists.resolve import Resolved, candidates, resolve, resolve_pairs

Words = tuple[str, ...]
Named = tuple[str, Words]
Pair = tuple[Named, Named]

CONTROL = "control"
"""What a query is about that is about no people."""
_NUMBERS = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")
_REMEDY = "give words this embedding has with --queries FILE"


@dataclass(frozen=True)
class FoundQuery:
    """A query's words as one vocabulary spells them.

    Attributes
    ----------
    query
        What was asked.
    sets
        X, Y, A and B.
    pairs
        Those of the query, else the i-th words of both target sets, for i = 1, 2, …; None where
        it has none and the sets, as listed, are not equally long.
    """

    query: "Query"
    sets: tuple[Resolved[str], Resolved[str], Resolved[str], Resolved[str]]
    pairs: Resolved[tuple[str, str]] | None

    def details(self) -> dict[str, Any]:
        """Return what every row says of its words: how many, which are missing, which case."""
        named = dict(zip(self.query.names, self.sets, strict=True))
        forms = [form for found in self.sets for form in found.how.values()]
        return {
            "set": self.query.name,
            **({"about": self.query.about} if self.query.about else {}),
            "n": {name: len(found.found) for name, found in named.items()},
            "missing": {n: list(found.missing) for n, found in named.items() if found.missing},
            "case": {form: forms.count(form) for form in dict.fromkeys(forms)},
        }


@dataclass(frozen=True)
class Query:
    """Two named sets of target words (X, Y) and two of attribute words (A, B).

    Parameters
    ----------
    name : str
        What results call it.
    targets, attributes : two mappings, or two pairs of a name and a tuple of str
        ``{name: words, name: words}`` each, or ``((name, words), (name, words))``.
    source : str
        Where the words come from.
    pairs : tuple of pairs, optional
        Words of X and Y that belong together; by default the i-th words of both sets, where these
        are equally long.
    about : str
        The attribute of people that the query is about, such as ``gender``; ``control`` where it
        is about none and shows that the test works at all; empty where nobody said.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.Query(
    ...     "work",
    ...     targets=(("female", ("she", "her")), ("male", ("he", "him"))),
    ...     attributes=(("career", ("office", "salary")), ("family", ("home", "children"))),
    ... )
    <Query 'work': 2 female, 2 male; 2 career, 2 family>
    """

    name: str
    targets: Pair
    attributes: Pair
    source: str = ""
    pairs: tuple[tuple[str, str], ...] | None = None
    about: str = ""

    def __post_init__(self) -> None:
        for side in ("targets", "attributes"):
            object.__setattr__(self, side, _two_named(getattr(self, side), side))

    def __repr__(self) -> str:
        x, y, a, b = (f"{len(words)} {name}" for name, words in (*self.targets, *self.attributes))
        return on_a_line(f"<Query {self.name!r}: {x}, {y}; {a}, {b}>")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of X, Y, A and B."""
        return tuple(name for name, _ in (*self.targets, *self.attributes))

    def candidates(self) -> set[str]:
        """Return every spelling that `find` may look for."""
        sets = [words for _, words in (*self.targets, *self.attributes)]
        return candidates(word for words in (*sets, *(self.pairs or ())) for word in words)

    def find(self, vocabulary: Container[str], what: str = "") -> FoundQuery:
        """Look every word up; `what` says where, in messages.

        Raises
        ------
        WordbiasError
            If fewer than two words of a set are found.
        """
        where = f"{what}: {self.name}" if what else self.name
        x, y, a, b = (
            resolve(words, vocabulary, f"{where}: {name}").at_least(2, _REMEDY)
            for name, words in (*self.targets, *self.attributes)
        )
        (_, first), (_, second) = self.targets
        pairs = self.pairs
        if pairs is None and len(first) == len(second):
            pairs = tuple(zip(first, second, strict=True))
        found = None if pairs is None else resolve_pairs(pairs, vocabulary, where)
        return FoundQuery(self, (x, y, a, b), found)


def _two_named(given: Any, side: str) -> Pair:
    """Return two names with their words, refusing anything else."""
    try:
        (first, some), (second, others) = given.items() if isinstance(given, Mapping) else given
    except (TypeError, ValueError):
        first, some, second, others = "", "", "", ""
    if not (first and second) or isinstance(some, str) or isinstance(others, str):
        raise WordbiasError(
            f"{side}: expected two sets of words by name, "
            '{"career": [...], "family": [...]}; write Query(name, targets, attributes)'
        )
    return (str(first), tuple(some)), (str(second), tuple(others))


def group_queries(groups: Attribute | WordGroups, attributes: Pair) -> tuple[Query, ...]:
    """Make a query of every two groups, called ``first/second``, with the same attribute sets.

    Raises
    ------
    WordbiasError
        If a group is called as one of the attribute sets.
    """
    for name, _ in attributes:
        if name in groups.groups:
            raise WordbiasError(
                f"{groups.name}: {name} is a group and a set of attribute words; name another set"
            )
    return tuple(
        Query(
            "/".join(two.groups),
            ((two.groups[0], two.members[0]), (two.groups[1], two.members[1])),
            attributes,
            two.source,
            two.pairs,
            groups.name,
        )
        for two in _two_by_two(groups)
    )


def _two_by_two(groups: Attribute | WordGroups) -> list[Attribute]:
    if isinstance(groups, Attribute):
        return [groups]
    return [Attribute.of(two) for two in groups.two_by_two()]


def choose_query(
    queries: Sequence[Query], asked: str, *, what: str = "query", remedy: str = ""
) -> tuple[Query, ...]:
    """Return some queries.

    Parameters
    ----------
    queries
        Those there are.
    asked
        Between commas names, and numbers and ranges of the ten of WEAT: ``weat6``, ``6``, ``1-10``;
        or ``all``.
    what, remedy
        What they are called where there is no such one, and what else to do then.

    Raises
    ------
    WordbiasError
        If there is no such query.
    """
    known = {query.name: query for query in queries}
    parts = [asked] if asked in known else [part.strip() for part in asked.split(",")]
    names = [name for part in parts if part for name in _meant(part, known)]
    if "all" in names:
        return tuple(queries)
    for name in names or [asked]:
        if name not in known:
            listed = f"choose one of {', '.join(known)}, or all"
            raise WordbiasError(f"no {what} {name!r}; {remedy or listed}")
    return tuple(known[name] for name in dict.fromkeys(names))


def _meant(part: str, known: Container[str]) -> list[str]:
    """Return the names that a name, a number or a range means."""
    found = None if part in known else _NUMBERS.fullmatch(part)
    if found is None:
        return [part]
    first, last = int(found[1]), int(found[2] or found[1])
    return [f"weat{number}" for number in range(first, last + 1)] or [part]
