"""Debiasing of training documents: numbers in place of names, and counterfactual copies.

Zhao et al. (2018) train on documents in which people's names are numbers, and on each document
twice, the second time with the words of the other gender. Orgad et al. (2022) train on each alone
and on both. No token is added or taken away, so that every span stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, pairwise
from zlib import crc32

import numpy as np

from wordbias.coreference.documents import Document
from wordbias.errors import WordbiasError
from wordbias.outcomes.anonymise import PERSONS, PREFIX, Finder
from wordbias.outcomes.swap import Swapper
from wordbias.retraining.arms import ANONYMISE, NONE, RANDOM, SWAP, is_random
from wordbias.wordlists import names

STRATEGIES = (NONE, ANONYMISE, SWAP)
"""Parts of a strategy; several are joined by a plus sign."""
PUBLISHED = (NONE, ANONYMISE, SWAP, f"{ANONYMISE}+{SWAP}")
_BETWEEN = "\n"
"""Separator of tokens in a text: white space to rules of grammar, and part of no token."""
_MONTHS = frozenset(("April", "May", "June", "August"))


def check_strategy(strategy: str) -> None:
    """Refuse a strategy that is unknown, or joins what does not go together."""
    parts = strategy.removeprefix(RANDOM).split("+")
    if unknown := [part for part in parts if part not in STRATEGIES]:
        raise WordbiasError(
            f"strategy {strategy!r}: expected {', '.join(STRATEGIES)}, or {ANONYMISE}+{SWAP}; "
            f"perhaps with {RANDOM} before it; found {unknown[0]!r}"
        )
    if len(set(parts)) < len(parts) or (NONE in parts and (len(parts) > 1 or is_random(strategy))):
        raise WordbiasError(f"strategy {strategy!r}: name each part once, and {NONE} alone")


def debias(
    documents: Sequence[Document], strategy: str, seed: int = 0, find: Finder | None = None
) -> list[Document]:
    """Apply a strategy, or its random change, to training documents."""
    # The random change of `ANONYMISE` replaces other words of each document by numbers: the same
    # number of distinct words, and about that of tokens. That of `SWAP` repeats the documents as
    # they are.
    parts, at_random = strategy.removeprefix(RANDOM).split("+"), is_random(strategy)
    debiased = list(documents)
    if ANONYMISE in parts:
        debiased = [anonymise(document, seed if at_random else None, find) for document in debiased]
    if SWAP in parts:
        debiased += debiased if at_random else [swap(document) for document in debiased]
    return debiased


def swap(document: Document) -> Document:
    """Return a document about people of the other gender; see `wordbias.outcomes.swap`."""
    swapper = Swapper.built_in()
    return with_tokens(
        document,
        [
            token
            for sentence in document.sentences
            for token in swapper(_BETWEEN.join(sentence))[0].split(_BETWEEN)
        ],
    )


def anonymise(document: Document, seed: int | None = None, find: Finder | None = None) -> Document:
    """Return a document with a number for each word of names, or, with a seed, of other words."""
    words = name_words(document) if find is None else _found_words(document, find)
    if seed is not None:
        words = _random_words(document, words, seed)
    numbers: dict[str, int] = {}
    return with_tokens(
        document,
        [
            f"{PREFIX}{numbers.setdefault(token, len(numbers))}" if token in words else token
            for token in document.tokens
        ],
    )


def name_words(document: Document) -> frozenset[str]:
    """Return the words of people's names."""
    # A first name begins a name if a capitalised word follows, or if the name stands in a sentence
    # not only as its first word; the capitalised words that follow belong to it, but for I. A word
    # of a name is one wherever it stands capitalised: Ross after Claire Ross. Lists miss rare
    # names, and take Paris or Washington for people.
    firsts, words = _first_names(), set()
    for sentence in document.sentences:
        inside = False
        for place, token in enumerate(sentence):
            follows = place + 1 < len(sentence) and _is_capitalised(sentence[place + 1])
            begins = token in firsts and (follows or place > 0)
            inside = _is_capitalised(token) and (inside or begins)
            if inside:
                words.add(token)
    return frozenset(words)


def _found_words(document: Document, find: Finder) -> frozenset[str]:
    """Return the words of the entities that a function finds and calls persons."""
    entities = ((text, find(text, None)) for text in map(" ".join, document.sentences))
    return frozenset(
        word
        for text, text_entities in entities
        for entity in text_entities
        if entity.label in PERSONS
        for word in text[entity.start : entity.end].split(" ")
        if word.isalpha()
    )


def with_tokens(document: Document, tokens: Sequence[str]) -> Document:
    """Return a document with other tokens in the same places."""
    ends = [0, *accumulate(map(len, document.sentences))]
    if ends[-1] != len(tokens):
        raise ValueError(f"{document.name}: {ends[-1]} tokens, and {len(tokens)} others")
    return replace(document, sentences=tuple(tuple(tokens[a:b]) for a, b in pairwise(ends)))


@cache
def _first_names() -> frozenset[str]:
    return frozenset(name for name in names() if len(name) > 1) - _MONTHS


def _is_capitalised(token: str) -> bool:
    is_shouted = len(token) > 3 and token.isupper()
    return token[:1].isupper() and token.isalpha() and token != "I" and not is_shouted


def _random_words(document: Document, words: frozenset[str], seed: int) -> frozenset[str]:
    """Draw other words of a document until they have about the number of tokens of some words."""
    # The draw depends on the document and the seed alone.
    tokens = [token for token in document.tokens if token.isalpha()]
    wanted = sum(token in words for token in tokens)
    rng = np.random.default_rng([seed, crc32(" ".join(document.tokens).encode())])
    others = sorted({*tokens} - words)
    counts = dict.fromkeys(others, 0)
    for token in tokens:
        if token in counts:
            counts[token] += 1
    chosen: set[str] = set()
    for place in rng.permutation(len(others)):
        if counts[others[place]] <= wanted:
            chosen.add(others[place])
            wanted -= counts[others[place]]
    return frozenset(chosen)
