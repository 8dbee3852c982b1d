"""Words in their sentences through tiny encoders, beside one sentence at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.errors import WordbiasError
from wordbias.models.encoder import Encoder
from wordbias.probes.ceat.sentences import (
    AS_PUBLISHED,
    ContextSettings,
    encode_contexts,
    find_sentences,
    published_window,
)

Folder = Callable[[str], Path]
WORDS = ("surgeon", "nurse", "she", "economist")
TEXTS = (
    "The surgeon spoke to the nurse.",
    "A nurse",
    "She said x the economist x",
    "x x x x the nurse x x she x x x",
    "The surgeon spoke to the nurse.",
)


def _one_by_one(
    encoder: Encoder, text: str, span: tuple[int, int], settings: ContextSettings
) -> Any:
    """Hidden states of one sentence, and of them the word's tokens."""
    import torch

    given = encoder.tokenizer(
        text,
        add_special_tokens=settings.special_tokens,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_tensors="pt",
    )
    offsets = given.pop("offset_mapping")[0].tolist()
    special = given.pop("special_tokens_mask")[0].tolist()
    inside = [
        i
        for i, (start, end) in enumerate(offsets)
        if not special[i] and start < span[1] and span[0] < end
    ]
    if settings.subword == "last":
        inside = inside[-1:]
    with torch.no_grad():
        states = encoder.model(**given, output_hidden_states=True).hidden_states
    return np.stack([state[0, inside].mean(0).numpy() for state in states])


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("settings", [ContextSettings(layers=(0, 1, 3)), AS_PUBLISHED])
def test_vectors_are_those_of_one_sentence_at_a_time(
    encoder_folder: Folder, family: str, settings: ContextSettings
) -> None:
    encoder = Encoder.load(encoder_folder(family), device="cpu")
    sentences = find_sentences(TEXTS, WORDS)
    encoded = encode_contexts(encoder, sentences, settings)
    representations = encoded.representations
    layers = settings.layers or (encoder.layers,)
    assert representations.layers == layers
    contexts = [(w, c) for w in WORDS for c in sentences.contexts[w]]
    assert representations.column("word").cells() == [word for word, _ in contexts]
    assert len(representations) == len(contexts) == 1 + 3 + 2 + 1
    assert (encoded.lost, encoded.truncated) == (0, 0)
    for i, (_, context) in enumerate(contexts):
        cut = published_window(context) if settings.window else context
        expected = _one_by_one(encoder, cut.text, (cut.start, cut.end), settings)[list(layers)]
        rounding = 2e-5 * max(1, float(np.abs(expected).max()))  # of float32 in another batch
        assert representations.vectors[:, i] == pytest.approx(expected, rel=0, abs=rounding)


def test_the_settings_are_kept_with_the_vectors(encoder_folder: Folder) -> None:
    encoder = Encoder.load(encoder_folder("bert"), device="cpu")
    representations = encode_contexts(
        encoder, find_sentences(TEXTS, WORDS), AS_PUBLISHED
    ).representations
    about = representations.about
    assert representations.name == "bert"
    assert about["model"] == str(encoder_folder("bert"))
    assert (about["pooling"], about["subword"], about["special_tokens"]) == ("word", "last", "none")
    assert about["window"] == "published"
    assert len(about["weights_sha256"]) == 64


def test_words_cut_off_are_left_out_and_counted(encoder_folder: Folder) -> None:
    encoder = Encoder.load(encoder_folder("bert"), device="cpu")
    long = "the surgeon " + "said it , " * 20 + "nurse"
    sentences = find_sentences([long, "A nurse"], ["surgeon", "nurse"])
    encoded = encode_contexts(encoder, sentences)
    assert (encoded.lost, encoded.truncated) == (1, 1)
    assert encoded.representations.column("word").cells() == ["surgeon", "nurse"]
    assert np.isfinite(encoded.representations.vectors).all()
    with pytest.raises(WordbiasError, match="no word is within the tokens that are read"):
        encode_contexts(encoder, find_sentences([long], ["nurse"]))


def test_a_layer_that_does_not_exist_is_refused(encoder_folder: Folder) -> None:
    encoder = Encoder.load(encoder_folder("bert"), device="cpu")
    with pytest.raises(WordbiasError, match="no layer 9; it has layers 0"):
        encode_contexts(encoder, find_sentences(TEXTS, WORDS), ContextSettings(layers=(9,)))
