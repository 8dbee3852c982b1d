"""Vectors of words in their sentences, as CEAT needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from wordbias.errors import WordbiasError
from wordbias.probes.ceat.sentences import Context, Sentences, published_window
from wordbias.probes.encoder import Encoder
from wordbias.probes.encoding import EncodingJob, Settings
from wordbias.probes.representations import Column, Representations

COLUMN = "word"
"""Column of representations that says whose context a vector is."""


@dataclass(frozen=True)
class ContextSettings:
    """How a word's vector is taken from its sentence.

    Attributes
    ----------
    layers
        Layers, by default the last; 0 is the input embeddings.
    subword
        Vector of a word of several tokens: their ``mean``, the ``first`` or the ``last``.
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


AS_PUBLISHED = ContextSettings(subword="last", special_tokens=False, window=True)
"""Settings of the released code of CEAT for BERT."""


class Encoded(NamedTuple):
    """Vectors of words in context.

    Attributes
    ----------
    representations
        The vectors, with a column `word`.
    lost
        Number of contexts left out because the word was cut off with the end of a sentence too long
        for the model.
    truncated
        Number of sentences that were cut behind the word.
    """

    representations: Representations
    lost: int
    truncated: int


def encode_contexts(
    encoder: Encoder, sentences: Sentences, settings: ContextSettings | None = None
) -> Encoded:
    """Encode every word in each of its sentences, once for all stimuli.

    Raises
    ------
    WordbiasError
        If a layer does not exist, the tokenizer does not say what characters a token is of, or a
        vector is not finite.
    """
    chosen = settings or ContextSettings()
    how = Settings(
        (encoder.layers,) if chosen.layers is None else chosen.layers,
        "word",
        chosen.subword,
        "seen" if chosen.special_tokens else "none",
        chosen.max_length,
    )
    pairs = [
        (word, published_window(context) if chosen.window else context)
        for word, found in sentences.contexts.items()
        for context in found
    ]
    job = _job(encoder, pairs, how)
    lost = job.lost()
    if lost:
        pairs = [pair for i, pair in enumerate(pairs) if i not in lost]
        if not pairs:
            raise WordbiasError(f"{encoder.name}: no word is within the tokens that are read")
        job = _job(encoder, pairs, how)
    vectors = job.vectors()
    about = {
        "model": encoder.name,
        "weights_sha256": encoder.sha256(),
        "precision": encoder.precision,
        **job.settings.to_dict(),
        "window": "published" if chosen.window else "whole sentence",
        "truncated": job.truncated,
    }
    columns = {COLUMN: Column.of(word for word, _ in pairs)}
    found = Representations(
        vectors, job.settings.layers or (), columns, about, Path(encoder.name).name
    )
    return Encoded(found, len(lost), job.truncated)


def _job(encoder: Encoder, pairs: Sequence[tuple[str, Context]], how: Settings) -> EncodingJob:
    texts = [context.text for _, context in pairs]
    spans = [(context.start, context.end) for _, context in pairs]
    return EncodingJob.of(encoder, texts, spans, how)
