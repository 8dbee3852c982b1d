"""Batches of tokenised texts: of like length, padded, the longest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.probes.tokens import Tokens

Places = NDArray[np.intp]


def batched(order: Places, lengths: NDArray[np.int64], budget: int) -> Iterator[Places]:
    """Cut an order of texts, longest first, into batches of at most `budget` tokens.

    Padding counts. A text that alone is longer than the budget is a batch of its own. The longest
    come first, so that memory that does not suffice is known at once.
    """
    start = 0
    while start < len(order):
        size = max(1, budget // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size


def copies_of(texts: Places, count: int) -> list[Places]:
    """Return the places of the texts that are equal to each distinct one."""
    order = np.argsort(texts, kind="stable")
    return np.split(order, np.searchsorted(texts[order], np.arange(1, count)))


def padded(tokens: Tokens, rows: Places, tokenizer: Any) -> dict[str, NDArray[np.int64]]:
    """Return the model's arguments for some texts, padded on the right, shape ``(B, T)`` each."""
    lengths = tokens.lengths[rows]
    shape = len(rows), int(lengths.max())
    ids = np.full(shape, tokenizer.pad_token_id or 0, np.int64)
    types = np.full(shape, tokenizer.pad_token_type_id, np.int64)
    mask = np.arange(shape[1]) < lengths[:, None]
    picked = np.concatenate([np.arange(tokens.starts[r], tokens.starts[r + 1]) for r in rows])
    ids[mask], types[mask] = tokens.ids[picked], tokens.types[picked]
    inputs = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
    if "token_type_ids" in tokenizer.model_input_names:
        inputs["token_type_ids"] = types
    return inputs
