"""Texts and pairs of texts as an encoder reads them: token numbers, in batches of like length."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import need
from wordbias.models.loading import LoadedModel, usual_length
from wordbias.models.model_like import need_transformers, silent
from wordbias.models.tokenising import batched

PURPOSE = "reading sentences with an encoder"
BUDGET = 2048
Tokens = dict[str, list[int]]
"""A tokenised text: `input_ids`, and `token_type_ids` if the tokenizer returns them."""
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TokenisedTexts:
    """Distinct texts, or pairs of texts, tokenised and divided into batches."""

    tokens: Sequence[Tokens]  # tokens of each distinct text or pair
    places: Places  # index into `tokens` of each one that was passed, shape `(n,)`
    batches: Sequence[Places]  # indices into `tokens`, one array a batch, the longest texts first
    padding: int  # padding token

    @classmethod
    def of(
        cls,
        model: LoadedModel,
        texts: Sequence[tuple[str, ...]],
        *,
        truncate: bool,
        budget: int = BUDGET,
    ) -> TokenisedTexts:
        """Tokenise texts, or pairs of texts that the model reads together."""
        # What is longer than the model reads is cut if `truncate`, else refused. `budget` counts
        # padding.
        distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        limit = model.longest if truncate else None
        cut = {} if limit is None else {"truncation": True, "max_length": limit}
        first, *second = (list(side) for side in zip(*distinct, strict=True))
        with silent(need_transformers()):
            tokens = _tokens_by_text(model.tokenizer(first, *second, **cut), len(first))
        lengths = np.array([len(encoding["input_ids"]) for encoding in tokens])
        model.check_lengths(lengths, "a pair" if second else "a text", lambda i: first[i])
        order = np.argsort(-lengths, kind="stable")
        return cls(
            tokens,
            np.array([distinct[text] for text in texts]),
            list(batched(order, lengths, budget)),
            model.tokenizer.pad_token_id or 0,
        )

    def inputs(self, batch: int) -> tuple[Places, dict[str, Any]]:
        """Return the indices of the texts of a batch, and the model's inputs, ``(B, T)`` each."""
        chosen = self.batches[batch]
        ((order, inputs),) = batches([self.tokens[i] for i in chosen], len(chosen), self.padding)
        return chosen[order], inputs

    def sha256(self) -> str:
        """Return a hash of all tokens in their order, and of the sizes of the batches."""
        digest = hashlib.sha256(json.dumps([dict(encoding) for encoding in self.tokens]).encode())
        digest.update(json.dumps([len(batch) for batch in self.batches]).encode())
        return digest.hexdigest()


def encode(model: Any, tokenizer: Any, texts: Sequence[str]) -> list[Tokens]:
    """Tokenise texts, cut to the length that the model reads."""
    limit = usual_length(model, tokenizer)
    return _tokens_by_text(tokenizer(list(texts), truncation=True, max_length=limit), len(texts))


def _tokens_by_text(tokenized: Any, n: int) -> list[Tokens]:
    """Split a tokenizer's output into `n` texts, without the attention masks."""
    names = [name for name in tokenized if name != "attention_mask"]
    return [{name: list(tokenized[name][i]) for name in names} for i in range(n)]


def batches(
    tokens: Sequence[Tokens], size: int, padding: int
) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """Yield places and padded tensors, (batch, tokens), of texts of like length."""
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
