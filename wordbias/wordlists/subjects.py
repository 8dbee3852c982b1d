"""Whom sentences are about: people of each group, as nouns, pronouns, names or occupations."""

from collections.abc import Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.wordlists._fields import words_of
from wordbias.wordlists._toml import as_table, refuse_unknown

Words = tuple[str, ...]
Subjects = Mapping[str, tuple[Words, ...]]
"""For each kind of word the words of every group, in the order of the groups."""

KINDS = ("nouns", "pronouns", "names", "occupations")


def read_subjects(file: Traversable, tables: Mapping[str, Any], groups: Sequence[str]) -> Subjects:
    """Read the tables ``[subjects.nouns]``, ``[subjects.names]``, … of an attribute file.

    Each has a list of words for every group. Nouns and occupations are what may stand behind an
    article, "young person"; pronouns and names stand alone.

    Raises
    ------
    WordbiasError
        If a kind or a group is unknown, a list is empty, or a word is in two groups.
    """
    where = f"{file}: [subjects]"
    kinds = as_table(tables.get("subjects"), where)
    refuse_unknown(kinds, KINDS, where)
    return {kind: _of_groups(file, kinds[kind], groups, f"{where} {kind}") for kind in kinds}


def _of_groups(
    file: Traversable, value: object, groups: Sequence[str], where: str
) -> tuple[Words, ...]:
    lists = as_table(value, where)
    refuse_unknown(lists, groups, where)
    found = tuple(_of_group(file, lists, group, where) for group in groups)
    seen: set[str] = set()
    for words in found:
        if both := seen.intersection(words):
            raise WordbiasError(f"{where}: {min(both)!r} is in two groups; remove it from one")
        seen.update(words)
    return found


def _of_group(file: Traversable, lists: Mapping[str, Any], group: str, where: str) -> Words:
    words = words_of(file, lists.get(group, []), f"{where} {group}")
    if not words:
        raise WordbiasError(f"{where}: expected words of {group}, found none; add some")
    return words
