"""Association measures on the same queries, or on groups of words, as rows.

WEAT compares X and Y in their nearness to A and B. The others use fewer sets of a query:

========  =========================================================================
weat      X, Y, A and B
rnsb      all target words; A is positive, B negative
mac       each target set in turn, both attribute sets
rnd, ect  X and Y are the two groups; each attribute set in turn the neutral words
ripa      the same, with pairs: the i-th words of X and Y as listed
========  =========================================================================

Of more than two groups, WEAT, RND, ECT and RIPA compare every two. RNSB (Sweeney and Najafian 2019
define it for any number of groups) and MAC (Manzini et al. 2019) measure all groups at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import by_bootstrap, drawn, items_of
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError, unknown_name
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, ideal
from wordbias.measures.weat import (
    PARTITIONS,
    Settings,
    divergence,
    mac_of_words,
    negative_probabilities,
    relation,
    ripa_of_words,
    rnd_of_words,
    similarities,
    weat_row,
)
from wordbias.results import Row
from wordbias.statistics import bootstrap, resampled_spearman, spearman
from wordbias.wordlists import (
    Attribute,
    WordGroups,
    group_queries,
    load_queries,
    load_two_sets,
    resolve,
)
from wordbias.wordlists.queries import FoundQuery, Pair, Query

Array = NDArray[np.float64]
Statistic = Callable[[Array], Array]

MEASURES = ("weat", *(measure.name for measure in BY_KEY["associations"].measures))
AT_ONCE = ("rnsb", "mac")
"""Measures of all groups at once; the others compare two."""
_VALENCE = ("pleasant", "unpleasant")
_NO_DIFFERENCE = "undefined: the words do not differ"


def query_rows(panel: Panel, samples: int = PARTITIONS) -> list[Row]:
    """Run WEAT on a panel: the ten queries of Caliskan et al., or queries of other groups."""
    # Groups of another attribute than gender are the targets, two by two, with pleasant and
    # unpleasant words as attributes; their order has no meaning, hence the test is two-sided.
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
    """Run queries on an embedding of their words; one with too few has a row with a `reason`."""
    check_measures(measures)
    settings = settings or Settings()
    rows, errors = [], []
    for query in queries:
        try:
            found_query = query.find(embedding, embedding.name)
        except WordbiasError as error:
            errors.append(error)
            about = {"about": query.about} if query.about else {}
            details = {"set": query.name, **about, "reason": f"undefined: {error}"}
            rows += [Row(embedding.name, measure, None, details) for measure in measures]
        else:
            rows += [
                row for name in measures for row in _rows(embedding, found_query, name, settings)
            ]
    if errors and len(errors) == len(queries):
        raise errors[0]
    return rows


def measure_groups(
    embedding: Embedding,
    groups: Attribute | WordGroups,
    attributes: Pair,
    measures: Sequence[str] = ("weat",),
    settings: Settings | None = None,
) -> list[Row]:
    """Measure how groups of words are associated with two sets of attribute words, A and B."""
    # Of every two groups the first is X, and their `set` is first/second; that of rows of all
    # groups is the name of the attribute.
    check_measures(measures)
    settings = settings or Settings()
    rows = []
    if paired := [name for name in measures if name not in AT_ONCE]:
        rows += measure_queries(embedding, group_queries(groups, attributes), paired, settings)
    if at_once := [name for name in measures if name in AT_ONCE]:
        rows += _group_rows(embedding, groups, attributes, at_once, settings.seed)
    return rows


def _group_rows(
    embedding: Embedding,
    groups: Attribute | WordGroups,
    attributes: Pair,
    measures: Sequence[str],
    seed: int,
) -> Iterator[Row]:
    """Measure all groups at once; a group that lacks words is left out, and named."""
    where = f"{embedding.name}: {groups.name}"
    sets = {
        name: resolve(words, embedding, f"{where}: {name}").at_least(2)
        for name, words in attributes
    }
    named = {
        name: resolve(words, embedding, f"{where}: {name}")
        for name, words in zip(groups.groups, groups.members, strict=True)
    }
    usable = {name: group for name, group in named.items() if len(group.found) >= 2}
    if len(usable) < 2:
        next(group for group in named.values() if len(group.found) < 2).at_least(2)
    left_out = [name for name in named if name not in usable]
    every = {**named, **sets}
    about = {
        "set": groups.name,
        "about": groups.name,
        "n": {name: len(group.found) for name, group in {**usable, **sets}.items()},
        "missing": {name: list(group.missing) for name, group in every.items() if group.missing},
        **({"left_out": left_out} if left_out else {}),
    }
    targets = {name: embedding.take(group.found) for name, group in usable.items()}
    a_and_b = [embedding.take(resolved.found) for resolved in sets.values()]
    for measure in measures:
        if measure == "rnsb":
            p = negative_probabilities(np.concatenate(list(targets.values())), *a_and_b)
            values = {"all": interval(p, divergence, seed)}
        else:
            values = {
                name: interval(mac_of_words(x, a_and_b), _mean, seed) for name, x in targets.items()
            }
        for words, value in values.items():
            details = {**about, "words": words}
            items = items_of([group.found for group in named.values()], seed)
            yield _row(embedding.name, measure, value, details, items)


def _rows(
    embedding: Embedding, found: FoundQuery, measure: str, settings: Settings
) -> Iterator[Row]:
    if measure == "weat":
        yield weat_row(embedding, found, settings)
        return
    items = items_of([word_set.found for word_set in found.sets], settings.seed)
    for words, value in _values(embedding, found, measure, settings.seed):
        about = {**found.details(), **({"words": words} if words else {})}
        if measure == "ripa" and found.pairs is not None:
            about["units"] = len(found.pairs.found)
        yield _row(embedding.name, measure, value, about, items)


def _row(
    subject: str, measure: str, measured: Mapping[str, Any], about: Mapping[str, Any], items: str
) -> Row:
    """Return the row of a result of `interval`."""
    samples = measured.get("samples")
    reason = {"reason": measured["reason"]} if "reason" in measured else {}
    details = {**about, **by_bootstrap(samples, "words"), **reason, **ideal(measure)}
    return Row(subject, measure, measured["value"], details, drawn(samples, "words", items))


def _values(
    embedding: Embedding, found_query: FoundQuery, measure: str, seed: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of the words, and the value of a measure with its interval or a reason."""
    x, y, *attributes = (embedding.take(words.found) for words in found_query.sets)
    names = found_query.query.names
    if measure == "rnsb":
        p = negative_probabilities(np.concatenate([x, y]), *attributes)
        yield "", interval(p, divergence, seed)
    elif measure == "mac":
        for name, t in zip(names, (x, y), strict=False):
            yield name, interval(mac_of_words(t, attributes), _mean, seed)
    else:
        b = _relation(embedding, found_query) if measure == "ripa" else ""
        for name, w in zip(names[2:], attributes, strict=True):
            if measure == "ect":
                yield name, rank_interval(similarities(w, x, y), seed)
            elif measure == "rnd":
                yield name, interval(rnd_of_words(w, x, y), _mean, seed)
            else:
                parts = b if isinstance(b, str) else ripa_of_words(w, b)
                yield name, interval(parts, _mean, seed)


def _relation(embedding: Embedding, found_query: FoundQuery) -> Array | str:
    if found_query.pairs is None:
        first, second = (f"{len(words)} {name}" for name, words in found_query.query.targets)
        return f"undefined: pairs are the i-th words of both target sets, found {first}, {second}"
    if not found_query.pairs.found:
        return f"undefined: {embedding.name} has both words of none of the pairs"
    try:
        return relation(
            *(embedding.take(side) for side in zip(*found_query.pairs.found, strict=True))
        )
    except WordbiasError as error:
        return f"undefined: {error}"


def _mean(parts: Array) -> Array:
    mean: Array = parts.mean(axis=-1)
    return mean


def interval(parts: Array | str, statistic: Statistic, seed: int) -> dict[str, Any]:
    """Return the `value` and its bootstrap `samples` over the words, or a `reason`."""
    # `parts` is the contribution of each word, (…, n); the statistic is along their last axis.
    if isinstance(parts, str):
        return {"value": None, "reason": parts}
    value = float(statistic(parts))
    if np.isnan(value):
        return {"value": None, "reason": _NO_DIFFERENCE}
    rng = np.random.default_rng(seed)
    samples = bootstrap(lambda rows: statistic(parts[..., rows]), parts.shape[-1], rng)
    return {"value": value, "samples": samples}


def rank_interval(pairs: Array, seed: int) -> dict[str, Any]:
    """Return Spearman's ρ of two lists, ``(2, n)``, and its 95 % interval, as `interval` does."""
    x, y = pairs
    value = spearman(x, y)
    if np.isnan(value):
        return {"value": None, "reason": _NO_DIFFERENCE}
    samples = resampled_spearman(x, y, np.random.default_rng(seed))
    return {"value": value, "samples": samples}


def check_measures(measures: Sequence[str]) -> None:
    """Refuse unknown names, and an empty list."""
    known = ", ".join(MEASURES)
    for measure in measures:
        if measure not in MEASURES:
            raise unknown_name("measure", measure, MEASURES)
    if not measures:
        raise WordbiasError(f"no measure named: expected one or more of {known}")
