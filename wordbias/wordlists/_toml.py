"""Reading a word-list file and checking what stands in it; every complaint is one line."""

import tomllib
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.lines import read_bounded

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
    """Refuse tables in tables in tables, such as a key of 5,000 parts makes."""
    inside = [(key, part) for key, part in tables.items() if isinstance(part, (dict, list))]
    for _ in range(_DEEPEST):
        inside = [
            (key, part)
            for key, one in inside
            for part in (one.values() if isinstance(one, dict) else one)
            if isinstance(part, (dict, list))
        ]
    if inside:
        raise WordbiasError(
            f"{file}: the key {inside[0][0]!r:.60} leads more than {_DEEPEST} tables or lists "
            "deep; no word list is so deep: correct it there"
        )


def complain(where: str, expected: str, found: object, remedy: str) -> WordbiasError:
    """Return the error for a value of the wrong kind, ready to be raised."""
    return WordbiasError(f"{where}: expected {expected}, found {_shown(found)}; {remedy}")


def _shown(value: object) -> str:
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
    """Return a list of words without repetitions, refusing anything that is not one."""
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
    """Complain about the first key that nobody would read: most likely a misspelling."""
    expected = tuple(known)
    for key in table:
        if key not in expected:
            raise WordbiasError(
                f"{where}: unknown key {key!r}; expected one of {', '.join(expected)}: "
                "rename or remove it"
            )
