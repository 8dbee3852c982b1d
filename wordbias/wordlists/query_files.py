"""Files of queries: our TOML, word sets as WEFE keeps them, queries as WEFE prints them."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeGuard

from wordbias.errors import WordbiasError
from wordbias.wordlists._toml import (
    as_table,
    as_words,
    complain,
    packaged,
    read_text,
    read_toml,
    refuse_unknown,
)
from wordbias.wordlists.queries import Pair, Query, Words, choose_query
from wordbias.wordlists.query_checks import as_names, checked, disjoint, distinct

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
