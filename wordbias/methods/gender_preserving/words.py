"""Training words of gender-preserving debiasing: pairs, stereotypes, neutral words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direction import find_direction, most_biased, projections
from wordbias.vocabulary import choose_vocabulary
from wordbias.wordlists import Attribute, Resolved, Templates, resolve, resolve_pairs, wordlist

Given = Sequence[str] | str | Path | None
"""Words, a file with words, or None for the default."""
Rows = NDArray[np.intp]
T = TypeVar("T")

_FEWEST = 4
_LEANING = 42  # a side; the published list has 42 + 42 stereotypes
_NEUTRAL = 1031  # as in the published list
_NEUTRAL_BELOW = 0.03
_HELD_OUT = 20


@dataclass(frozen=True)
class Lists:
    """Words found in an embedding: ``(first, second)`` pairs, stereotypes, neutral words."""

    pairs: Resolved[tuple[str, str]]
    stereotypes: Resolved[str]
    neutral: Resolved[str]


class Part(NamedTuple, Generic[T]):
    """Training words or held-out words: their row numbers, or tensors of their vectors."""

    pairs: T  # shape `(n, 2)`, of vectors `(n, 2, d)`
    stereotypes: T  # shapes `(m,)` and `(k,)`, of vectors `(m, d)` and `(k, d)`
    neutral: T


def find_lists(
    embedding: Embedding,
    attribute: Attribute,
    stereotypes: Given = None,
    neutral: Given = None,
    seed: int = 0,
) -> Lists:
    """Find the training words: pairs, stereotypes and neutral words."""
    # By default, for gender, stereotypes are the stereotypical occupations, else the 42 words of
    # the neutral vocabulary that lean most to each side; 1,031 neutral words are drawn from those
    # whose cosine with the attribute's axis is below .03, none of them a stereotype.
    pairs = find_pairs(embedding, attribute).at_least(_FEWEST)
    paired = {word for pair in pairs.found for word in pair}
    chosen = _stereotypes(embedding, attribute, paired) if stereotypes is None else stereotypes
    leaning = _resolved_words(chosen, embedding, "stereotypes")
    taken = paired.union(leaning.found)
    drawn = _neutral(embedding, attribute, taken, seed) if neutral is None else neutral
    lists = Lists(pairs, leaning, _resolved_words(drawn, embedding, "neutral"))
    _refuse_two_kinds(lists)
    return lists


def find_pairs(embedding: Embedding, attribute: Attribute) -> Resolved[tuple[str, str]]:
    """Look up all pairs of an attribute; refuse an attribute without pairs."""
    pairs = [*attribute.pairs, *attribute.equalise]
    if not pairs:
        raise WordbiasError(
            f"the attribute {attribute.name} has no pairs, which tell its groups apart; "
            'give it some: [pairs] definitional = [["a", "b"], …]'
        )
    return resolve_pairs(pairs, embedding, f"{embedding.name}: pairs of {attribute.name}")


def hold_out(embedding: Embedding, lists: Lists, seed: int) -> tuple[Part[Rows], Part[Rows]]:
    """Split every list at random into training words and held-out words."""
    # A quarter of a list is held out, 20 at most: 20 of each published list.
    pairs = embedding.rows(word for pair in lists.pairs.found for word in pair)[0].reshape(-1, 2)
    words = (embedding.rows(part.found)[0] for part in (lists.stereotypes, lists.neutral))
    rng = np.random.default_rng([seed, 3])
    train, dev = [], []
    for rows in (pairs, *words):
        order, held = rng.permutation(len(rows)), min(_HELD_OUT, len(rows) // 4)
        dev.append(rows[order[:held]])
        train.append(rows[order[held:]])
    return Part(*train), Part(*dev)


def _resolved_words(
    given: Sequence[str] | str | Path, embedding: Embedding, name: str
) -> Resolved[str]:
    words = wordlist(given) if isinstance(given, str | Path) else given
    resolved = resolve(words, embedding, f"{embedding.name}: {name}")
    return resolved.at_least(_FEWEST, f"give words it has: gender-preserving:{name}=FILE")


def _stereotypes(embedding: Embedding, attribute: Attribute, paired: set[str]) -> Sequence[str]:
    if attribute.name == "gender":
        lists = Templates.load().stereotypes
        return lists.female + lists.male
    words, lean = _leans(embedding, attribute, paired)
    sides = min(int((lean > 0).sum()), int((lean < 0).sum()))
    return [words[i] for i in most_biased(lean, min(_LEANING, sides)).rows]


def _neutral(
    embedding: Embedding, attribute: Attribute, taken: set[str], seed: int
) -> Sequence[str]:
    words, lean = _leans(embedding, attribute, taken)
    near = np.flatnonzero(np.abs(lean) < _NEUTRAL_BELOW)
    drawn = np.random.default_rng([seed, 2]).permutation(near)[:_NEUTRAL]
    return [words[i] for i in np.sort(drawn)]


def _leans(
    embedding: Embedding, attribute: Attribute, without: set[str]
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the neutral vocabulary without some words, and its cosines with the axis."""
    direction = find_direction(embedding, attribute)
    if direction.subspace is None:
        raise WordbiasError(
            f"{embedding.name}: {direction.recipe}: {direction.reason}; without this axis give the "
            "lists yourself: gender-preserving:stereotypes=FILE:neutral=FILE"
        )
    vocabulary = choose_vocabulary([embedding], attribute)
    words = [word for word in vocabulary if word not in without]
    return words, projections(embedding.take(words), direction.subspace)


def _refuse_two_kinds(lists: Lists) -> None:
    first, second = (set(words) for words in zip(*lists.pairs.found, strict=True))
    kinds: list[tuple[str, Iterable[str]]] = [
        ("the first words of the pairs", first),
        ("the second words of the pairs", second),
        ("the stereotypes", lists.stereotypes.found),
        ("the neutral words", lists.neutral.found),
    ]
    known: dict[str, str] = {}
    for kind, words in kinds:
        for word in words:
            if word in known:
                raise WordbiasError(
                    f"{word!r} is among {known[word]} and among {kind}; it can be of one kind "
                    "only, remove it from one list"
                )
            known[word] = kind
