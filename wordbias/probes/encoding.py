"""Texts through an encoder: the vectors of texts, or of words in them, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.probes.encoder import Encoder
from wordbias.probes.pooling import Settings
from wordbias.probes.tokens import Span
from wordbias.probes.work import BATCH_TOKENS, Batch, Float32, Work

__all__ = ["BATCH_TOKENS", "Batch", "Work", "encode", "encode_spans"]


def encode(
    encoder: Encoder,
    texts: Sequence[str],
    spans: Sequence[Span] | None = None,
    settings: Settings | None = None,
    *,
    batch_tokens: int = BATCH_TOKENS,
) -> Float32:
    """Return the vectors of texts in memory, shape ``(L, n, d)``.

    Raises
    ------
    WordbiasError
        If a layer does not exist, there is no text, a span has no tokens, or a vector is not
        finite.
    """
    return Work.of(encoder, texts, spans, settings).vectors(batch_tokens)


def encode_spans(
    encoder: Encoder,
    texts: Sequence[str],
    spans: Sequence[Span],
    layers: Sequence[int] | None = None,
    *,
    subword: str = "mean",
    special_tokens: bool = True,
    max_length: int | None = None,
) -> Float32:
    """Return the vectors of the words at spans of texts, shape ``(L, n, d)``.

    Parameters
    ----------
    spans
        Characters of the word in each text, from the first up to but without the second.
    layers
        0 being the input embeddings; by default all.
    subword
        Of a word of several tokens, their ``mean``, the ``first`` or the ``last``.
    special_tokens
        Let the model see [CLS], [SEP] and the like.

    Raises
    ------
    WordbiasError
        As `encode` does.
    """
    chosen = None if layers is None else tuple(layers)
    seen = "seen" if special_tokens else "none"
    return encode(encoder, texts, spans, Settings(chosen, "word", subword, seen, max_length))
