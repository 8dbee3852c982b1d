"""Reading a file of word groups: `WordGroups.load` says what stands in it."""

from collections.abc import Iterable, Sequence
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import Any, TypedDict

from wordbias.errors import WordbiasError
from wordbias.wordlists._fields import Pair, as_pair, as_pairs, as_sets, words_of
from wordbias.wordlists._toml import as_table, complain, read_toml, refuse_unknown
from wordbias.wordlists.subjects import Subjects, read_subjects

Words = tuple[str, ...]

_KEYS = (
    "name",
    "source",
    "groups",
    "pairs",
    "sets",
    "direction",
    "specific",
    "subjects",
    "first_names",
)
_PAIRS = ("definitional", "equalise")
_SETS = (*_PAIRS, "wider", "specific")
_NO_WORDS = 'write, for example, young = ["young", "youth"]'


class GroupFields(TypedDict):
    """What a file says of its groups, under the names `WordGroups` gives it."""

    name: str
    groups: Words
    members: tuple[Words, ...]
    definitional: tuple[Words, ...]
    equalise: tuple[Words, ...]
    wider: tuple[Words, ...]
    direction: Pair | None
    specific: frozenset[str]
    source: str
    subjects: Subjects
    first_names: bool
    unlisted: frozenset[str]


def read_groups(file: Traversable) -> GroupFields:
    """Read a file of groups; what it holds is told by `WordGroups.load`.

    Raises
    ------
    WordbiasError
        The file cannot be read or something in it is not as described; the message names the
        file, the key, what was expected and found, and the remedy.
    """
    tables = read_toml(file)
    refuse_unknown(tables, _KEYS, str(file))
    groups, members = _groups(file, tables)
    sets = _sets(file, tables, len(groups))
    listed = _specific(file, tables)
    named = frozenset(word for found in sets.values() for words in found for word in words)
    return GroupFields(
        name=_text(file, tables, "name", PurePath(file.name).stem),
        groups=groups,
        members=members,
        definitional=sets["definitional"],
        equalise=sets["equalise"],
        wider=sets.get("wider", ()),
        direction=_direction(file, tables, groups, sets["definitional"]),
        specific=listed | named,
        source=_text(file, tables, "source", str(file)),
        subjects=read_subjects(file, tables, groups),
        first_names=_flag(file, tables, "first_names"),
        unlisted=named - listed,
    )


def _flag(file: Traversable, tables: dict[str, Any], key: str) -> bool:
    value = tables.get(key, False)
    if not isinstance(value, bool):
        raise complain(f"{file}: {key}", "true or false", value, f"write {key} = true")
    return value


def _text(file: Traversable, tables: dict[str, Any], key: str, default: str) -> str:
    value = tables.get(key, default)
    if not isinstance(value, str) or not value.strip():
        raise complain(f"{file}: {key}", "a text", value, f'write {key} = "..." in quotes')
    return value


def _groups(file: Traversable, tables: dict[str, Any]) -> tuple[Words, tuple[Words, ...]]:
    where = f"{file}: [groups]"
    lists = as_table(tables.get("groups"), where)
    if len(lists) < 2:
        found = ", ".join(lists) or "none"
        raise WordbiasError(
            f"{where}: expected two groups or more, found {len(lists)} ({found}); {_NO_WORDS}"
        )
    members = tuple(_members(file, words, f"{where} {name}") for name, words in lists.items())
    refuse_common(members, where)
    return tuple(lists), members


def _members(file: Traversable, value: object, where: str) -> Words:
    words = words_of(file, value, where)
    if len(words) < 2:
        raise WordbiasError(
            f"{where}: expected at least two different words, found {len(words)}; add words"
        )
    return words


def refuse_common(members: Iterable[Words], where: str) -> None:
    """Refuse groups that share a word."""
    seen: set[str] = set()
    for words in members:
        for word in words:
            if word.lower() in seen:
                raise WordbiasError(
                    f"{where}: expected groups without a common word, found {word!r} in both; "
                    "remove it from one"
                )
        seen |= {word.lower() for word in words}


def _sets(file: Traversable, tables: dict[str, Any], k: int) -> dict[str, tuple[Words, ...]]:
    """Read the sets, or the pairs, which only two groups have."""
    if k == 2 and "sets" not in tables:
        where = f"{file}: [pairs]"
        both = as_table(tables.get("pairs"), where)
        refuse_unknown(both, _PAIRS, where)
        return {key: as_pairs(both.get(key, []), f"{where} {key}") for key in _PAIRS}
    where = f"{file}: [sets]"
    if "pairs" in tables:
        raise WordbiasError(f"{file}: [pairs]: {k} groups have [sets] in place of pairs; rename it")
    lists = as_table(tables.get("sets"), where)
    refuse_unknown(lists, _SETS, where)
    found = {key: as_sets(lists.get(key, []), f"{where} {key}") for key in _SETS[:-1]}
    for key, sets in found.items():
        _short_enough(sets, k, f"{where} {key}")
    return found


def _short_enough(sets: Iterable[Words], k: int, where: str) -> None:
    for words in sets:
        if len(words) > k:
            raise WordbiasError(
                f"{where}: expected a word of each of {k} groups at most, found {len(words)} "
                f"({', '.join(words)}); leave words out"
            )


def _direction(
    file: Traversable, tables: dict[str, Any], groups: Words, definitional: Sequence[Words]
) -> Pair | None:
    if "direction" not in tables:
        return first_pair(definitional) if len(groups) == 2 else None
    if len(groups) > 2:
        raise WordbiasError(
            f"{file}: direction: {len(groups)} groups have no one direction; remove it"
        )
    return as_pair(tables["direction"], f"{file}: direction")


def _specific(file: Traversable, tables: dict[str, Any]) -> frozenset[str]:
    inside = as_table(tables.get("sets"), f"{file}: [sets]").get("specific", [])
    return frozenset(words_of(file, tables.get("specific", []), f"{file}: specific")).union(
        words_of(file, inside, f"{file}: [sets] specific")
    )


def first_pair(sets: Sequence[Words]) -> Pair | None:
    """Return the first of the sets if it is a pair: the axis where none is named."""
    return (sets[0][0], sets[0][1]) if sets and len(sets[0]) == 2 else None
