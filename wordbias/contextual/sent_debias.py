"""SENT-Debias (Liang et al. 2020): the baseline, fitted to the sentences of a text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wordbias.arrays import unit
from wordbias.contextual.fitting import (
    BATCH,
    Recipe,
    encode_pairs,
    fit_adapters,
    observe,
    positions,
)
from wordbias.errors import WordbiasError
from wordbias.formats.tables import numbered_lines
from wordbias.models.adapters import SENTENCE, Adapter
from wordbias.models.hooks import check_plain
from wordbias.models.sentence_pairs import (
    SentencePair,
    SentencePairsLike,
    redrawn_pairs,
    sentence_pairs,
)
from wordbias.models.sites import Site
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
    draws: int = 0,
) -> list[Adapter]:
    """Fit an adapter, the baseline if there is a text, and redraws of both; see `fit_adapter`."""
    paired = sentence_pairs(pairs)
    try:
        adapters = fit_adapters(
            model,
            tokenizer,
            [paired, *redrawn_pairs(paired, draws, recipe.seed)],
            recipe,
            wanted=wanted,
            batch=batch,
            source="built-in" if pairs is None else _source(pairs),
        )
    except WordbiasError as error:
        raise WordbiasError(f"{name}: {error}" if name else error) from None
    if text is None:
        return adapters
    of_text = pairs_of_text(text, groups, limit=limit, seed=recipe.seed)
    lists = [of_text, *redrawn_pairs(of_text, draws, recipe.seed)]
    about = {"source": _source(text), "pairs": len(of_text)}
    subspaces = fit_sent_debias(model, tokenizer, lists, batch=batch)
    return [
        replace(adapter, sent_debias=subspace, facts={**adapter.facts, "sent_debias": about})
        for adapter, subspace in zip(adapters, subspaces, strict=True)
    ]


def _source(source: object) -> str:
    """Return the path of a file; "given" for objects."""
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else "given"


def fit_sent_debias(
    model: Any, tokenizer: Any, lists: Sequence[Sequence[SentencePair]], *, batch: int = BATCH
) -> list[Subspace]:
    """Fit the baseline's direction at the sentence, removed hard (Liang et al. 2020, section 2)."""
    # Each sentence's vector is divided by its length and the mean of its pair is subtracted; the
    # direction is the first principal component of all of them.
    check_plain(model)
    encoded = encode_pairs(model, tokenizer, lists[0]) if lists[0] else None
    n = 0 if encoded is None else len(encoded.pairs)
    if encoded is None or n < 2:
        raise WordbiasError(
            f"SENT-Debias: sentences with a gendered word that the tokenizer tells apart: {n}, at "
            "least two are needed; give a longer text with --sent-debias"
        )
    tokens, chosen = encoded.first + encoded.second, positions(encoded, "cls")
    vectors = unit(observe(model, tokenizer, tokens, chosen, [SENTENCE], batch)[SENTENCE])
    first, second = vectors[:n], vectors[n:]
    redraws = [encoded.redrawn(pairs)[0] for pairs in lists[1:]]
    return [Subspace.from_pairs(first[i], second[i], 1) for i in (range(n), *redraws)]


def pairs_of_text(
    text: TextLike, groups: GroupsLike | None = None, *, limit: int = LIMIT, seed: int = 0
) -> tuple[SentencePair, ...]:
    """Pair the sentences of a text with their counterfactuals; see `counterfactuals`."""
    chosen = Attribute.load(groups)
    if not chosen.pairs:
        raise WordbiasError(
            f"the attribute {chosen.name} has no pairs to swap; give a file with [pairs]"
        )
    lines = read_sentences(text) if isinstance(text, (str, os.PathLike)) else text
    return counterfactuals(lines, chosen.pairs, limit=limit, seed=seed)


def counterfactuals(
    lines: Iterable[str],
    words: Sequence[tuple[str, str]] | None = None,
    *,
    limit: int = LIMIT,
    seed: int = 0,
) -> tuple[SentencePair, ...]:
    """Pair sentences with their counterfactuals, in which one gendered word is swapped."""
    # As in the published code only that word is replaced, at all its places in the line, and by one
    # word: her becomes his also as the object. A line with several gendered words gives a pair for
    # each. The version with the first word of the pair comes first.
    partner = _partners(Attribute.load().pairs if words is None else words)
    rng = np.random.default_rng(seed)
    sample: list[SentencePair] = []
    for count, pair in enumerate(_all_pairs(lines, partner)):
        if count < limit:
            sample.append(pair)
        elif (place := int(rng.integers(count + 1))) < limit:
            sample[place] = pair
    return tuple(sample)


def read_sentences(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a text file, compressed or not, without blank ones."""
    return (text for _, line in numbered_lines(Path(path)) if (text := line.strip()))


def _partners(words: Sequence[tuple[str, str]]) -> dict[str, tuple[str, bool]]:
    """Return the partner of each word, and whether the word is the first of its pair."""
    partners: dict[str, tuple[str, bool]] = {}
    for first, second in words:
        partners.setdefault(first.lower(), (second.lower(), True))
        partners.setdefault(second.lower(), (first.lower(), False))
    return partners


def _all_pairs(
    lines: Iterable[str], partner: dict[str, tuple[str, bool]]
) -> Iterator[SentencePair]:
    for i, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise WordbiasError(f"sentence {i}: expected a text, got {type(line).__name__}")
        for word in dict.fromkeys(word.lower() for word in _WORD.findall(line)):
            if word in partner:
                other, is_first = partner[word]
                swapped = _swapped(line, word, other)
                yield SentencePair(line, swapped) if is_first else SentencePair(swapped, line)


def _swapped(line: str, word: str, other: str) -> str:
    """Replace a word of a line by another one, with the capitals of the original."""

    def replacement(match: re.Match[str]) -> str:
        original = match[0]
        if original.lower() != word:
            return original
        if len(original) > 1 and original.isupper():
            return other.upper()
        return other.capitalize() if original[0].isupper() else other

    return _WORD.sub(replacement, line)
