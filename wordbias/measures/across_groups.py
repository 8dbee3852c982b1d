"""The association measures over any number of groups: two by two, or all at once.

WEAT, RND, ECT and RIPA compare two groups, and are taken for every two. RNSB asks how unevenly the
words of all groups share what is negative (Sweeney and Najafian 2019 define it for any number), and
MAC how far each group is from all attribute sets (Manzini et al. 2019): these are taken once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.associations import check_measures, interval, measure_queries
from wordbias.measures.mac import mac_of_words
from wordbias.measures.registry import ideal
from wordbias.measures.rnsb import divergence, negative_probabilities
from wordbias.measures.weat import Settings
from wordbias.results import Row
from wordbias.wordlists import Attribute, Resolved, WordGroups, resolve
from wordbias.wordlists.queries import Pair, group_queries

AT_ONCE = ("rnsb", "mac")


def measure_groups(
    embedding: Embedding,
    groups: Attribute | WordGroups,
    attributes: Pair,
    measures: Sequence[str] = ("weat",),
    settings: Settings | None = None,
) -> list[Row]:
    """Measure how groups of words go with two sets of attribute words.

    Parameters
    ----------
    embedding
        At least the words of the groups and sets.
    groups
        Two or more. The groups named first are X, those later Y.
    attributes
        A and B, each with its name.
    measures
        Some of `wordbias.measures.associations.MEASURES`.
    settings
        Of WEAT; its seed is that of every interval.

    Returns
    -------
    list of Row
        Those of `measure_queries` for every two groups, whose ``set`` is ``first/second``; then
        those of all groups, whose ``set`` is the name of the attribute.

    Raises
    ------
    WordbiasError
        If a measure is not known, or fewer than two words of all groups, or of a set, are here.
    """
    check_measures(measures)
    settings = settings or Settings()
    paired = [name for name in measures if name not in AT_ONCE]
    rows = []
    if paired:
        rows += measure_queries(embedding, group_queries(groups, attributes), paired, settings)
    if once := [name for name in measures if name in AT_ONCE]:
        words = _words(embedding, groups, attributes)
        rows += [row for name in once for row in _at_once(embedding, words, name, settings.seed)]
    return rows


class _Words(NamedTuple):
    """Vectors of the groups and of the two sets, and what rows say of their words."""

    groups: dict[str, NDArray[np.float32]]
    sets: list[NDArray[np.float32]]
    about: dict[str, object]


def _words(embedding: Embedding, groups: Attribute | WordGroups, attributes: Pair) -> _Words:
    """Find all words; a group that lacks them is left out, and named."""
    where = f"{embedding.name}: {groups.name}"
    a, b = (resolve(words, embedding, f"{where}: {n}").at_least(2) for n, words in attributes)
    named = {
        name: resolve(words, embedding, f"{where}: {name}")
        for name, words in zip(groups.groups, groups.members, strict=True)
    }
    here = {name: found for name, found in named.items() if len(found.found) >= 2}
    if len(here) < 2:
        lacking = next(found for found in named.values() if len(found.found) < 2)
        lacking.at_least(2)
        raise WordbiasError(f"{where}: expected two groups")
    return _Words(
        {name: embedding.take(found.found) for name, found in here.items()},
        [embedding.take(a.found), embedding.take(b.found)],
        _about(groups, named, here, attributes, a, b),
    )


def _at_once(embedding: Embedding, words: _Words, measure: str, seed: int) -> Iterator[Row]:
    """Take one measure on all groups."""

    def row(what: str, value: dict[str, Any]) -> Row:
        said = {**words.about, **value, **ideal(measure), "words": what}
        return Row(embedding.name, measure, said.pop("value"), said)

    if measure == "rnsb":
        together = np.concatenate(list(words.groups.values()))
        yield row("all", interval(negative_probabilities(together, *words.sets), divergence, seed))
        return
    for name, x in words.groups.items():
        distances = mac_of_words(x, words.sets)
        yield row(name, interval(distances, lambda part: part.mean(axis=-1), seed))


def _about(
    groups: Attribute | WordGroups,
    named: dict[str, Resolved[str]],
    here: dict[str, Resolved[str]],
    attributes: Pair,
    a: Resolved[str],
    b: Resolved[str],
) -> dict[str, object]:
    sets = {attributes[0][0]: a, attributes[1][0]: b}
    every = {**named, **sets}
    left_out = [name for name in named if name not in here]
    return {
        "set": groups.name,
        "about": groups.name,
        "n": {name: len(found.found) for name, found in {**here, **sets}.items()},
        "missing": {name: list(found.missing) for name, found in every.items() if found.missing},
        **({"left_out": left_out} if left_out else {}),
    }
