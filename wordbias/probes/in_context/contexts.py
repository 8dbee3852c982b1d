"""Words in their sentences through an encoder: representations with a column `word`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from wordbias.errors import WordbiasError
from wordbias.probes.encoder import Encoder
from wordbias.probes.in_context.sentences import Context, Sentences
from wordbias.probes.in_context.windows import published_window
from wordbias.probes.in_context.words import COLUMN
from wordbias.probes.pooling import Settings
from wordbias.probes.representations import Column, Representations
from wordbias.probes.work import Work


@dataclass(frozen=True)
class Reading:
    """How a word's vector is taken from its sentence.

    Attributes
    ----------
    layers
        Which, by default the last; 0 being the input embeddings.
    subword
        Of a word of several tokens, their ``mean``, the ``first`` or the ``last``.
    special_tokens
        Let the model see [CLS], [SEP] and the like, as it did in training.
    window
        Cut the sentence as the released code does, see `published_window`.
    max_length
        Tokens that a sentence is cut to; by default what the model allows, at most 512.
    """

    layers: tuple[int, ...] | None = None
    subword: str = "mean"
    special_tokens: bool = True
    window: bool = False
    max_length: int | None = None


AS_PUBLISHED = Reading(subword="last", special_tokens=False, window=True)
"""As the released code of CEAT reads BERT."""


class Encoded(NamedTuple):
    """Vectors of words in context.

    `lost` is how many words were cut off with the end of a sentence too long for the model, and
    are left out; `truncated` how many sentences were cut behind the word.
    """

    representations: Representations
    lost: int
    truncated: int


def encode_contexts(
    encoder: Encoder, sentences: Sentences, reading: Reading | None = None
) -> Encoded:
    """Encode every word in each of its sentences, once for all stimuli.

    Raises
    ------
    WordbiasError
        If a layer does not exist, the tokenizer does not say what characters a token is of, or a
        vector is not finite.
    """
    reading = reading or Reading()
    layers = (encoder.layers,) if reading.layers is None else reading.layers
    special = "seen" if reading.special_tokens else "none"
    settings = Settings(layers, "word", reading.subword, special, reading.max_length)
    pairs = [
        (word, published_window(context) if reading.window else context)
        for word, found in sentences.contexts.items()
        for context in found
    ]
    work = _work(encoder, pairs, settings)
    lost = work.lost()
    if lost:
        pairs = [pair for i, pair in enumerate(pairs) if i not in lost]
        if not pairs:
            raise WordbiasError(f"{encoder.name}: no word is within the tokens that are read")
        work = _work(encoder, pairs, settings)
    return Encoded(
        Representations(
            work.vectors(),
            work.settings.layers or (),
            {COLUMN: Column.of(word for word, _ in pairs)},
            _about(encoder, work, reading),
            Path(encoder.name).name,
        ),
        len(lost),
        work.truncated,
    )


def _work(encoder: Encoder, pairs: Sequence[tuple[str, Context]], settings: Settings) -> Work:
    texts = [context.text for _, context in pairs]
    spans = [(context.start, context.end) for _, context in pairs]
    return Work.of(encoder, texts, spans, settings)


def _about(encoder: Encoder, work: Work, reading: Reading) -> dict[str, Any]:
    return {
        "model": encoder.name,
        "weights_sha256": encoder.sha256(),
        "precision": encoder.precision,
        **work.settings.to_dict(),
        "window": "published" if reading.window else "whole sentence",
        "truncated": work.truncated,
    }
