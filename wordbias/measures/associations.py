"""Any of the association measures on the same queries, as rows.

WEAT compares X and Y in their nearness to A and B. The others take less than four sets, and of a
query take these:

========  =========================================================================
weat      X, Y, A and B
rnsb      all target words; A is positive, B negative
mac       each target set in turn, both attribute sets
rnd, ect  X and Y are the two groups; each attribute set in turn the neutral words
ripa      the same, with pairs: the i-th words of X and Y as listed
========  =========================================================================

The association measures over any number of groups: two by two, or all at once.

WEAT, RND, ECT and RIPA compare two groups, and are taken for every two. RNSB asks how unevenly the
words of all groups share what is negative (Sweeney and Najafian 2019 define it for any number), and
MAC how far each group is from all attribute sets (Manzini et al. 2019): these are taken once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, ideal
from wordbias.measures.weat import (
    PARTITIONS,
    Settings,
    divergence,
    mac_of_words,
    negative_probabilities,
    rank_correlation,
    relation,
    ripa_of_words,
    rnd_of_words,
    similarities,
    weat_row,
)
from wordbias.results import Row
from wordbias.statistics import bootstrap, holm, percentile_interval
from wordbias.wordlists import (
    Attribute,
    Resolved,
    WordGroups,
    group_queries,
    load_queries,
    load_two_sets,
    resolve,
)
from wordbias.wordlists.queries import FoundQuery, Pair, Query

Array = NDArray[np.float64]
Statistic = Callable[[Array], Array]

MEASURES = ("weat", *(one.name for one in BY_KEY["associations"].measures))
_VALENCE = ("pleasant", "unpleasant")


def query_rows(panel: Panel, samples: int = PARTITIONS) -> list[Row]:
    """Take WEAT of a panel: the ten queries of Caliskan et al., or of groups of one's own.

    Groups of another attribute than gender are the targets, two by two, with pleasant and
    unpleasant words as attributes; their order means nothing, so that the test has two sides.

    Parameters
    ----------
    samples
        Partitions drawn where they are too many to take all.

    Raises
    ------
    WordbiasError
        If no query has enough words.
    """
    attribute = panel.attribute
    other = attribute != Attribute.load()
    queries = group_queries(attribute, load_two_sets(_VALENCE)) if other else load_queries()
    settings = Settings(1, "two-sided" if other else "greater", samples, panel.seed)
    return measure_queries(panel.embedding, queries, settings=settings)


def measure_queries(
    embedding: Embedding,
    queries: Sequence[Query],
    measures: Sequence[str] = ("weat",),
    settings: Settings | None = None,
) -> list[Row]:
    """Run queries on an embedding.

    A query for which the embedding lacks words gives rows without a value but with a `reason`.

    Parameters
    ----------
    embedding
        At least the words of the queries.
    queries, measures
        Queries to run, and some of `MEASURES`.
    settings
        Settings of WEAT; its seed is that of every interval.

    Raises
    ------
    WordbiasError
        If no query has enough words, or a measure is not known.
    """
    check_measures(measures)
    settings = settings or Settings()
    rows, errors = [], []
    for query in queries:
        try:
            found = query.find(embedding, embedding.name)
        except WordbiasError as error:
            errors.append(error)
            about = {"about": query.about} if query.about else {}
            details = {"set": query.name, **about, "reason": f"undefined: {error}"}
            rows += [Row(embedding.name, measure, None, details) for measure in measures]
        else:
            rows += [row for name in measures for row in _rows(embedding, found, name, settings)]
    if errors and len(errors) == len(queries):
        raise errors[0]
    return rows


def check_measures(measures: Sequence[str]) -> None:
    """Refuse names that are none of `MEASURES`, and none at all."""
    known = ", ".join(MEASURES)
    for measure in measures:
        if measure not in MEASURES:
            raise WordbiasError(f"measure {measure!r}: expected one of {known}")
    if not measures:
        raise WordbiasError(f"no measure named: expected one or more of {known}")


def with_holm(rows: Sequence[Row]) -> list[Row]:
    """Add ``p_holm`` to the rows with a ``p``, corrected for the tests of the same subject."""
    tested: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        if row.details.get("p") is not None:
            tested.setdefault(row.subject, []).append(i)
    done = list(rows)
    for places in tested.values():
        corrected = holm([rows[i].details["p"] for i in places]).tolist()
        for i, p in zip(places, corrected, strict=True):
            said = {**rows[i].details, "p_holm": p, "tests": len(places)}
            done[i] = replace(rows[i], details=said)
    return done


def _rows(
    embedding: Embedding, found: FoundQuery, measure: str, settings: Settings
) -> Iterator[Row]:
    if measure == "weat":
        yield weat_row(embedding, found, settings)
        return
    for words, parts, statistic in _parts(embedding, found, measure):
        about = {**found.details(), **({"words": words} if words else {})}
        if measure == "ripa" and found.pairs is not None:
            about["pairs"] = len(found.pairs.found)
        value = interval(parts, statistic, settings.seed)
        yield Row(embedding.name, measure, value.pop("value"), about | value | ideal(measure))


def _parts(
    embedding: Embedding, found: FoundQuery, measure: str
) -> Iterator[tuple[str, Array | str, Statistic]]:
    """Yield the name of the words measured, their parts ``(…, n)`` or why not, and what to do."""
    x, y, *attributes = (embedding.take(words.found) for words in found.sets)
    names = found.query.names
    if measure == "rnsb":
        yield "", negative_probabilities(np.concatenate([x, y]), *attributes), divergence
    elif measure == "mac":
        for name, t in zip(names, (x, y), strict=False):
            yield name, mac_of_words(t, attributes), _mean
    else:
        b = _relation(embedding, found) if measure == "ripa" else ""
        for name, w in zip(names[2:], attributes, strict=True):
            if measure == "ect":
                yield name, similarities(w, x, y), rank_correlation
            elif measure == "rnd":
                yield name, rnd_of_words(w, x, y), _mean
            else:
                yield name, b if isinstance(b, str) else ripa_of_words(w, b), _mean


def _relation(embedding: Embedding, found: FoundQuery) -> Array | str:
    if found.pairs is None:
        first, second = (f"{len(words)} {name}" for name, words in found.query.targets)
        return f"undefined: pairs are the i-th words of both target sets, found {first}, {second}"
    if not found.pairs.found:
        return f"undefined: {embedding.name} has both words of none of the pairs"
    try:
        return relation(*(embedding.take(words) for words in _columns(found.pairs.found)))
    except WordbiasError as error:
        return f"undefined: {error}"


def _columns(pairs: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    first, second = zip(*pairs, strict=True)
    return list(first), list(second)


def interval(parts: Array | str, statistic: Statistic, seed: int) -> dict[str, Any]:
    """Return the value and its 95 % interval, the words drawn again with replacement.

    Parameters
    ----------
    parts
        Contribution of each word, shape ``(…, n)``, or the reason why there is none.
    statistic
        Computes the value from the parts, along their last axis.
    seed
        Seed of the bootstrap.
    """
    if isinstance(parts, str):
        return {"value": None, "reason": parts}
    value = float(statistic(parts))
    if np.isnan(value):
        return {"value": None, "reason": "undefined: the words do not differ"}
    rng = np.random.default_rng(seed)
    samples = bootstrap(lambda rows: statistic(parts[..., rows]), parts.shape[-1], rng)
    return {"value": value, **percentile_interval(samples[~np.isnan(samples)])._asdict()}


def _mean(parts: Array) -> Array:
    mean: Array = parts.mean(axis=-1)
    return mean


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
