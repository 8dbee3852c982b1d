"""Reading the fields of an attribute file: pairs, and words given here or in another file."""

from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.wordlists._toml import as_table, as_words, complain, packaged, read_toml

Pair = tuple[str, str]

_EXAMPLE = 'write it as [["church", "mosque", "synagogue"]]'


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


def as_sets(value: object, where: str) -> tuple[tuple[str, ...], ...]:
    """Return a list of sets of at least two words, without repetitions."""
    if not isinstance(value, list):
        raise complain(where, "a list of sets", value, _EXAMPLE)
    return tuple(dict.fromkeys(_as_set(item, where) for item in value))


def _as_set(value: object, where: str) -> tuple[str, ...]:
    words = as_words(value, where)
    if len(words) < 2:
        raise WordbiasError(
            f"{where}: expected at least two different words in a set, found "
            f"{', '.join(words) or 'none'}; {_EXAMPLE}"
        )
    return words


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
