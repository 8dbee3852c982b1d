"""Queries: two sets of target words and two of attribute words, such as those of WEAT.

What every query must be: four sets of different names, none of which shares a word.

Files of queries: our TOML, word sets as WEFE keeps them, queries as WEFE prints them.
"""

import json
import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeGuard

from wordbias.errors import WordbiasError, on_a_line
from wordbias.wordlists.groups import Attribute, WordGroups
from wordbias.wordlists.resolve import Resolved, candidates, resolve, resolve_pairs
from wordbias.wordlists.toml import (
    as_table,
    as_words,
    complain,
    packaged,
    read_text,
    read_toml,
    refuse_unknown,
)

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


def as_names(value: object, where: str) -> Words:
    """Return the names of two different sets, refusing anything else."""
    names = as_words(value, where) if value else ()
    if len(names) != 2:
        raise WordbiasError(
            f"{where}: expected the names of two different sets, found {len(names)}; "
            'write two, such as "male" and "female"'
        )
    return names


def checked(query: Query, where: str) -> Query:
    """Refuse sets that are compared with each other and share a word."""
    if len(set(query.names)) < 4:
        raise WordbiasError(
            f"{where}: {query.name}: expected four different sets, found {', '.join(query.names)}; "
            "give each another name"
        )
    for two in (query.targets, query.attributes):
        disjoint(two, f"{where}: {query.name}")
    return query


def disjoint(two: Pair, where: str) -> None:
    """Refuse two sets that share a word."""
    (first, some), (second, others) = two
    known = {word.lower() for word in some}
    for word in others:
        if word.lower() in known:
            raise WordbiasError(
                f"{where}: expected sets without a common word, found {word!r} in both {first} and "
                f"{second}; remove it from one"
            )


def distinct(queries: Iterable[Query], file: Traversable) -> None:
    """Refuse two queries of one name."""
    seen: set[str] = set()
    for query in queries:
        if query.name in seen:
            raise WordbiasError(f"{file}: two queries {query.name!r}; rename one")
        seen.add(query.name)


_SHAPE = ("target_sets", "attribute_sets", "target_sets_names", "attribute_sets_names")
_UNUSED = ("query_name", "template")
_HOW = "name two with --targets A,B and two with --attributes C,D"

SetsLike = Sequence[str] | Mapping[str, Iterable[str]] | Sequence[Iterable[str]]
"""Two sets of words: their names, or their words by name, or two lists of words."""
QueryLike = str | int | Sequence[str | int] | Query | Mapping[str, Any]
"""Names of queries, or one with words of its own: ``{"targets": …, "attributes": …}``."""


def load_queries(
    path: str | os.PathLike[str] | None = None,
    *,
    targets: SetsLike = (),
    attributes: SetsLike = (),
    remedy: str = _HOW,
) -> tuple[Query, ...]:
    """Read queries from a file; without `path`, WEAT 1-10 of Caliskan et al. (2017).

    A TOML file has a table ``[sets]``, a list of words under each name, and a table
    ``[queries.NAME]`` for each query with ``targets = [x, y]``, ``attributes = [a, b]``, names of
    sets, and perhaps ``source = "..."`` and ``about = "gender"``, see `Query`. A JSON
    file (suffix ``.json``) has either such word lists by name, as WEFE keeps its own, or what
    WEFE's ``Query.dict()`` returns, once or in a list.

    Parameters
    ----------
    path
        The file.
    targets, attributes
        Two sets each: one query is made of them, in place of the file's. Either the names of sets
        in the file, or words by name, or two lists, which are called X and Y, A and B.
    remedy
        What to do about a file that has but sets.

    Raises
    ------
    WordbiasError
        The file cannot be read or something in it is not as described; the message names the
        file, the key, what was expected and found, and the remedy.
    """
    file, sets, queries = _read(path)
    if targets or attributes:
        return (_own(file, sets, targets, attributes),)
    if not queries:
        raise WordbiasError(f"{file}: expected queries, found only sets of words; {remedy}")
    return queries


def as_queries(
    asked: QueryLike = "all",
    path: str | os.PathLike[str] | None = None,
    *,
    targets: SetsLike = (),
    attributes: SetsLike = (),
) -> tuple[Query, ...]:
    """Return queries by name, or one with words of its own.

    Parameters
    ----------
    asked
        Names, see `choose_query`; a query; or ``{"targets": …, "attributes": …}``, which may have a
        ``name`` and say what it is ``about``.
    path, targets, attributes
        See `load_queries`.

    Raises
    ------
    WordbiasError
        If the file cannot be used, there is no such query, or its sets are not as described.
    """
    if isinstance(asked, Query):
        return (checked(asked, "query"),)
    several = isinstance(asked, (list, tuple)) and all(isinstance(x, str | int) for x in asked)
    if not isinstance(asked, str | int | Mapping) and not several:
        raise WordbiasError(
            'query: expected names, a Query or {"targets": {...}, "attributes": {...}}, '
            f"got {type(asked).__name__}"
        )
    if not isinstance(asked, Mapping):
        known = load_queries(path, targets=targets, attributes=attributes)
        listed = (asked,) if isinstance(asked, (str, int)) else asked
        return choose_query(known, ",".join(map(str, listed)))
    refuse_unknown(asked, ("targets", "attributes", "name", "about"), "query")
    file, sets, _ = _read(path)
    made = _own(file, sets, asked.get("targets") or (), asked.get("attributes") or ())
    name, about = (str(asked.get(key, getattr(made, key))) for key in ("name", "about"))
    return (replace(made, name=name, about=about),)


def load_two_sets(attributes: SetsLike, path: str | os.PathLike[str] | None = None) -> Pair:
    """Return two sets of attribute words; see `load_queries`.

    Raises
    ------
    WordbiasError
        As there; and if they have a word in common.
    """
    file, sets, _ = _read(path)
    found = _chosen(file, attributes, sets, "--attributes", "AB")
    disjoint(found, f"{file}: --attributes")
    return found


def _own(
    file: Traversable, sets: Mapping[str, Words], targets: SetsLike, attributes: SetsLike
) -> Query:
    """Make a query of two sets each."""
    x = _chosen(file, targets, sets, "--targets", "XY")
    y = _chosen(file, attributes, sets, "--attributes", "AB")
    name = " × ".join("/".join(name for name, _ in two) for two in (x, y))
    where = str(file) if _are_names(targets) and _are_names(attributes) else "query"
    return checked(Query(name, x, y, where), where)


def _are_names(given: SetsLike) -> TypeGuard[Sequence[str]]:
    """Say whether sets were named, rather than their words given."""
    return not isinstance(given, Mapping) and all(isinstance(name, str) for name in given)


def _chosen(
    file: Traversable, given: SetsLike, sets: Mapping[str, Words], where: str, letters: str
) -> Pair:
    """Return two sets that were named, or whose words were given."""
    if _are_names(given):
        return _two(file, as_names(list(given), where), sets, where)
    if len(given) != 2:
        raise WordbiasError(f"{where}: expected two sets of words, found {len(given)}")
    named: Mapping[str, object] = dict(
        given.items() if isinstance(given, Mapping) else zip(letters, given, strict=True)
    )
    first, second = (
        (
            str(name),
            as_words(
                list(words)
                if isinstance(words, Iterable) and not isinstance(words, str)
                else words,
                f"{where}: {name}",
            ),
        )
        for name, words in named.items()
    )
    return first, second


def _read(
    path: str | os.PathLike[str] | None,
) -> tuple[Traversable, dict[str, Words], tuple[Query, ...]]:
    """Return the file, its sets and its queries; by default those of WEAT."""
    file = packaged("weat.toml") if path is None else Path(path)
    return file, *(_from_json(file) if file.name.endswith(".json") else _from_toml(file))


def _from_toml(file: Traversable) -> tuple[dict[str, Words], tuple[Query, ...]]:
    tables = read_toml(file)
    refuse_unknown(tables, ("sets", "queries"), str(file))
    lists = as_table(tables.get("sets"), f"{file}: [sets]")
    sets = {name: as_words(words, f"{file}: [sets] {name}") for name, words in lists.items()}
    queries = []
    for name, value in as_table(tables.get("queries"), f"{file}: [queries]").items():
        where = f"{file}: [queries.{name}]"
        fields = as_table(value, where)
        refuse_unknown(fields, ("targets", "attributes", "source", "about"), where)
        keys = (f"{where} targets", f"{where} attributes")
        source = _text(fields, "source", where, str(file))
        about = _text(fields, "about", where)
        queries.append(_query(file, name, fields, sets, keys, source, about))
    return sets, tuple(queries)


def _text(fields: Mapping[str, Any], key: str, where: str, default: str = "") -> str:
    text = fields.get(key, default)
    if not isinstance(text, str):
        raise complain(f"{where} {key}", "a text", text, f'write {key} = "..." in quotes')
    return text


def _query(
    file: Traversable,
    name: str,
    fields: Mapping[str, Any],
    sets: Mapping[str, Words],
    keys: tuple[str, str],
    source: str,
    about: str = "",
) -> Query:
    x, y = (
        _two(file, as_names(fields.get(field), key), sets, key)
        for field, key in zip(("targets", "attributes"), keys, strict=True)
    )
    return checked(Query(name, x, y, source, about=about), str(file))


def _two(file: Traversable, names: Words, sets: Mapping[str, Words], where: str) -> Pair:
    for name in names:
        if name not in sets:
            known = ", ".join(sets) or "none"
            raise WordbiasError(
                f"{where}: no set {name!r} in {file}; it has {known}: correct the name"
            )
    first, second = names
    return (first, sets[first]), (second, sets[second])


def _from_json(file: Traversable) -> tuple[dict[str, Words], tuple[Query, ...]]:
    text = read_text(file)
    try:
        value = json.loads(text)
    except ValueError as error:
        raise WordbiasError(f"{file}: not valid JSON: {error}; correct it there") from None
    except RecursionError:
        raise WordbiasError(f"{file}: not a file of queries: nested too deeply") from None
    if isinstance(value, dict) and not set(_SHAPE[:2]) & value.keys():
        return {name: as_words(words, f"{file}: {name}") for name, words in value.items()}, ()
    items = value if isinstance(value, list) else [value]
    queries = tuple(_from_wefe(item, f"{file}: query {i}") for i, item in enumerate(items, 1))
    distinct(queries, file)
    return {}, queries


def _from_wefe(value: object, where: str) -> Query:
    fields = as_table(value, where)
    refuse_unknown(fields, (*_SHAPE, *_UNUSED), where)
    x, y = (
        _named_lists(fields, sets, names, where)
        for sets, names in zip(_SHAPE[:2], _SHAPE[2:], strict=True)
    )
    name = fields.get("query_name") or f"{x[0][0]}/{x[1][0]} × {y[0][0]}/{y[1][0]}"
    if not isinstance(name, str):
        raise complain(f"{where}: query_name", "a text", name, "put it in quotes")
    return checked(Query(name, x, y, where), where)


def _named_lists(fields: Mapping[str, Any], sets: str, names: str, where: str) -> Pair:
    lists = fields.get(sets)
    if not isinstance(lists, list) or len(lists) != 2:
        remedy = "leave two of them, or make one query of each two"
        raise complain(f"{where}: {sets}", "two lists of words", lists, remedy)
    labels = fields.get(names) or [f"{sets[:-1]} 0", f"{sets[:-1]} 1"]
    first, second = as_names(labels, f"{where}: {names}")
    return (
        (first, as_words(lists[0], f"{where}: {first}")),
        (second, as_words(lists[1], f"{where}: {second}")),
    )
