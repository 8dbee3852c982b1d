"""Words in their sentences through an encoder: representations with a column `word`.

Which contexts there are for the words of a query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.probes.ceat.association import Contexts, Float32
from wordbias.probes.ceat.sentences import Context, Sentences, published_window
from wordbias.probes.encoder import Encoder
from wordbias.probes.encoding import Settings, Work
from wordbias.probes.representations import Column, Representations
from wordbias.wordlists.queries import Query
from wordbias.wordlists.resolve import Resolved

COLUMN = "word"
_REMEDY = "give more sentences, or stimuli with other words"


@dataclass(frozen=True, eq=False)
class WordRows:
    """Where each word's contexts stand among the texts of representations."""

    rows: Mapping[str, NDArray[np.intp]]

    @classmethod
    def of(cls, found: Representations) -> WordRows:
        """Group the texts by the column `word`.

        Raises
        ------
        WordbiasError
            If there is no such column.
        """
        if COLUMN not in found.columns:
            raise WordbiasError(
                f"{found.name}: has no column 'word' that says whose context each vector is; "
                "write one with: wordbias ceat MODEL --sentences FILE --save VECTORS, or "
                "wordbias encode --pooling word"
            )
        column = found.column(COLUMN)
        order = np.argsort(column.codes, kind="stable")
        ends = np.cumsum(np.bincount(column.codes, minlength=len(column.values)))[:-1]
        return cls(dict(zip(column.values, np.split(order, ends), strict=True)))


@dataclass(frozen=True, eq=False)
class FoundWords:
    """The words of a query that have contexts enough; spelled exactly as the query spells them.

    Attributes
    ----------
    query
        What was asked.
    sets
        X, Y, A and B: which of their words were found, which are missing.
    rows
        The rows of every word found.
    minimum
        How many contexts a word needs.
    few
        Words that have contexts, but fewer, and how many.
    """

    query: Query
    sets: tuple[Resolved[str], ...]
    rows: Mapping[str, NDArray[np.intp]]
    minimum: int
    few: Mapping[str, int]

    def contexts(self, vectors: Float32, where: str) -> Contexts:
        """Return unit vectors of one layer, shape ``(n, d)``.

        Raises
        ------
        WordbiasError
            If a vector is zero or holds what is no number.
        """
        try:
            return Contexts.of(
                [[vectors[self.rows[word]] for word in words.found] for words in self.sets],
                [word for words in self.sets for word in words.found],
            )
        except WordbiasError as error:
            raise WordbiasError(f"{where}: {self.query.name}: {error}") from None

    def details(self) -> dict[str, Any]:
        """Return what every row says of the words and their sentences."""
        named = dict(zip(self.query.names, self.sets, strict=True))
        counts = {word: len(rows) for word, rows in self.rows.items()}
        return {
            "set": self.query.name,
            "n": {name: len(words.found) for name, words in named.items()},
            "missing": {n: list(words.missing) for n, words in named.items() if words.missing},
            "too_few": dict(self.few),
            "sentences": counts,
            "single": sum(count == 1 for count in counts.values()),
        }


def find_words(query: Query, contexts: WordRows, minimum: int = 1) -> FoundWords:
    """Find the words of a query that have at least `minimum` contexts.

    Parameters
    ----------
    query
        Its sets X, Y, A and B.

    Raises
    ------
    WordbiasError
        If fewer than two words of a set are found.
    """
    usable = {word: rows for word, rows in contexts.rows.items() if len(rows) >= minimum}
    sets = tuple(
        _found(words, usable, name).at_least(2, _REMEDY)
        for name, words in (*query.targets, *query.attributes)
    )
    asked = [word for words in sets for word in words.listed]
    few = {w: len(contexts.rows[w]) for w in asked if w in contexts.rows and w not in usable}
    found = {word: usable[word] for words in sets for word in words.found}
    return FoundWords(query, sets, found, minimum, few)


def check_words(
    queries: Sequence[Query], contexts: Mapping[str, Sequence[Any]], what: str, minimum: int = 1
) -> None:
    """Refuse, before anything is encoded, contexts that are too few for every query.

    Raises
    ------
    WordbiasError
        With what the first query lacks.
    """
    rows = WordRows({word: np.arange(len(found)) for word, found in contexts.items() if found})
    errors = []
    for query in queries:
        try:
            find_words(query, rows, minimum)
        except WordbiasError as error:
            errors.append(f"{what}: {query.name}: {error}")
        else:
            return
    if errors:
        raise WordbiasError(errors[0])


def swapped(query: Query) -> Query:
    """Exchange targets and attributes, as Orgad et al. (2022) describe stimulus 6."""
    return replace(query, targets=query.attributes, attributes=query.targets)


def _found(words: Sequence[str], usable: Mapping[str, Any], what: str) -> Resolved[str]:
    asked = tuple(dict.fromkeys(words))
    how = {word: "as written" for word in asked if word in usable}
    missing = tuple(word for word in asked if word not in usable)
    return Resolved(asked, tuple(how), how, missing, what)


@dataclass(frozen=True)
class Reading:
    """How a word's vector is taken from its sentence.

    Attributes
    ----------
    layers
        Which, by default the last; 0 being the input embeddings.
    subword
        Of a word of several tokens, their ``mean``, the ``first`` or the ``last``.
    special_tokens
        Let the model see [CLS], [SEP] and the like, as it did in training.
    window
        Cut the sentence as the released code does, see `published_window`.
    max_length
        Tokens that a sentence is cut to; by default what the model allows, at most 512.
    """

    layers: tuple[int, ...] | None = None
    subword: str = "mean"
    special_tokens: bool = True
    window: bool = False
    max_length: int | None = None


AS_PUBLISHED = Reading(subword="last", special_tokens=False, window=True)
"""As the released code of CEAT reads BERT."""


class Encoded(NamedTuple):
    """Vectors of words in context.

    `lost` is how many words were cut off with the end of a sentence too long for the model, and
    are left out; `truncated` how many sentences were cut behind the word.
    """

    representations: Representations
    lost: int
    truncated: int


def encode_contexts(
    encoder: Encoder, sentences: Sentences, reading: Reading | None = None
) -> Encoded:
    """Encode every word in each of its sentences, once for all stimuli.

    Raises
    ------
    WordbiasError
        If a layer does not exist, the tokenizer does not say what characters a token is of, or a
        vector is not finite.
    """
    reading = reading or Reading()
    layers = (encoder.layers,) if reading.layers is None else reading.layers
    special = "seen" if reading.special_tokens else "none"
    settings = Settings(layers, "word", reading.subword, special, reading.max_length)
    pairs = [
        (word, published_window(context) if reading.window else context)
        for word, found in sentences.contexts.items()
        for context in found
    ]
    work = _work(encoder, pairs, settings)
    lost = work.lost()
    if lost:
        pairs = [pair for i, pair in enumerate(pairs) if i not in lost]
        if not pairs:
            raise WordbiasError(f"{encoder.name}: no word is within the tokens that are read")
        work = _work(encoder, pairs, settings)
    return Encoded(
        Representations(
            work.vectors(),
            work.settings.layers or (),
            {COLUMN: Column.of(word for word, _ in pairs)},
            _about(encoder, work, reading),
            Path(encoder.name).name,
        ),
        len(lost),
        work.truncated,
    )


def _work(encoder: Encoder, pairs: Sequence[tuple[str, Context]], settings: Settings) -> Work:
    texts = [context.text for _, context in pairs]
    spans = [(context.start, context.end) for _, context in pairs]
    return Work.of(encoder, texts, spans, settings)


def _about(encoder: Encoder, work: Work, reading: Reading) -> dict[str, Any]:
    return {
        "model": encoder.name,
        "weights_sha256": encoder.sha256(),
        "precision": encoder.precision,
        **work.settings.to_dict(),
        "window": "published" if reading.window else "whole sentence",
        "truncated": work.truncated,
    }
