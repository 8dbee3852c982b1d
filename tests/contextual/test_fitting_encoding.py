"""Sentences on their way into a model: batches, padding, limits, which model is loaded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_encoders import build, make_tokenizer, save

from wordbias.contextual.fitting import encode_pairs
from wordbias.contextual.loading import HEADS, load_target
from wordbias.contextual.sentence_pairs import SentencePair
from wordbias.contextual.tokenising import batches, encode
from wordbias.errors import WordbiasError
from wordbias.pretrained import usual_length

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


def test_pairs_are_sorted_by_what_the_tokenizer_makes_of_them() -> None:
    tokenizer = make_tokenizer(["she", "he", "left", "act", "##ress", "actor"])
    model = build("bert", vocabulary=len(tokenizer))
    pairs = [
        SentencePair("foo left", "bar left"),
        SentencePair("actress left", "actor left"),
        SentencePair("she left", "he left"),
    ]
    read = encode_pairs(model, tokenizer, pairs)
    assert read.pairs == tuple(pairs[1:])
    assert read.same == (pairs[0],)
    assert read.uneven == (0,)
    assert read.even() == [1]
    assert read.lengths(0) == (5, 4)


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


@pytest.mark.parametrize(
    ("purpose", "head", "loaded", "sentence"),
    [
        ("SequenceClassification", None, "BertForSequenceClassification", True),
        ("SequenceClassification", "none", "BertModel", True),
        ("MultipleChoice", None, "BertForMultipleChoice", True),
        ("NextSentencePrediction", None, "BertForNextSentencePrediction", True),
        ("MaskedLM", None, "BertForMaskedLM", False),
        ("MaskedLM", "none", "BertModel", False),
    ],
)
def test_which_head_is_loaded(
    tmp_path: Any, purpose: str, head: str | None, loaded: str, sentence: bool
) -> None:
    tokenizer = make_tokenizer(["she", "he"])
    save(build("bert", purpose, vocabulary=len(tokenizer)), tokenizer, tmp_path)
    target = load_target(str(tmp_path), "cpu", head)
    assert (type(target.model).__name__, target.sentence) == (loaded, sentence)
    assert ("sentence" in {site.kind for site in target.sites()}) == sentence
    assert not target.model.training
    assert head is None or head in HEADS


def test_a_head_whose_weights_are_not_there(tmp_path: Any) -> None:
    tokenizer = make_tokenizer(["she", "he"])
    save(build("roberta", "Model", vocabulary=len(tokenizer)), tokenizer, tmp_path)
    with pytest.raises(WordbiasError, match="without classifier"):
        load_target(str(tmp_path), "cpu", "classification")
    with pytest.raises(WordbiasError, match="without lm_head"):
        load_target(str(tmp_path), "cpu", "masked-lm")
    with pytest.raises(WordbiasError, match="device 'gpu9'"):
        load_target(str(tmp_path), "gpu9")
