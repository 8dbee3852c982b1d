"""Word-list files, in TOML or one word a line, and checks of their fields; errors are one line."""

import os
import tomllib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.text_files import read_bounded

Pair = tuple[str, str]

SETS_EXAMPLE = 'write it as [["church", "mosque", "synagogue"]]'
_DEEPEST = 20
_KINDS = {
    bool: "true or false",
    dict: "a table",
    float: "a number",
    int: "a number",
    list: "a list",
    str: "a text",
}


def packaged(name: str) -> Traversable:
    """Return the list `name` that comes with wordbias."""
    return files("wordbias.wordlists") / name


def read_text(file: Traversable) -> str:
    """Return the text of a UTF-8 file, with or without a byte-order mark."""
    try:
        data = read_bounded(file) if isinstance(file, Path) else file.read_bytes()
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        problem = "no such file; check the path"
    except (IsADirectoryError, NotADirectoryError):
        problem = "expected a file, found a folder; name one file in it"
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 (at byte {error.start}); save the file as UTF-8"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}; check the path and its permissions"
    raise WordbiasError(f"{file}: {problem}")


def read_toml(file: Traversable) -> dict[str, Any]:
    """Return the tables of a TOML file."""
    text = read_text(file)
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits
        message = str(error).replace("\n", "\\n")
        raise WordbiasError(f"{file}: not valid TOML: {message}; correct it there") from None
    _check_depth(tables, file)
    return tables


def _check_depth(tables: dict[str, Any], file: Traversable) -> None:
    """Refuse deeply nested tables, such as a key of 5,000 parts makes."""
    inside = [(key, part) for key, part in tables.items() if isinstance(part, (dict, list))]
    for _ in range(_DEEPEST):
        inside = [
            (key, part)
            for key, nested in inside
            for part in (nested.values() if isinstance(nested, dict) else nested)
            if isinstance(part, (dict, list))
        ]
    if inside:
        raise WordbiasError(
            f"{file}: the key {inside[0][0]!r:.60} leads more than {_DEEPEST} tables or lists "
            "deep; no word list is so deep: correct it there"
        )


def complain(where: str, expected: str, given: object, remedy: str) -> WordbiasError:
    """Return the error for a value of the wrong kind, ready to be raised."""
    return WordbiasError(f"{where}: expected {expected}, found {_described(given)}; {remedy}")


def _described(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"the text {value!r}"
    if isinstance(value, list):
        return f"the list {value!r}" if len(value) <= 4 else f"a list of {len(value)}"
    return _KINDS.get(type(value), "a date or time")


def as_table(value: object, where: str) -> dict[str, Any]:
    """Return `value` if it is a TOML table; an absent one is empty."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    raise complain(where, "a table", value, "give it a [heading] of its own")


def as_words(value: object, where: str) -> tuple[str, ...]:
    """Return a list of words without repetitions; refuse anything else."""
    if not isinstance(value, list):
        raise complain(where, "a list of words", value, 'write it as ["one", "two"]')
    return tuple(dict.fromkeys(_as_word(word, where) for word in value))


def _as_word(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise complain(where, "a list of words", value, 'put every word in quotes: "one"')
    word = value.strip(" \t\r\n")
    if not word:
        raise WordbiasError(f"{where}: expected words, found an empty word; remove it")
    return word


def refuse_unknown(table: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse the first key that is not known: most likely a misspelling."""
    expected = tuple(known)
    for key in table:
        if key not in expected:
            raise WordbiasError(
                f"{where}: unknown key {key!r}; expected one of {', '.join(expected)}: "
                "rename or remove it"
            )


def as_pairs(value: object, where: str) -> tuple[Pair, ...]:
    """Return a list of pairs without repetitions; refuse anything else."""
    if not isinstance(value, list):
        raise complain(where, "a list of pairs", value, 'write it as [["a", "b"], ["c", "d"]]')
    return tuple(dict.fromkeys(as_pair(item, where) for item in value))


def as_pair(value: object, where: str) -> Pair:
    """Return a pair of two different words; refuse anything else."""
    words = as_words(value, where) if isinstance(value, list) else ()
    if len(words) != 2 or not isinstance(value, list) or len(value) != 2:
        raise complain(where, "a pair of two different words", value, 'write it as ["a", "b"]')
    return words[0], words[1]


def as_sets(value: object, where: str) -> tuple[tuple[str, ...], ...]:
    """Return a list of sets of at least two words, without repetitions."""
    if not isinstance(value, list):
        raise complain(where, "a list of sets", value, SETS_EXAMPLE)
    return tuple(dict.fromkeys(_as_set(item, where) for item in value))


def _as_set(value: object, where: str) -> tuple[str, ...]:
    words = as_words(value, where)
    if len(words) < 2:
        raise WordbiasError(
            f"{where}: expected at least two different words in a set, found "
            f"{', '.join(words) or 'none'}; {SETS_EXAMPLE}"
        )
    return words


def words_of(file: Traversable, value: object, where: str) -> tuple[str, ...]:
    """Return the words of a list, or of the list in another file that ``"FILE#key"`` names."""
    if not isinstance(value, str) or "#" not in value:
        return as_words(value, where)
    name, _, key = value.partition("#")
    other = packaged(name) if not isinstance(file, Path) else file.parent / name
    tables = read_toml(other)
    if key == "*":
        lists = [as_words(words, f"{other}: {key}") for key, words in tables.items()]
        return tuple(dict.fromkeys(word for words in lists for word in words))
    node: object = tables
    for part in key.split("."):
        node = as_table(node, f"{where}: {value}").get(part)
    return as_words(node, f"{other}: {key}")


def wordlist(path: str | os.PathLike[str] | Sequence[str]) -> tuple[str, ...]:
    """Return the words of a list."""
    if not isinstance(path, (str, os.PathLike)):
        words = tuple(dict.fromkeys(path))
        if not words:
            raise WordbiasError("vocab: expected at least one word, found none")
        return words
    file = Path(path)
    if file.suffix.lower() != ".toml":
        return read_lines(file)
    words = as_words(read_toml(file).get("words"), f"{file}: words")
    return _not_empty(words, file)


def read_lines(file: Traversable) -> tuple[str, ...]:
    """Return the words of a one-word-a-line file."""
    # Not splitlines() and a bare strip(): U+0085 and U+00A0 are words in GloVe.
    lines = (line.strip(" \t\r") for line in read_text(file).split("\n"))
    words = (line.removesuffix(",").rstrip(" \t") for line in lines if not line.startswith("#"))
    return _not_empty(tuple(dict.fromkeys(word for word in words if word)), file)


def _not_empty(words: tuple[str, ...], file: Traversable) -> tuple[str, ...]:
    if not words:
        raise WordbiasError(f"{file}: expected at least one word, found none; add one word a line")
    return words
