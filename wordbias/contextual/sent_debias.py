"""SENT-Debias (Liang et al. 2020): the baseline, fitted to sentences of a running text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wordbias.arrays import unit
from wordbias.contextual.adapters import SENTENCE, Adapter
from wordbias.contextual.fitting import BATCH, Recipe, encode_pairs, fit_adapter, observe, positions
from wordbias.contextual.hooks import check_plain
from wordbias.contextual.sentence_pairs import SentencePair, SentencePairsLike, sentence_pairs
from wordbias.contextual.sites import Site
from wordbias.errors import WordbiasError
from wordbias.formats.tables import numbered_lines
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, GroupsLike

TextLike = str | os.PathLike[str] | Iterable[str]
"""A file of running text, or its sentences."""
LIMIT = 5000
_WORD = re.compile(r"[^\W\d_]+")


def fit_with_baseline(
    model: Any,
    tokenizer: Any,
    recipe: Recipe,
    *,
    pairs: SentencePairsLike | None = None,
    text: TextLike | None = None,
    groups: GroupsLike | None = None,
    limit: int = LIMIT,
    wanted: Sequence[Site] | None = None,
    batch: int = BATCH,
    name: str = "",
) -> Adapter:
    """Fit an adapter, and with it the baseline if there is a text; see `fit_adapter`.

    Parameters
    ----------
    pairs
        Sentences that differ in a gender only; by default the built-in ones.
    text, groups, limit
        See `drawn_from`.
    name
        Of the model, with which an error of the fit begins.
    """
    read = sentence_pairs(pairs)
    try:
        adapter = fit_adapter(
            model,
            tokenizer,
            read,
            recipe,
            wanted=wanted,
            batch=batch,
            source="built-in" if pairs is None else _source(pairs),
        )
    except WordbiasError as error:
        raise WordbiasError(f"{name}: {error}" if name else error) from None
    if text is None:
        return adapter
    drawn = drawn_from(text, groups, limit=limit, seed=recipe.seed)
    return with_sent_debias(adapter, model, tokenizer, drawn, source=_source(text), batch=batch)


def _source(given: object) -> str:
    """Name a file; what is given in Python has no name."""
    return os.fspath(given) if isinstance(given, (str, os.PathLike)) else "given"


def with_sent_debias(
    adapter: Adapter,
    model: Any,
    tokenizer: Any,
    pairs: Sequence[SentencePair],
    *,
    source: str = "",
    batch: int = BATCH,
) -> Adapter:
    """Return an adapter that also has the baseline's subspace; see `fit`."""
    subspace = fit(model, tokenizer, pairs, batch=batch)
    about = {"source": source, "pairs": len(pairs)}
    return replace(adapter, sent_debias=subspace, facts={**adapter.facts, "sent_debias": about})


def fit(
    model: Any, tokenizer: Any, pairs: Sequence[SentencePair], *, batch: int = BATCH
) -> Subspace:
    """Fit the baseline's subspace of one direction at the sentence.

    Each sentence's vector is divided by its length, the mean of its pair taken away, and the first
    principal component of all of them kept. Removed whole, at the sentence.

    Parameters
    ----------
    pairs
        See `counterfactuals`.

    Raises
    ------
    WordbiasError
        If the model is being intervened in or has no such site, or fewer than two pairs differ for
        its tokenizer.

    References
    ----------
    Liang, Li, Zheng, Lim, Salakhutdinov and Morency (2020), "Towards Debiasing Sentence
    Representations", section 2.
    """
    check_plain(model)
    read = encode_pairs(model, tokenizer, pairs) if pairs else None
    n = 0 if read is None else len(read.pairs)
    if read is None or n < 2:
        raise WordbiasError(
            f"SENT-Debias: sentences with a gendered word that the tokenizer tells apart: {n}, at "
            "least two are needed; give a longer text with --sent-debias"
        )
    tokens, chosen = read.first + read.second, positions(read, "cls")
    vectors = unit(observe(model, tokenizer, tokens, chosen, [SENTENCE], batch)[SENTENCE])
    return Subspace.from_pairs(vectors[:n], vectors[n:], 1)


def drawn_from(
    text: TextLike, groups: GroupsLike | None = None, *, limit: int = LIMIT, seed: int = 0
) -> tuple[SentencePair, ...]:
    """Pair the sentences of a text with their counterfactuals; see `counterfactuals`.

    Parameters
    ----------
    text
        A file, or the sentences.
    groups
        Whose definitional pairs are swapped; by default those of gender.

    Raises
    ------
    WordbiasError
        If the attribute has no pairs, or the text cannot be read or has none of their words.
    """
    chosen = Attribute.load(groups)
    if not chosen.pairs:
        raise WordbiasError(
            f"the attribute {chosen.name} has no pairs to swap; give a file with [pairs]"
        )
    lines = lines_of(text) if isinstance(text, (str, os.PathLike)) else text
    return counterfactuals(lines, chosen.pairs, limit=limit, seed=seed)


def counterfactuals(
    lines: Iterable[str],
    words: Sequence[tuple[str, str]] | None = None,
    *,
    limit: int = LIMIT,
    seed: int = 0,
) -> tuple[SentencePair, ...]:
    """Pair sentences with what they are when one gendered word is the other gender's.

    Parameters
    ----------
    lines
        A sentence, or a short paragraph, each.
    words
        Pairs of words; by default the definitional ones of the built-in attribute gender.
    limit
        Keep so many pairs, drawn at random with `seed` in one pass over the lines.

    Notes
    -----
    As in the published code only that word is replaced, wherever it stands in the line, and by one
    word: *her* becomes *his* also where it is the object. A line with several gendered words
    gives a pair for each. The version with the first word of the pair comes first.
    """
    partner = _partners(Attribute.load().pairs if words is None else words)
    rng = np.random.default_rng(seed)
    kept: list[SentencePair] = []
    for count, pair in enumerate(_all(lines, partner)):
        if count < limit:
            kept.append(pair)
        elif (place := int(rng.integers(count + 1))) < limit:
            kept[place] = pair
    return tuple(kept)


def lines_of(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a text file, compressed or not, that are not blank.

    Raises
    ------
    WordbiasError
        If it cannot be read, or is not UTF-8.
    """
    return (text for _, line in numbered_lines(Path(path)) if (text := line.strip()))


def _partners(words: Sequence[tuple[str, str]]) -> dict[str, tuple[str, bool]]:
    """Return for each word its partner, and whether it is the first of its pair."""
    found: dict[str, tuple[str, bool]] = {}
    for first, second in words:
        found.setdefault(first.lower(), (second.lower(), True))
        found.setdefault(second.lower(), (first.lower(), False))
    return found


def _all(lines: Iterable[str], partner: dict[str, tuple[str, bool]]) -> Iterator[SentencePair]:
    for line in lines:
        for word in dict.fromkeys(word.lower() for word in _WORD.findall(line)):
            if word in partner:
                other, is_first = partner[word]
                swapped = _replaced(line, word, other)
                yield SentencePair(line, swapped) if is_first else SentencePair(swapped, line)


def _replaced(line: str, word: str, other: str) -> str:
    def one(match: re.Match[str]) -> str:
        found = match[0]
        return _cased(other, found) if found.lower() == word else found

    return _WORD.sub(one, line)


def _cased(word: str, like: str) -> str:
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word.capitalize() if like[0].isupper() else word
