"""Files of queries: our TOML, word sets as WEFE keeps them, queries as WEFE prints them."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

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
from wordbias.wordlists.queries import Pair, Query, Words
from wordbias.wordlists.query_checks import as_names, checked, disjoint, distinct

_SHAPE = ("target_sets", "attribute_sets", "target_sets_names", "attribute_sets_names")
_UNUSED = ("query_name", "template")
_HOW = "name two with --targets A,B and two with --attributes C,D"


def load_queries(
    path: str | Path | None = None,
    *,
    targets: Sequence[str] = (),
    attributes: Sequence[str] = (),
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
        Names of two sets each: one query is made of them, in place of the file's.
    remedy
        What to do about a file that has but sets.

    Raises
    ------
    WordbiasError
        The file cannot be read or something in it is not as described; the message names the
        file, the key, what was expected and found, and the remedy.
    """
    file = packaged("weat.toml") if path is None else Path(path)
    sets, queries = _from_json(file) if file.name.endswith(".json") else _from_toml(file)
    if targets or attributes:
        chosen = {"targets": list(targets), "attributes": list(attributes)}
        name = f"{'/'.join(targets)} × {'/'.join(attributes)}"
        return (_query(file, name, chosen, sets, ("--targets", "--attributes"), str(file)),)
    if not queries:
        raise WordbiasError(f"{file}: expected queries, found only sets of words; {remedy}")
    return queries


def load_two_sets(names: Sequence[str], path: str | Path | None = None) -> Pair:
    """Read two sets of attribute words by name; see `load_queries` for the file.

    Raises
    ------
    WordbiasError
        As there; and if they have a word in common.
    """
    file = packaged("weat.toml") if path is None else Path(path)
    sets, _ = _from_json(file) if file.name.endswith(".json") else _from_toml(file)
    found = _two(file, as_names(list(names), "--attributes"), sets, "--attributes")
    disjoint(found, f"{file}: --attributes")
    return found


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
