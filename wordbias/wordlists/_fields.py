"""Reading the fields of an attribute file: pairs, and words given here or in another file."""

from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from wordbias.wordlists._toml import as_table, as_words, complain, packaged, read_toml

Pair = tuple[str, str]


def as_pairs(value: object, where: str) -> tuple[Pair, ...]:
    """Return a list of pairs without repetitions, refusing anything that is not one."""
    if not isinstance(value, list):
        raise complain(where, "a list of pairs", value, 'write it as [["a", "b"], ["c", "d"]]')
    return tuple(dict.fromkeys(as_pair(item, where) for item in value))


def as_pair(value: object, where: str) -> Pair:
    """Return a pair of two different words, refusing anything that is not one."""
    words = as_words(value, where) if isinstance(value, list) else ()
    if len(words) != 2 or not isinstance(value, list) or len(value) != 2:
        raise complain(where, "a pair of two different words", value, 'write it as ["a", "b"]')
    return words[0], words[1]


def words_of(file: Traversable, value: object, where: str) -> tuple[str, ...]:
    """Return the words of a list, or of the list elsewhere that ``"FILE#key"`` names."""
    if not isinstance(value, str) or "#" not in value:
        return as_words(value, where)
    name, _, key = value.partition("#")
    other = packaged(name) if not isinstance(file, Path) else file.parent / name
    tables = read_toml(other)
    if key == "*":
        lists = [as_words(words, f"{other}: {key}") for key, words in tables.items()]
        return tuple(dict.fromkeys(word for words in lists for word in words))
    return as_words(_at(tables, key, f"{where}: {value}"), f"{other}: {key}")


def _at(tables: dict[str, Any], key: str, where: str) -> object:
    value: object = tables
    for part in key.split("."):
        value = as_table(value, where).get(part)
    return value
