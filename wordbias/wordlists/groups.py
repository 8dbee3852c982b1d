"""Named groups of words, two or more: what an attribute and its file consist of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from itertools import combinations
from pathlib import Path, PurePath
from typing import Any, Self

from wordbias.errors import WordbiasError
from wordbias.wordlists._fields import Pair, as_pair, as_pairs, as_sets, words_of
from wordbias.wordlists._toml import as_table, complain, read_toml, refuse_unknown
from wordbias.wordlists.built_in import asked

Words = tuple[str, ...]

_KEYS = ("name", "source", "groups", "pairs", "sets", "direction", "specific")
_PAIRS = ("definitional", "equalise")
_SETS = (*_PAIRS, "wider", "specific")
_NO_WORDS = 'write, for example, young = ["young", "youth"]'


@dataclass(frozen=True)
class WordGroups:
    """Named groups of words and what goes with them; `Attribute` is the case of two.

    Parameters
    ----------
    name
        What the groups differ in: ``"religion"``.
    groups
        Their names, at least two.
    members
        The words of each.
    definitional, equalise
        Sets of words, one of each group in their order; of fewer, the first groups. May be empty.
    wider
        Sets over more groups than those, from which a choice of two groups has its pairs.
    direction
        The pair whose difference is the axis, where there are two groups.
    specific
        Words that keep their meaning when the rest is neutralised, those of all sets among them.
    source
        Where the words come from.
    """

    name: str
    groups: Words
    members: tuple[Words, ...] = field(repr=False)
    definitional: tuple[Words, ...] = field(default=(), repr=False)
    equalise: tuple[Words, ...] = field(default=(), repr=False)
    wider: tuple[Words, ...] = field(default=(), repr=False)
    direction: Pair | None = None
    specific: frozenset[str] = field(default=frozenset(), repr=False)
    source: str = ""

    @classmethod
    def load(cls, path: str | Path | None = None) -> "WordGroups":
        """Read groups by name or from a file; without `path`, the built-in gender.

        The file has a table ``[groups]`` with two lists of words or more, and may have ``name``,
        ``source``, ``specific = [...]`` and a table ``[sets]`` with ``definitional``, ``equalise``
        and ``wider``, lists of lists with one word of each group. With two groups the table may be
        called ``[pairs]``, and there may be ``direction = [a, b]``. Instead of a list of words
        ``"FILE#key"`` names one in another TOML file beside it, ``"FILE#*"`` all of that file's.

        Parameters
        ----------
        path
            A built-in name or a file; ``religion:christian,hindu`` are two groups of it.

        Raises
        ------
        WordbiasError
            The file cannot be read or something in it is not as described; the message names the
            file, the key, what was expected and found, and the remedy.
        """
        file, chosen = asked(path)
        found = _read(file)
        return found.choose(chosen) if chosen else found

    def choose(self, names: Sequence[str]) -> Self:
        """Keep some groups, in the order named; of the sets, those with a word of each.

        Raises
        ------
        WordbiasError
            If a name is none of the groups, or fewer than two different ones are named.
        """
        for name in names:
            if name not in self.groups:
                known = ", ".join(self.groups)
                raise WordbiasError(f"{self.name}: no group {name!r}; its groups are {known}")
        if len(set(names)) != len(names) or len(names) < 2:
            said = ", ".join(names) or "none"
            raise WordbiasError(f"{self.name}: expected two different groups, found {said}")
        places = [self.groups.index(name) for name in names]
        definitional = _columns((*self.definitional, *self.wider), places)
        two_at_all = len(self.groups) == 2 and self.direction
        return type(self)(
            self.name if len(names) == len(self.groups) else f"{self.name} {'/'.join(names)}",
            tuple(names),
            tuple(self.members[i] for i in places),
            definitional,
            _columns(self.equalise, places),
            direction=_turned(self.direction, places) if two_at_all else _first(definitional),
            specific=self.specific,
            source=self.source,
        )

    def two_by_two(self) -> list[Self]:
        """Return every choice of two groups."""
        return [self.choose(names) for names in combinations(self.groups, 2)]


def _columns(sets: Iterable[Words], places: Sequence[int]) -> tuple[Words, ...]:
    long_enough = (words for words in sets if len(words) > max(places))
    chosen = (tuple(words[i] for i in places) for words in long_enough)
    return tuple(dict.fromkeys(chosen))


def _turned(direction: Pair | None, places: Sequence[int]) -> Pair | None:
    return direction and (direction[places[0]], direction[places[1]])


def _first(sets: Sequence[Words]) -> Pair | None:
    return (sets[0][0], sets[0][1]) if sets and len(sets[0]) == 2 else None


def _read(file: Traversable) -> WordGroups:
    tables = read_toml(file)
    refuse_unknown(tables, _KEYS, str(file))
    groups, members = _groups(file, tables)
    sets = _sets(file, tables, len(groups))
    specific = _specific(file, tables)
    return WordGroups(
        name=_text(file, tables, "name", PurePath(file.name).stem),
        groups=groups,
        members=members,
        **sets,
        direction=_direction(file, tables, groups, sets["definitional"]),
        specific=frozenset(specific).union(*(word for listed in sets.values() for word in listed)),
        source=_text(file, tables, "source", str(file)),
    )


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
    _disjoint(members, where)
    return tuple(lists), members


def _members(file: Traversable, value: object, where: str) -> Words:
    words = words_of(file, value, where)
    if len(words) < 2:
        raise WordbiasError(
            f"{where}: expected at least two different words, found {len(words)}; add words"
        )
    return words


def _disjoint(members: Iterable[Words], where: str) -> None:
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
        for words in sets:
            if len(words) > k:
                shown = ", ".join(words)
                raise WordbiasError(
                    f"{where} {key}: expected a word of each of {k} groups at most, found "
                    f"{len(words)} ({shown}); leave words out"
                )
    return found


def _direction(
    file: Traversable, tables: dict[str, Any], groups: Words, definitional: Sequence[Words]
) -> Pair | None:
    if "direction" not in tables:
        return _first(definitional) if len(groups) == 2 else None
    if len(groups) > 2:
        raise WordbiasError(
            f"{file}: direction: {len(groups)} groups have no one direction; remove it"
        )
    return as_pair(tables["direction"], f"{file}: direction")


def _specific(file: Traversable, tables: dict[str, Any]) -> set[str]:
    inside = as_table(tables.get("sets"), f"{file}: [sets]").get("specific", [])
    return {
        *words_of(file, tables.get("specific", []), f"{file}: specific"),
        *words_of(file, inside, f"{file}: [sets] specific"),
    }
