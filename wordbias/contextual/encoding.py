"""Sentences as a model reads them: token numbers, the pairs that align, batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordbias.contextual.sentence_pairs import SentencePair
from wordbias.optional import need
from wordbias.pretrained import usual_length

Tokens = dict[str, list[int]]

PURPOSE = "reading sentences with an encoder"


@dataclass(frozen=True, eq=False)
class EncodedPairs:
    """Pairs of sentences as a model reads them.

    Attributes
    ----------
    pairs
        Those that differ for the model.
    first, second
        Their tokens: `input_ids` and whatever else the tokenizer gives.
    uneven
        Places of pairs whose sentences have different numbers of tokens.
    same
        Pairs, not among `pairs`, that the tokenizer makes the same tokens of.
    """

    pairs: tuple[SentencePair, ...]
    first: tuple[Tokens, ...]
    second: tuple[Tokens, ...]
    uneven: tuple[int, ...]
    same: tuple[SentencePair, ...]

    def even(self) -> list[int]:
        """Return the places of the pairs whose tokens align."""
        return [i for i in range(len(self.pairs)) if i not in self.uneven]

    def lengths(self, i: int) -> tuple[int, int]:
        """Return how many tokens the sentences of a pair have."""
        return len(self.first[i]["input_ids"]), len(self.second[i]["input_ids"])


def encode_pairs(model: Any, tokenizer: Any, pairs: Sequence[SentencePair]) -> EncodedPairs:
    """Tokenise pairs and compare their tokens."""
    texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    tokens = encode(model, tokenizer, texts)
    first, second = tokens[: len(pairs)], tokens[len(pairs) :]
    ids = [(a["input_ids"], b["input_ids"]) for a, b in zip(first, second, strict=True)]
    kept = [i for i, (a, b) in enumerate(ids) if a != b]
    return EncodedPairs(
        tuple(pairs[i] for i in kept),
        tuple(first[i] for i in kept),
        tuple(second[i] for i in kept),
        tuple(k for k, i in enumerate(kept) if len(ids[i][0]) != len(ids[i][1])),
        tuple(pair for i, pair in enumerate(pairs) if i not in set(kept)),
    )


def encode(model: Any, tokenizer: Any, texts: Sequence[str]) -> list[Tokens]:
    """Tokenise texts, none longer than the model reads."""
    read = tokenizer(list(texts), truncation=True, max_length=usual_length(model, tokenizer))
    names = [name for name in read if name != "attention_mask"]
    return [{name: list(read[name][i]) for name in names} for i in range(len(texts))]


def batches(
    tokens: Sequence[Tokens], size: int, padding: int
) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """Yield texts of like length together, padded at the right.

    Yields
    ------
    places, inputs
        Which texts, and their tensors with an `attention_mask`, shapes ``(batch, tokens)``.
    """
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    lengths = [len(text["input_ids"]) for text in tokens]
    order = np.argsort(lengths, kind="stable").tolist()
    for start in range(0, len(order), size):
        places = order[start : start + size]
        width = max(lengths[i] for i in places)
        inputs = {
            name: torch.tensor([_padded(tokens[i][name], width, name, padding) for i in places])
            for name in tokens[places[0]]
        }
        mask = [[1] * lengths[i] + [0] * (width - lengths[i]) for i in places]
        yield places, {**inputs, "attention_mask": torch.tensor(mask)}


def _padded(values: list[int], width: int, name: str, padding: int) -> list[int]:
    filler = padding if name == "input_ids" else 0
    return values + [filler] * (width - len(values))
