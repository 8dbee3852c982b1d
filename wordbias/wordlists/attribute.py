"""An attribute: two groups of words, such as female and male, along which bias is measured."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path, PurePath
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.wordlists._fields import Pair, as_pair, as_pairs, words_of
from wordbias.wordlists._toml import as_table, complain, packaged, read_toml, refuse_unknown

Members = tuple[tuple[str, ...], tuple[str, ...]]

_KEYS = ("name", "source", "groups", "pairs", "direction", "specific")
_PAIRS = ("definitional", "equalise")
_NO_WORDS = 'write, for example, young = ["young", "youth"]'


@dataclass(frozen=True)
class Attribute:
    """Two named groups of words and what goes with them.

    Parameters
    ----------
    name
        What the groups differ in: ``"gender"``.
    groups
        The names of the two groups; the first is the positive side of every direction.
    members
        The words of the first and of the second group.
    pairs
        Definitional pairs, the first group's word first; may be empty.
    equalise
        Pairs to be made equally far from every neutral word; may be empty.
    direction
        The pair whose difference is the axis: by default the first definitional pair, or none.
    specific
        Words that keep their meaning when the rest is neutralised, those of all pairs among them.
    source
        Where the words come from.
    """

    name: str
    groups: tuple[str, str]
    members: Members = field(repr=False)
    pairs: tuple[Pair, ...] = field(default=(), repr=False)
    equalise: tuple[Pair, ...] = field(default=(), repr=False)
    direction: Pair | None = None
    specific: frozenset[str] = field(default=frozenset(), repr=False)
    source: str = ""

    @classmethod
    def load(cls, path: str | Path | None = None) -> "Attribute":
        """Read an attribute from a TOML file; without `path`, the built-in gender.

        The file has a table ``[groups]`` with exactly two lists of words, and may have ``name``,
        ``source``, ``direction = [a, b]``, ``specific = [...]`` and a table ``[pairs]`` with
        ``definitional`` and ``equalise``, lists of ``[first, second]``. Instead of a list of words
        ``"FILE#key"`` names one in another TOML file beside it, ``"FILE#*"`` all of that file's.

        Raises
        ------
        WordbiasError
            The file cannot be read or something in it is not as described; the message names the
            file, the key, what was expected and found, and the remedy.
        """
        return _gender() if path is None else _read(Path(path))


@cache
def _gender() -> Attribute:
    return _read(packaged("gender.toml"))


def _read(file: Traversable) -> Attribute:
    tables = read_toml(file)
    refuse_unknown(tables, _KEYS, str(file))
    groups, members = _groups(file, tables)
    both = as_table(tables.get("pairs"), f"{file}: [pairs]")
    refuse_unknown(both, _PAIRS, f"{file}: [pairs]")
    pairs, equalise = (as_pairs(both.get(key, []), f"{file}: [pairs] {key}") for key in _PAIRS)
    return Attribute(
        name=_text(file, tables, "name", PurePath(file.name).stem),
        groups=groups,
        members=members,
        pairs=pairs,
        equalise=equalise,
        direction=_direction(file, tables, pairs),
        specific=_specific(file, tables, (*pairs, *equalise)),
        source=_text(file, tables, "source", str(file)),
    )


def _text(file: Traversable, tables: dict[str, Any], key: str, default: str) -> str:
    value = tables.get(key, default)
    if not isinstance(value, str) or not value.strip():
        raise complain(f"{file}: {key}", "a text", value, f'write {key} = "..." in quotes')
    return value


def _groups(file: Traversable, tables: dict[str, Any]) -> tuple[Pair, Members]:
    where = f"{file}: [groups]"
    lists = as_table(tables.get("groups"), where)
    if len(lists) != 2:
        found = ", ".join(lists) or "none"
        raise WordbiasError(
            f"{where}: expected exactly two groups, found {len(lists)} ({found}); {_NO_WORDS}"
        )
    first, second = lists
    members = (
        _members(file, lists[first], f"{where} {first}"),
        _members(file, lists[second], f"{where} {second}"),
    )
    _disjoint(members, where)
    return (first, second), members


def _members(file: Traversable, value: object, where: str) -> tuple[str, ...]:
    words = words_of(file, value, where)
    if len(words) < 2:
        raise WordbiasError(
            f"{where}: expected at least two different words, found {len(words)}; add words"
        )
    return words


def _disjoint(members: Members, where: str) -> None:
    first = {word.lower() for word in members[0]}
    for word in members[1]:
        if word.lower() in first:
            raise WordbiasError(
                f"{where}: expected groups without a common word, found {word!r} in both; "
                "remove it from one"
            )


def _direction(file: Traversable, tables: dict[str, Any], pairs: tuple[Pair, ...]) -> Pair | None:
    if "direction" in tables:
        return as_pair(tables["direction"], f"{file}: direction")
    return pairs[0] if pairs else None


def _specific(file: Traversable, tables: dict[str, Any], pairs: Iterable[Pair]) -> frozenset[str]:
    listed = words_of(file, tables.get("specific", []), f"{file}: specific")
    return frozenset(listed).union(*pairs)
