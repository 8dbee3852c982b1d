"""Made-up texts of two and three classes, and models in float64 that read them."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from tiny_decoders import build_decoder, word_tokenizer
from tiny_encoders import build, make_tokenizer

WORDS = [f"{letter}{number}" for letter in "abcdefgh" for number in range(4)]
DEPTH = 3


class Labelled(NamedTuple):
    """Texts and their labels."""

    texts: list[str]
    labels: list[str]


def made_up(n: int, classes: int) -> Labelled:
    """Return texts of 2 to 8 words, of which each class prefers others, and their labels."""
    rng = np.random.default_rng(3)
    texts, labels = [], []
    for i in range(n):
        label = i % classes
        shares = np.where(np.arange(len(WORDS)) % classes == label, 2.0, 1.0)
        words = rng.choice(WORDS, rng.integers(2, 9), p=shares / shares.sum())
        texts.append(" ".join(words))
        labels.append(f"class {label}")
    return Labelled(texts, labels)


TWO, THREE = made_up(36, 2), made_up(45, 3)


@cache
def decoder(family: str) -> Any:
    """Return a decoder of three layers in float64; nobody may change it."""
    deeper = {"n_layer" if family == "gpt2" else "num_hidden_layers": DEPTH}
    return build_decoder(family, len(WORDS) + 2, **deeper).double()


@cache
def encoder(family: str) -> Any:
    """Return an encoder in float64; nobody may change it."""
    return build(family, "Model", vocabulary=len(WORDS) + 5).double()


@cache
def tokenizer() -> Any:
    """Return a tokenizer of words without a padding token."""
    return word_tokenizer(" ".join(WORDS), front=True)


@cache
def marking() -> Any:
    """Return a tokenizer of words with the markers of BERT."""
    return make_tokenizer(WORDS)
