"""Pairs of texts as a model reads them: tokens, and batches of like length."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.encoding import Tokens, batches
from wordbias.pretrained import LoadedModel, need_transformers, silent
from wordbias.probes.padding import batched

Places = NDArray[np.intp]
BUDGET = 2048


@dataclass(frozen=True, eq=False)
class Texts:
    """Distinct pairs, tokenised.

    Attributes
    ----------
    tokens
        Of each distinct pair.
    places
        For each pair that was given its place among them, shape ``(n,)``.
    batches
        Places of the distinct pairs that are read together, the longest first.
    padding
        The token that fills up.
    """

    tokens: Sequence[Tokens]
    places: Places
    batches: Sequence[Places]
    padding: int

    @classmethod
    def of(
        cls,
        model: LoadedModel,
        pairs: Sequence[tuple[str, str]],
        *,
        truncate: bool,
        budget: int = BUDGET,
    ) -> Texts:
        """Tokenise pairs.

        Parameters
        ----------
        truncate
            Cut pairs that are longer than the model reads; else they are refused.
        budget
            Tokens in a batch, padding included.

        Raises
        ------
        WordbiasError
            If a pair is too long.
        """
        distinct = {pair: i for i, pair in enumerate(dict.fromkeys(pairs))}
        limit = model.longest if truncate else None
        tokens = _tokenised(model.tokenizer, list(distinct), limit)
        lengths = np.array([len(one["input_ids"]) for one in tokens])
        model.check_lengths(lengths, "a pair", lambda i: list(distinct)[i][0])
        order = np.argsort(-lengths, kind="stable")
        return cls(
            tokens,
            np.array([distinct[pair] for pair in pairs]),
            list(batched(order, lengths, budget)),
            model.tokenizer.pad_token_id or 0,
        )

    def inputs(self, batch: int) -> tuple[Places, dict[str, Any]]:
        """Return which pairs a batch holds, and the model's inputs, shape ``(B, T)`` each."""
        chosen = self.batches[batch]
        ((order, inputs),) = batches([self.tokens[i] for i in chosen], len(chosen), self.padding)
        return chosen[order], inputs

    def sha256(self) -> str:
        """Return a hash of all tokens, in order, and how they are batched."""
        digest = hashlib.sha256(json.dumps([dict(one) for one in self.tokens]).encode())
        digest.update(json.dumps([len(batch) for batch in self.batches]).encode())
        return digest.hexdigest()


def _tokenised(tokenizer: Any, pairs: Sequence[tuple[str, str]], limit: int | None) -> list[Tokens]:
    first, second = (list(side) for side in zip(*pairs, strict=True))
    how = {} if limit is None else {"truncation": True, "max_length": limit}
    with silent(need_transformers()):
        read = tokenizer(first, second, **how)
    names = [name for name in read if name != "attention_mask"]
    return [{name: list(read[name][i]) for name in names} for i in range(len(first))]
