"""Attribute files: finding one by name, and reading its groups, pairs, sets and subjects."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from wordbias.errors import WordbiasError, unknown_name
from wordbias.wordlists.toml import (
    SETS_EXAMPLE,
    Pair,
    as_pair,
    as_pairs,
    as_sets,
    as_table,
    as_words,
    complain,
    packaged,
    read_toml,
    refuse_unknown,
    words_of,
)

Words = tuple[str, ...]
Subjects = Mapping[str, tuple[Words, ...]]
"""For each kind of word the words of every group, in the order of the groups."""

ATTRIBUTES = {
    "gender": "female and male first names, English pairs",
    "gender-de": "the same in German",
    "gender-fr": "the same in French",
    "gender-es": "the same in Spanish",
    "gender-it": "the same in Italian",
    "age": "words for the young and for the old",
    "religion": "words of five religions",
    "ethnicity": "first names by the ethnicity US bearers of them reported",
    "pronouns": "she, he, they and xe, for sentences about one person",
}
"""Built-in attributes, each with a short description."""
CASES = ("subject", "object", "possessive")
"""Cases of a pronoun, in their order in a file."""
SUBJECT_KINDS = ("nouns", "pronouns", "names", "occupations")

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
    "grammatical_gender",
    "unmarked",
    "cases",
)
_PAIR_KEYS = ("definitional", "equalise")
_SET_KEYS = (*_PAIR_KEYS, "wider", "specific")


# Finding a file


class GroupChoice(NamedTuple):
    """A file with groups of words, and the names of the groups chosen; none for all."""

    file: Traversable
    chosen: tuple[str, ...] = ()


def find_groups(text: object) -> GroupChoice:
    """Find the file and the groups that ``NAME|FILE[:GROUP,GROUP]`` names; gender by default."""
    # A built-in name comes before a file of that name, which ./NAME still reads; a `Path` is always
    # a file.
    if isinstance(text, Path):
        return GroupChoice(text)
    text = "gender" if text is None else text
    if not isinstance(text, str):
        raise WordbiasError(
            f"--groups: got {type(text).__name__}; expected one of {', '.join(ATTRIBUTES)}, a "
            'TOML file, or {"female": [...], "male": [...]}'
        )
    name, _, choice = text.rpartition(":")
    chosen = tuple(part.strip() for part in choice.split(","))
    if not name or (len(chosen) < 2 and name not in ATTRIBUTES) or Path(text).exists():
        return GroupChoice(_file_of(text))
    return GroupChoice(_file_of(name), chosen)


def _file_of(name: str) -> Traversable:
    if not name:
        raise WordbiasError(f"the attribute has no name; built in are {', '.join(ATTRIBUTES)}")
    if name in ATTRIBUTES:
        return packaged(f"{name}.toml")
    path = Path(name)
    if path.suffix or len(path.parts) > 1 or path.exists():
        return path
    raise unknown_name("attribute", name, ATTRIBUTES, ", or a TOML file with groups of words")


# Reading it


def read_groups(file: Traversable) -> dict[str, Any]:
    """Read a file of groups."""
    tables = read_toml(file)
    refuse_unknown(tables, _KEYS, str(file))
    groups, members = _groups(file, tables)
    sets = _sets_or_pairs(file, tables, len(groups))
    listed = frozenset(_specific(file, tables))
    in_sets = frozenset(
        word for word_sets in sets.values() for words in word_sets for word in words
    )
    return {
        "name": _text(file, tables, "name", PurePath(file.name).stem),
        "groups": groups,
        "members": members,
        "definitional": sets["definitional"],
        "equalise": sets["equalise"],
        "wider": sets.get("wider", ()),
        "direction": _direction(file, tables, groups, sets["definitional"]),
        "specific": listed | in_sets,
        "source": _text(file, tables, "source", str(file)),
        "subjects": _subjects(file, tables, groups),
        "first_names": _flag(file, tables, "first_names"),
        "unlisted": in_sets - listed,
        "grammatical_gender": _flag(file, tables, "grammatical_gender"),
        "unmarked": _unmarked(file, tables, groups),
        "cases": _cases(file, tables, groups),
    }


def _text(file: Traversable, tables: dict[str, Any], key: str, default: str) -> str:
    value = tables.get(key, default)
    if not isinstance(value, str) or not value.strip():
        raise complain(f"{file}: {key}", "a text", value, f'write {key} = "..." in quotes')
    return value


def _flag(file: Traversable, tables: dict[str, Any], key: str) -> bool:
    value = tables.get(key, False)
    if not isinstance(value, bool):
        raise complain(f"{file}: {key}", "true or false", value, f"write {key} = true")
    return value


def _unmarked(file: Traversable, tables: dict[str, Any], groups: Words) -> Words:
    """Read the groups that say nothing of a person, some of those of the file."""
    named = words_of(file, tables.get("unmarked", []), f"{file}: unmarked")
    refuse_unknown(dict.fromkeys(named), groups, f"{file}: unmarked")
    return named


def _cases(file: Traversable, tables: Mapping[str, Any], groups: Words) -> tuple[Words, ...]:
    """Read the pronouns of each group in the order of `CASES`; none without the table."""
    where = f"{file}: [cases]"
    lists = as_table(tables.get("cases"), where)
    if not lists:
        return ()
    refuse_unknown(lists, groups, where)
    pronouns: list[Words] = []
    for group in groups:
        words = lists.get(group, [])
        as_words(words, f"{where} {group}")
        if len(words) != len(CASES):
            raise WordbiasError(
                f"{where} {group}: expected {len(CASES)} words, {', '.join(CASES)}, found "
                f'{len(words)}; write them as in they = ["they", "them", "their"]'
            )
        pronouns.append(tuple(word.strip() for word in words))
    for case, forms in zip(CASES, zip(*pronouns, strict=True), strict=True):
        refuse_common(((word,) for word in forms), f"{where} {case}")
    return tuple(pronouns)


def _groups(file: Traversable, tables: dict[str, Any]) -> tuple[Words, tuple[Words, ...]]:
    where = f"{file}: [groups]"
    lists = as_table(tables.get("groups"), where)
    if len(lists) < 2:
        group_names = ", ".join(lists) or "none"
        raise WordbiasError(
            f"{where}: expected two groups or more, found {len(lists)} ({group_names}); "
            'write, for example, young = ["young", "youth"]'
        )
    members = {name: words_of(file, words, f"{where} {name}") for name, words in lists.items()}
    for name, words in members.items():
        if len(words) < 2:
            raise WordbiasError(
                f"{where} {name}: expected at least two different words, found {len(words)}; add "
                "words"
            )
    refuse_common(members.values(), where)
    return tuple(members), tuple(members.values())


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


def _sets_or_pairs(
    file: Traversable, tables: dict[str, Any], k: int
) -> dict[str, tuple[Words, ...]]:
    """Read the table ``[pairs]``, which only two groups can have, or ``[sets]``."""
    if k == 2 and "sets" not in tables:
        where = f"{file}: [pairs]"
        pairs = as_table(tables.get("pairs"), where)
        refuse_unknown(pairs, _PAIR_KEYS, where)
        return {key: as_pairs(pairs.get(key, []), f"{where} {key}") for key in _PAIR_KEYS}
    if "pairs" in tables:
        raise WordbiasError(f"{file}: [pairs]: {k} groups have [sets] in place of pairs; rename it")
    sets_by_key = _sets(file, tables)
    for key, sets in sets_by_key.items():
        for words in sets:
            if len(words) > k:
                raise WordbiasError(
                    f"{file}: [sets] {key}: expected a word of each of {k} groups at most, found "
                    f"{len(words)} ({', '.join(words)}); leave words out"
                )
    return sets_by_key


def _sets(file: Traversable, tables: dict[str, Any]) -> dict[str, tuple[Words, ...]]:
    where = f"{file}: [sets]"
    lists = as_table(tables.get("sets"), where)
    refuse_unknown(lists, _SET_KEYS, where)
    return {key: as_sets(lists.get(key, []), f"{where} {key}") for key in _SET_KEYS[:-1]}


def _specific(file: Traversable, tables: dict[str, Any]) -> Words:
    in_sets = as_table(tables.get("sets"), f"{file}: [sets]").get("specific", [])
    return (
        *words_of(file, in_sets, f"{file}: [sets] specific"),
        *words_of(file, tables.get("specific", []), f"{file}: specific"),
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


def first_pair(sets: Sequence[Words]) -> Pair | None:
    """Return the first of the sets if it is a pair: the axis where none is named."""
    return (sets[0][0], sets[0][1]) if sets and len(sets[0]) == 2 else None


def _subjects(file: Traversable, tables: Mapping[str, Any], groups: Sequence[str]) -> Subjects:
    """Read the tables ``[subjects.nouns]``, ``[subjects.names]``, …, a list for every group."""
    where = f"{file}: [subjects]"
    kinds = as_table(tables.get("subjects"), where)
    refuse_unknown(kinds, SUBJECT_KINDS, where)
    return {kind: _subjects_of(file, kinds[kind], groups, f"{where} {kind}") for kind in kinds}


def _subjects_of(
    file: Traversable, value: object, groups: Sequence[str], where: str
) -> tuple[Words, ...]:
    lists = as_table(value, where)
    refuse_unknown(lists, groups, where)
    subjects: list[Words] = []
    for group in groups:
        words = words_of(file, lists.get(group, []), f"{where} {group}")
        if not words:
            raise WordbiasError(f"{where}: expected words of {group}, found none; add some")
        subjects.append(words)
    seen: set[str] = set()
    for words in subjects:
        if both := seen.intersection(words):
            raise WordbiasError(f"{where}: {min(both)!r} is in two groups; remove it from one")
        seen.update(words)
    return tuple(subjects)


class SetFields(NamedTuple):
    """Fields of `wordbias.wordlists.WordSets` as a file gives them."""

    name: str
    definitional: tuple[Words, ...]
    equalise: tuple[Words, ...]
    specific: frozenset[str]


def read_sets(file: Traversable) -> SetFields:
    """Read the table ``[sets]`` of a file, which may have no groups."""
    tables = read_toml(file)
    refuse_unknown(tables, ("name", "source", "sets", "groups", "specific", "subjects"), str(file))
    sets = _sets(file, tables)
    if not sets["definitional"]:
        raise WordbiasError(
            f"{file}: [sets]: expected definitional sets, found none; {SETS_EXAMPLE}"
        )
    specific = _specific(file, tables)
    name = _text(file, tables, "name", PurePath(file.name).stem)
    every = frozenset(specific).union(
        *(words for word_sets in sets.values() for words in word_sets)
    )
    return SetFields(name, sets["definitional"], sets["equalise"], every)
