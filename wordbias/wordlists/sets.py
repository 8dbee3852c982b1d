"""Sets of words that differ in one thing: judaism, christianity, islam. Any number of groups."""

from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path, PurePath

from wordbias.errors import WordbiasError
from wordbias.wordlists._fields import as_sets, words_of
from wordbias.wordlists._toml import as_table, complain, read_toml, refuse_unknown
from wordbias.wordlists.attribute import Attribute
from wordbias.wordlists.built_in import asked
from wordbias.wordlists.groups import WordGroups

Words = tuple[str, ...]

_KEYS = ("name", "source", "sets", "groups", "specific", "subjects")
_LISTS = ("definitional", "equalise", "specific", "wider")
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
        """Read sets by name or from a TOML file; without `path`, the built-in religion.

        The file has a table ``[sets]`` with ``definitional``, a list of lists of words, and may
        have ``equalise``, the same, ``specific``, a list of words, ``name`` and ``source``, and
        what else `WordGroups` reads, which plays no part here.

        Raises
        ------
        WordbiasError
            The file cannot be read or something in it is not as described.
        """
        return _read(asked("religion" if path is None else path).file)

    @classmethod
    def of(cls, attribute: Attribute | WordGroups) -> "WordSets":
        """Take the pairs of an attribute, or the sets of groups; without some to equalise, all."""
        sets = attribute.pairs if isinstance(attribute, Attribute) else attribute.definitional
        return cls(attribute.name, sets, attribute.equalise or sets, attribute.specific)


def _read(file: Traversable) -> WordSets:
    tables = read_toml(file)
    refuse_unknown(tables, _KEYS, str(file))
    where = f"{file}: [sets]"
    lists = as_table(tables.get("sets"), where)
    refuse_unknown(lists, _LISTS, where)
    definitional, equalise, wider = (
        as_sets(lists.get(key, []), f"{where} {key}")
        for key in ("definitional", "equalise", "wider")
    )
    if not definitional:
        raise WordbiasError(f"{where}: expected definitional sets, found none; {_EXAMPLE}")
    specific = (
        *words_of(file, lists.get("specific", []), f"{where} specific"),
        *words_of(file, tables.get("specific", []), f"{file}: specific"),
    )
    name = tables.get("name", PurePath(file.name).stem)
    if not isinstance(name, str):
        raise complain(f"{file}: name", "a text", name, 'write name = "..." in quotes')
    every = frozenset(specific).union(*definitional, *equalise, *wider)
    return WordSets(name, definitional, equalise, every)
