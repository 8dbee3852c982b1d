"""CEAT of queries on representations of words in context, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.models.representations import Representations
from wordbias.probes.ceat.association import (
    DRAWS,
    VARIANCES,
    Contexts,
    Float32,
    UndefinedError,
    Variance,
    associate,
)
from wordbias.probes.ceat.sentences import COLUMN
from wordbias.results import Row
from wordbias.wordlists.queries import Query
from wordbias.wordlists.resolve import Resolved

MEASURE = "ceat"
_REMEDY = "give more sentences, or a query with other words"


@dataclass(frozen=True)
class Settings:
    """Settings of CEAT."""

    draws: int = DRAWS  # number of draws, at least 2
    variance: Variance = "standard-error"
    minimum: int = 1  # sentences that a word needs; words with fewer are left out
    # exchange targets and attributes. The released code has names as X and Y of stimulus 6, and so
    # do we; Orgad et al. describe them as A and B. The sign stays, the deviation does not.
    swap: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.draws < 2 or self.minimum < 1:
            raise WordbiasError(
                f"{self.draws} draws of words with at least {self.minimum} sentences: expected two "
                "draws or more, and at least one sentence"
            )
        if self.variance not in VARIANCES:
            raise WordbiasError(
                f"variance {self.variance!r}: expected one of {', '.join(VARIANCES)}"
            )


def ceat(
    vectors: Representations,
    queries: Sequence[Query],
    settings: Settings | None = None,
    layers: Sequence[int] | None = None,
) -> list[Row]:
    """Run CEAT on the vectors of words in context, one row for each query and layer."""
    # The contexts of a word are taken as distinct sentences; layers share their draws. `low` and
    # `high` are over resampled sentences, with the words fixed; `p`, one-sided, and `se` are those
    # of the random-effects model over draws and shrink with their number. A query with too few
    # words has rows with a `reason`.
    settings = settings or Settings()
    layers = tuple(vectors.layers if layers is None else layers)
    for layer in layers:
        vectors.place(layer)
    contexts = rows_by_word(vectors)
    rows: list[Row] = []
    errors = []
    for query in (swapped(query) if settings.swap else query for query in queries):
        try:
            words = find_words(query, contexts, settings.minimum)
        except WordbiasError as error:
            errors.append(f"{vectors.name}: {query.name}: {error}")
            reason = f"undefined: {error}"
            rows += [
                Row(
                    vectors.name,
                    MEASURE,
                    None,
                    {"set": query.name, "layer": layer, "reason": reason},
                )
                for layer in layers
            ]
        else:
            rows += _query_rows(vectors, words, layers, settings)
    if errors and len(errors) == len(queries):
        raise WordbiasError(errors[0])
    return rows


def _query_rows(
    vectors: Representations, words: QueryWords, layers: Sequence[int], settings: Settings
) -> Iterator[Row]:
    for layer in layers:
        contexts = words.contexts(vectors.layer(layer), f"{vectors.name}, layer {layer}")
        about = {
            **words.details(),
            "layer": layer,
            "seed": settings.seed,
            **ideal(MEASURE),
        }
        try:
            result = associate(
                contexts, draws=settings.draws, variance=settings.variance, seed=settings.seed
            )
        except UndefinedError as error:
            yield Row(vectors.name, MEASURE, None, {**about, "reason": str(error)})
        else:
            yield Row(vectors.name, MEASURE, result.combined.effect, result.details() | about)


def swapped(query: Query) -> Query:
    """Exchange targets and attributes, as Orgad et al. (2022) describe stimulus 6."""
    return replace(query, targets=query.attributes, attributes=query.targets)


# words of a query


@dataclass(frozen=True, eq=False)
class QueryWords:
    """Words of a query that have enough contexts, spelled exactly as the query spells them."""

    query: Query
    sets: tuple[Resolved[str], ...]  # X, Y, A and B: found and missing words of each
    rows: Mapping[str, NDArray[np.intp]]  # rows of every found word among the representations
    few: Mapping[str, int]  # words that have contexts, but too few, and how many they have

    def contexts(self, vectors: Float32, where: str) -> Contexts:
        """Return unit vectors of one layer, shape ``(n, d)``."""
        try:
            return Contexts.of(
                [[vectors[self.rows[word]] for word in words.found] for words in self.sets],
                [word for words in self.sets for word in words.found],
            )
        except WordbiasError as error:
            raise WordbiasError(f"{where}: {self.query.name}: {error}") from None

    def details(self) -> dict[str, Any]:
        """Return the details on words and sentences that every row holds."""
        named = dict(zip(self.query.names, self.sets, strict=True))
        counts = {word: len(rows) for word, rows in self.rows.items()} | dict(self.few)
        return {
            "set": self.query.name,
            "n": {name: len(words.found) for name, words in named.items()},
            "missing": {n: list(words.missing) for n, words in named.items() if words.missing},
            "sentences": counts,
        }


def rows_by_word(vectors: Representations) -> dict[str, NDArray[np.intp]]:
    """Group the rows of representations by their column `word`."""
    if COLUMN not in vectors.columns:
        raise WordbiasError(
            f"{vectors.name}: has no column 'word' that says whose context each vector is; write "
            "one with: wordbias ceat MODEL --sentences FILE --output VECTORS, or wordbias encode "
            "--pooling word"
        )
    column = vectors.column(COLUMN)
    order = np.argsort(column.codes, kind="stable")
    ends = np.cumsum(np.bincount(column.codes, minlength=len(column.values)))[:-1]
    return dict(zip(column.values, np.split(order, ends), strict=True))


def find_words(
    query: Query, contexts: Mapping[str, NDArray[np.intp]], minimum: int = 1
) -> QueryWords:
    """Find the words of a query that have at least `minimum` contexts."""
    sets = []
    for name, listed in (*query.targets, *query.attributes):
        words = tuple(dict.fromkeys(listed))
        usable = {w: "as written" for w in words if len(contexts.get(w, ())) >= minimum}
        missing = tuple(word for word in words if word not in usable)
        sets.append(Resolved(words, tuple(usable), usable, missing, name).at_least(2, _REMEDY))
    few = {w: len(contexts[w]) for words in sets for w in words.missing if w in contexts}
    rows = {word: contexts[word] for words in sets for word in words.found}
    return QueryWords(query, tuple(sets), rows, few)


def check_words(
    queries: Sequence[Query], contexts: Mapping[str, Sequence[Any]], name: str, minimum: int = 1
) -> None:
    """Refuse, before anything is encoded, contexts that are too few for every query."""
    rows = {
        word: np.arange(len(word_contexts))
        for word, word_contexts in contexts.items()
        if word_contexts
    }
    errors = []
    for query in queries:
        try:
            find_words(query, rows, minimum)
        except WordbiasError as error:
            errors.append(f"{name}: {query.name}: {error}")
        else:
            return
    if errors:
        raise WordbiasError(errors[0])
