"""Queries: two sets of target words and two of attribute words, such as those of WEAT."""

import json
import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeGuard

from wordbias.arguments import comma_separated
from wordbias.errors import UsageError, WordbiasError, on_a_line, unknown_name
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

PLACE = "{}"
"""Where the word stands in a template."""
SEAT = "seat"
"""Name of all queries that SEAT adds to those of WEAT."""
CONTROL = "control"
"""Value of `Query.about` for a query that is about no people."""
_NUMBERS = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")
_REMEDY = "give words this embedding has with --query FILE; those of WEAT are English"
_HOW = "name two with --targets A,B and two with --attributes C,D"
_TWICE = "give the words of each set with commas, %s twice: %s he,him %s she,her"
_SUFFIXES = (".toml", ".json")
_WEFE_SETS = ("target_sets", "attribute_sets")
_WEFE_NAMES = ("target_sets_names", "attribute_sets_names")
_WEFE_UNUSED = ("query_name", "template")


@dataclass(frozen=True)
class Query:
    """Two named sets of target words (X, Y) and two of attribute words (A, B).

    Parameters
    ----------
    name : str
        Name in results.
    targets, attributes : two mappings, or two pairs of a name and a tuple of str
        ``{name: words, name: words}`` each, or ``((name, words), (name, words))``.
    source : str
        Origin of the words.
    pairs : tuple of pairs, optional
        Words of X and Y that belong together; by default the i-th words of both sets, where these
        are equally long.
    about : str
        Attribute of people that the query is about, such as ``gender``. ``control`` where it is
        about none and shows that the test works. Empty where it is not known.
    templates : (str, str), optional
        Sentence of a word of X or Y, and of one of A or B, with ``{}`` for the word; for `wordbias
        seat`, by default the same sentences for all words.

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
    templates: tuple[str, str] | None = None

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

    def find(self, vocabulary: Container[str], what: str = "") -> "FoundQuery":
        """Look every word up; `what` names the vocabulary in messages.

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
        found_pairs = None if pairs is None else resolve_pairs(pairs, vocabulary, where)
        return FoundQuery(self, (x, y, a, b), found_pairs)


def _two_named(given: Any, side: str) -> Pair:
    """Return two names with their words; refuse anything else."""
    try:
        (first, words), (second, others) = given.items() if isinstance(given, Mapping) else given
    except (TypeError, ValueError):
        first, words, second, others = "", "", "", ""
    if not (first and second) or isinstance(words, str) or isinstance(others, str):
        raise WordbiasError(
            f"{side}: expected two sets of words by name, "
            '{"career": [...], "family": [...]}; write Query(name, targets, attributes)'
        )
    return (str(first), tuple(words)), (str(second), tuple(others))


@dataclass(frozen=True)
class FoundQuery:
    """A query's words as one vocabulary spells them."""

    query: Query
    sets: tuple[Resolved[str], Resolved[str], Resolved[str], Resolved[str]]  # X, Y, A and B
    # pairs of the query, else the i-th words of both target sets, for i = 1, 2, …; None where it
    # has none and the sets, as listed, are not equally long
    pairs: Resolved[tuple[str, str]] | None

    def details(self) -> dict[str, Any]:
        """Return the details of rows about words: how many, which are missing, in which case."""
        named = dict(zip(self.query.names, self.sets, strict=True))
        forms = [form for resolved in self.sets for form in resolved.how.values()]
        return {
            "set": self.query.name,
            **({"about": self.query.about} if self.query.about else {}),
            "n": {name: len(resolved.found) for name, resolved in named.items()},
            "missing": {
                n: list(resolved.missing) for n, resolved in named.items() if resolved.missing
            },
            "case": {form: forms.count(form) for form in dict.fromkeys(forms)},
        }


SetsLike = str | Sequence[str] | Mapping[str, Iterable[str]] | Sequence[Iterable[str]]
"""Two sets of words: by name, by file or in full; in a text their names with a comma between."""
OneQuery = str | os.PathLike[str] | int | Query | Mapping[str, Any]
QueryLike = OneQuery | Sequence[OneQuery]
"""Names of queries, a file, or words: ``{"targets": …, "attributes": …}``; one or several."""


def load_queries(
    path: str | os.PathLike[str] | None = None,
    *,
    targets: SetsLike = (),
    attributes: SetsLike = (),
    remedy: str = _HOW,
) -> tuple[Query, ...]:
    """Read queries from a file; without `path`, WEAT 1-10 of Caliskan et al. (2017).

    A TOML file has a table ``[sets]``, a list of words under each name, and a table
    ``[queries.NAME]`` for each query. A query has ``targets = [x, y]`` and ``attributes = [a, b]``,
    names of sets, and perhaps ``source = "..."``, ``about = "gender"`` and ``templates``, see
    `Query`. A JSON file (suffix ``.json``) has either such word lists by name, as WEFE keeps its
    own, or what WEFE's ``Query.dict()`` returns, once or in a list.

    `targets` and `attributes` have two sets each: one query is made of them, in place of the
    file's.
    """
    file, sets, queries = _read(path)
    if targets or attributes:
        return (_own(file, sets, targets, attributes),)
    if not queries:
        raise WordbiasError(f"{file}: expected queries, found only sets of words; {remedy}")
    return queries


def as_queries(
    query: QueryLike = "all",
    *,
    targets: SetsLike = (),
    attributes: SetsLike = (),
    remedy: str = _HOW,
) -> tuple[Query, ...]:
    """Return queries by name, of a file, or one with words of its own; each once."""
    if isinstance(query, Query):
        return (_checked(query, "query"),)
    if isinstance(query, Mapping):
        refuse_unknown(query, ("targets", "attributes", "name", "about"), "query")
        file, sets, _ = _read(None)
        own_query = _own(file, sets, query.get("targets") or (), query.get("attributes") or ())
        name, about = (str(query.get(key, getattr(own_query, key))) for key in ("name", "about"))
        return (replace(own_query, name=name, about=about),)
    if isinstance(query, (list, tuple)) and query:
        selections = [as_queries(part, targets=targets, attributes=attributes) for part in query]
        return tuple({chosen: None for several in selections for chosen in several})
    if not isinstance(query, str | int | os.PathLike):
        raise UsageError(
            'query: expected names, a file, a Query or {"targets": {...}, "attributes": {...}}, '
            f"got {type(query).__name__}"
        )
    path, names = file_of(query)
    known = load_queries(path, targets=targets, attributes=attributes, remedy=remedy)
    return choose_query(known, names, seat_queries() if path is None else ())


@cache
def seat_queries() -> tuple[Query, ...]:
    """Return the queries that May et al. (2019) add to those of WEAT."""
    _, sets, _ = _read(None)
    return _from_toml(packaged("seat.toml"), sets)[1]


def file_of(query: str | int | os.PathLike[str]) -> tuple[str | None, str]:
    """Return the file that an argument names, None if it names none, and the names of queries."""
    text = str(query) if isinstance(query, int) else os.fspath(query)
    path, _, names = text.partition("::")
    if isinstance(query, os.PathLike) or path.endswith(_SUFFIXES) or os.path.isfile(path):
        return path, names or "all"
    return None, text


def choose_query(
    queries: Sequence[Query], selection: str, others: Sequence[Query] = ()
) -> tuple[Query, ...]:
    """Select queries by name, by numbers and ranges of the ten of WEAT, or ``all``."""
    # Of `others` ``seat`` is all, and ``all`` none.
    known = {query.name: query for query in (*queries, *others)}
    parts = [selection]
    if selection not in known:
        parts = [part.strip() for part in selection.split(",")]
    names = [name for part in parts if part for name in _names_in(part, known)]
    if "all" in names:
        return tuple(queries)
    if others:
        seat = [query.name for query in others]
        names = [expanded for name in names for expanded in (seat if name == SEAT else [name])]
    for name in names or [selection]:
        if name not in known:
            more = f", or {SEAT} (all after weat10)" if others else ""
            raise unknown_name("query", name, known, f"{more}, or all, or a .toml or .json file")
    return tuple(known[name] for name in dict.fromkeys(names))


def _names_in(part: str, known: Container[str]) -> list[str]:
    """Return the names that a name, a number or a range stands for."""
    match = None if part in known else _NUMBERS.fullmatch(part)
    if match is None:
        return [part]
    first, last = int(match[1]), int(match[2] or match[1])
    return [f"weat{number}" for number in range(first, last + 1)] or [part]


def group_queries(groups: Attribute | WordGroups, attributes: Pair) -> tuple[Query, ...]:
    """Make a query of every two groups, named ``first/second``, with the same attribute sets."""
    for name, _ in attributes:
        if name in groups.groups:
            raise WordbiasError(
                f"{groups.name}: {name} is a group and a set of attribute words; name another set"
            )
    if isinstance(groups, Attribute):
        every_two = [groups]
    else:
        every_two = [Attribute.of(two) for two in groups.two_by_two()]
    return tuple(
        Query(
            "/".join(two.groups),
            ((two.groups[0], two.members[0]), (two.groups[1], two.members[1])),
            attributes,
            two.source,
            two.pairs,
            groups.name,
        )
        for two in every_two
    )


def load_two_sets(attributes: SetsLike, path: str | os.PathLike[str] | None = None) -> Pair:
    """Return two sets of attribute words; see `load_queries`."""
    file, sets, _ = _read(path)
    pair = _chosen(file, attributes, sets, "--attributes", "AB")
    _refuse_common(pair, f"{file}: --attributes")
    return pair


def _own(
    file: Traversable, sets: Mapping[str, Words], targets: SetsLike, attributes: SetsLike
) -> Query:
    """Make a query of two sets each."""
    x = _chosen(file, targets, sets, "--targets", "XY")
    y = _chosen(file, attributes, sets, "--attributes", "AB")
    name = " × ".join("/".join(name for name, _ in two) for two in (x, y))
    where = str(file) if _are_names(targets) and _are_names(attributes) else "query"
    return _checked(Query(name, x, y, where), where)


def _are_names(given: SetsLike) -> TypeGuard[Sequence[str]]:
    """Return whether sets are given by texts, not by lists of words."""
    return not isinstance(given, Mapping) and all(isinstance(name, str) for name in given)


def _chosen(
    file: Traversable, given: SetsLike, sets: Mapping[str, Words], where: str, letters: str
) -> Pair:
    """Return two sets given by names, files or words."""
    if isinstance(given, (list, tuple)) and len(given) == 1 and isinstance(given[0], str):
        given = given[0]
    if isinstance(given, str):
        given = comma_separated(given)
    if _are_names(given):
        names = _as_names(list(given), where)
        first, second = (
            _one_set(file, name, sets, where, letter)
            for name, letter in zip(names, letters, strict=True)
        )
        return first, second
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


def _one_set(
    file: Traversable, text: str, sets: Mapping[str, Words], where: str, letter: str
) -> Named:
    """Return a set of a name, of a file with a word in each line, or of words with commas."""
    if text in sets:
        return text, sets[text]
    if os.path.isfile(text):
        lines = [line.strip() for line in read_text(Path(text)).splitlines()]
        return Path(text).stem, as_words([line for line in lines if line], f"{where}: {text}")
    words = comma_separated(text)
    if len(words) > 1:
        return letter, as_words(words, where)
    raise WordbiasError(
        f"{where}: no set {text!r} in {file}, and no such file; it has {', '.join(sets) or 'none'}:"
        f" correct the name, or {_TWICE % (where, where, where)}"
    )


def _read(
    path: str | os.PathLike[str] | None,
) -> tuple[Traversable, dict[str, Words], tuple[Query, ...]]:
    """Return the file, its sets and its queries; by default those of WEAT."""
    file = packaged("weat.toml") if path is None else Path(path)
    return file, *(_from_json(file) if file.name.endswith(".json") else _from_toml(file))


def _from_toml(
    file: Traversable, known: Mapping[str, Words] | None = None
) -> tuple[dict[str, Words], tuple[Query, ...]]:
    tables = read_toml(file)
    refuse_unknown(tables, ("sets", "queries"), str(file))
    lists = as_table(tables.get("sets"), f"{file}: [sets]")
    sets = dict(known or {})
    sets |= {name: as_words(words, f"{file}: [sets] {name}") for name, words in lists.items()}
    queries = []
    for name, value in as_table(tables.get("queries"), f"{file}: [queries]").items():
        where = f"{file}: [queries.{name}]"
        fields = as_table(value, where)
        refuse_unknown(fields, ("targets", "attributes", "source", "about", "templates"), where)
        source = _text(fields, "source", where, str(file))
        about = _text(fields, "about", where)
        x, y = (
            _two(file, _as_names(fields.get(key), f"{where} {key}"), sets, f"{where} {key}")
            for key in ("targets", "attributes")
        )
        query = Query(name, x, y, source, about=about, templates=_templates(fields, where))
        queries.append(_checked(query, str(file)))
    return sets, tuple(queries)


def _text(fields: Mapping[str, Any], key: str, where: str, default: str = "") -> str:
    text = fields.get(key, default)
    if not isinstance(text, str):
        raise complain(f"{where} {key}", "a text", text, f'write {key} = "..." in quotes')
    return text


def _templates(fields: Mapping[str, Any], where: str) -> tuple[str, str] | None:
    """Read the sentences of the words of X or Y, and of A or B; None if there are none."""
    given = fields.get("templates")
    if given is None:
        return None
    texts = [text for text in given if isinstance(text, str) and PLACE in text] if given else []
    if not isinstance(given, list) or len(given) != 2 or len(texts) != 2:
        remedy = 'write templates = ["{} is a doctor.", "The doctor is {}."]'
        raise complain(f"{where} templates", f"two sentences with {PLACE}", given, remedy)
    return texts[0], texts[1]


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
    if isinstance(value, dict) and not set(_WEFE_SETS) & value.keys():
        return {name: as_words(words, f"{file}: {name}") for name, words in value.items()}, ()
    items = value if isinstance(value, list) else [value]
    queries = tuple(_from_wefe(item, f"{file}: query {i}") for i, item in enumerate(items, 1))
    seen: set[str] = set()
    for query in queries:
        if query.name in seen:
            raise WordbiasError(f"{file}: two queries {query.name!r}; rename one")
        seen.add(query.name)
    return {}, queries


def _from_wefe(value: object, where: str) -> Query:
    fields = as_table(value, where)
    refuse_unknown(fields, (*_WEFE_SETS, *_WEFE_NAMES, *_WEFE_UNUSED), where)
    x, y = (
        _named_lists(fields, sets, names, where)
        for sets, names in zip(_WEFE_SETS, _WEFE_NAMES, strict=True)
    )
    name = fields.get("query_name") or f"{x[0][0]}/{x[1][0]} × {y[0][0]}/{y[1][0]}"
    if not isinstance(name, str):
        raise complain(f"{where}: query_name", "a text", name, "put it in quotes")
    return _checked(Query(name, x, y, where), where)


def _named_lists(fields: Mapping[str, Any], sets: str, names: str, where: str) -> Pair:
    lists = fields.get(sets)
    if not isinstance(lists, list) or len(lists) != 2:
        remedy = "leave two of them, or make one query of each two"
        raise complain(f"{where}: {sets}", "two lists of words", lists, remedy)
    labels = fields.get(names) or [f"{sets[:-1]} 0", f"{sets[:-1]} 1"]
    first, second = _as_names(labels, f"{where}: {names}")
    return (
        (first, as_words(lists[0], f"{where}: {first}")),
        (second, as_words(lists[1], f"{where}: {second}")),
    )


# Checks


def _as_names(value: object, where: str) -> Words:
    """Return the names of two different sets; refuse anything else."""
    names = as_words(value, where) if value else ()
    if len(names) != 2:
        raise WordbiasError(
            f"{where}: expected the names of two different sets, found {len(names)}; "
            'write two, such as "male" and "female"'
            + (f", or {_TWICE % (where, where, where)}" if where.startswith("--") else "")
        )
    return names


def _checked(query: Query, where: str) -> Query:
    """Refuse sets that are compared with each other and share a word."""
    if len(set(query.names)) < 4:
        raise WordbiasError(
            f"{where}: {query.name}: expected four different sets, found {', '.join(query.names)}; "
            "give each another name"
        )
    for two in (query.targets, query.attributes):
        _refuse_common(two, f"{where}: {query.name}")
    return query


def _refuse_common(two: Pair, where: str) -> None:
    """Refuse two sets that share a word."""
    (first, words), (second, others) = two
    known = {word.lower() for word in words}
    for word in others:
        if word.lower() in known:
            raise WordbiasError(
                f"{where}: expected sets without a common word, found {word!r} in both {first} and "
                f"{second}; remove it from one"
            )
