"""Tokenised texts: batches, padding and limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_encoders import build, make_tokenizer

from wordbias.models.loading import usual_length
from wordbias.models.token_batches import batches, encode

pytest.importorskip("torch")


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 5))
def test_batches_hold_every_text_once_and_pad_the_rest(lengths: list[int], size: int) -> None:
    tokens = [
        {"input_ids": [100 + i] * n, "token_type_ids": [1] * n} for i, n in enumerate(lengths)
    ]
    seen: list[int] = []
    for places, inputs in batches(tokens, size, padding=7):
        assert len(places) <= size
        width = max(lengths[i] for i in places)
        for row, i in enumerate(places):
            rest = width - lengths[i]
            assert inputs["input_ids"][row].tolist() == [100 + i] * lengths[i] + [7] * rest
            assert inputs["token_type_ids"][row].tolist() == [1] * lengths[i] + [0] * rest
            assert inputs["attention_mask"][row].tolist() == [1] * lengths[i] + [0] * rest
        seen += places
    assert sorted(seen) == list(range(len(lengths)))
    assert [lengths[i] for i in seen] == sorted(lengths)


@pytest.mark.parametrize(
    ("family", "positions", "limit"), [("bert", 12, 12), ("roberta", 12, 10), ("bert", 900, 64)]
)
def test_no_text_is_longer_than_the_model_and_the_tokenizer_allow(
    family: str, positions: int, limit: int
) -> None:
    """RoBERTa's table of positions has two rows that no token uses; the tokenizer allows 64."""
    tokenizer = make_tokenizer(["she", "left"])
    model = build(family, max_position_embeddings=positions)
    assert usual_length(model, tokenizer) == limit
    [read] = encode(model, tokenizer, ["she left " * 400])
    assert len(read["input_ids"]) == limit
