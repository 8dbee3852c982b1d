"""Sets of words that differ in one thing: judaism, christianity, islam. Any number of groups."""

from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path, PurePath

from wordbias.errors import WordbiasError
from wordbias.wordlists._fields import words_of
from wordbias.wordlists._toml import (
    as_table,
    as_words,
    complain,
    packaged,
    read_toml,
    refuse_unknown,
)
from wordbias.wordlists.attribute import Attribute

Words = tuple[str, ...]

_KEYS = ("name", "source", "sets")
_LISTS = ("definitional", "equalise", "specific")
_EXAMPLE = 'write it as [["church", "mosque", "synagogue"]]'


@dataclass(frozen=True)
class WordSets:
    """What debiasing over several groups is fitted on.

    Parameters
    ----------
    name
        What the groups differ in: ``"religion"``.
    definitional
        Sets of words, one of each group; their differences span the subspace.
    equalise
        Sets to be made equally far from every neutral word; may be empty.
    specific
        Words that keep their meaning when the rest is neutralised, those of all sets among them.
    """

    name: str
    definitional: tuple[Words, ...] = field(repr=False)
    equalise: tuple[Words, ...] = field(default=(), repr=False)
    specific: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def load(cls, path: str | Path | None = None) -> "WordSets":
        """Read sets from a TOML file; without `path`, the built-in religion.

        The file has a table ``[sets]`` with ``definitional``, a list of lists of words, and may
        have ``equalise``, the same, ``specific``, a list of words, and ``name`` and ``source``.

        Raises
        ------
        WordbiasError
            The file cannot be read or something in it is not as described.
        """
        return _read(packaged("religion.toml") if path is None else Path(path))

    @classmethod
    def of(cls, attribute: Attribute) -> "WordSets":
        """Take the pairs of an attribute as sets of two."""
        return cls(attribute.name, attribute.pairs, attribute.equalise, attribute.specific)


def _read(file: Traversable) -> WordSets:
    tables = read_toml(file)
    refuse_unknown(tables, _KEYS, str(file))
    where = f"{file}: [sets]"
    lists = as_table(tables.get("sets"), where)
    refuse_unknown(lists, _LISTS, where)
    definitional, equalise = (
        _as_sets(lists.get(key, []), f"{where} {key}") for key in ("definitional", "equalise")
    )
    if not definitional:
        raise WordbiasError(f"{where}: expected definitional sets, found none; {_EXAMPLE}")
    specific = words_of(file, lists.get("specific", []), f"{where} specific")
    name = tables.get("name", PurePath(file.name).stem)
    if not isinstance(name, str):
        raise complain(f"{file}: name", "a text", name, 'write name = "..." in quotes')
    return WordSets(
        name, definitional, equalise, frozenset(specific).union(*definitional, *equalise)
    )


def _as_sets(value: object, where: str) -> tuple[Words, ...]:
    if not isinstance(value, list):
        raise complain(where, "a list of sets", value, _EXAMPLE)
    return tuple(dict.fromkeys(_as_set(item, where) for item in value))


def _as_set(value: object, where: str) -> Words:
    words = as_words(value, where)
    if len(words) < 2:
        raise WordbiasError(
            f"{where}: expected at least two different words in a set, found "
            f"{', '.join(words) or 'none'}; {_EXAMPLE}"
        )
    return words
