"""Texts to tokens: truncated knowingly, with the tokens that a span of characters falls on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.pretrained import need_transformers, silent
from wordbias.probes.encoder import Encoder
from wordbias.probes.tokens import Int, Lost, Span, Tokens
from wordbias.progress import progress

TEXTS_TOGETHER = 512
"""Texts that the tokenizer is given at a time."""


def tokenise(
    encoder: Encoder,
    texts: Sequence[str],
    spans: Sequence[Span] | None = None,
    *,
    max_length: int | None = None,
    special_tokens: bool = True,
) -> Tokens:
    """Tokenise texts.

    Parameters
    ----------
    spans
        One for each text, if words in the texts are meant.
    max_length
        Tokens that a text is cut to, special ones included; by default the encoder's.
    special_tokens
        Let the tokenizer add its special tokens, such as [CLS] and [SEP].

    Raises
    ------
    WordbiasError
        If the model cannot read texts of that length, or spans are given and the tokenizer is a
        slow one, which does not say what characters a token is of.
    """
    longest = _checked(encoder, max_length, spans is not None)
    parts = []
    with progress("tokenising", len(texts), "text") as bar:
        for chunk in _chunks(len(texts)):
            given = None if spans is None else spans[chunk]
            parts.append(_part(encoder, texts[chunk], given, longest, special_tokens))
            bar.update(len(texts[chunk]))
    return Tokens.joined(parts)


def prompt_tokens(encoder: Encoder, prompt: str, max_length: int | None = None) -> int:
    """Return how many tokens a prompt makes at the beginning of a text.

    A special token behind it, such as [SEP], is none of them.
    """
    ids = tokenise(encoder, [prompt], max_length=max_length).ids
    return len(ids) - (int(ids[-1]) in encoder.tokenizer.all_special_ids)


def token_range(offsets: Sequence[Span], special: Sequence[int], span: Span) -> Span | None:
    """Return the first token that shares a character with a span and the one behind the last.

    None if there is none. A token is more than its share: of `doctors`, tokenised whole, the span
    of `doctor` has the vector of the whole.
    """
    start, end = span
    found = [
        i
        for i, ((a, b), added) in enumerate(zip(offsets, special, strict=True))
        if max(a, start) < min(b, end) and not added
    ]
    return (found[0], found[-1] + 1) if found else None


def _checked(encoder: Encoder, max_length: int | None, with_spans: bool) -> int:
    if with_spans and not encoder.tokenizer.is_fast:
        raise WordbiasError(
            f"{encoder.name}: its tokenizer is a slow one, which does not say what characters a "
            "token is of; words need a fast one (a tokenizer.json)"
        )
    longest = encoder.max_length if max_length is None else max_length
    if encoder.limit is not None and longest > encoder.limit:
        raise WordbiasError(
            f"{encoder.name}: reads at most {encoder.limit} tokens, {longest} were asked for"
        )
    if longest <= encoder.tokenizer.num_special_tokens_to_add():
        raise WordbiasError(f"texts cut to {longest} tokens have none of their own; allow more")
    return longest


def _chunks(count: int) -> Iterator[slice]:
    yield from (slice(i, min(i + TEXTS_TOGETHER, count)) for i in range(0, count, TEXTS_TOGETHER))


def _part(
    encoder: Encoder,
    texts: Sequence[str],
    spans: Sequence[Span] | None,
    longest: int,
    special_tokens: bool,
) -> Tokens:
    """Tokenise a few texts; those that have one token too many are cut in a second call."""
    how = {"add_special_tokens": special_tokens, "return_offsets_mapping": spans is not None}
    found = _called(encoder, texts, longest + 1, how)
    cut = np.array([len(ids) > longest for ids in found["input_ids"]], bool)
    if cut.any():
        long = [text for text, too_long in zip(texts, cut, strict=True) if too_long]
        again = _called(encoder, long, longest, how)
        for k, place in enumerate(np.flatnonzero(cut)):
            for key, values in found.items():
                values[place] = again[key][k]
    ranges, lost = _ranges(found, cut, spans)
    return Tokens(
        _flat(found["input_ids"], np.int32),
        _flat(found["special_tokens_mask"], bool),
        _flat(found["token_type_ids"], np.int8),
        np.cumsum([0, *map(len, found["input_ids"])]),
        cut,
        ranges,
        lost,
    )


def _called(
    encoder: Encoder, texts: Sequence[str], length: int, how: dict[str, bool]
) -> dict[str, list[Any]]:
    """Call the tokenizer; texts have at most `length` tokens."""
    with silent(need_transformers()):
        return dict(
            encoder.tokenizer(
                list(texts),
                truncation=True,
                max_length=length,
                return_special_tokens_mask=True,
                return_token_type_ids=True,
                return_attention_mask=False,
                **how,
            )
        )


def _ranges(
    found: dict[str, list[Any]], cut: NDArray[np.bool_], spans: Sequence[Span] | None
) -> tuple[Int, list[Lost]]:
    if spans is None:
        return np.array([(0, len(ids)) for ids in found["input_ids"]], np.int64).reshape(-1, 2), []
    ranges = np.zeros((len(cut), 2), np.int64)
    lost = []
    for i, span in enumerate(spans):
        offsets = found["offset_mapping"][i]
        tokens = token_range(offsets, found["special_tokens_mask"][i], span)
        if cut[i] and span[1] > max(end for _, end in offsets):
            lost.append(Lost(i, "is cut off with the end of its text"))
        elif tokens is None:
            lost.append(Lost(i, "has no token"))
        else:
            ranges[i] = tokens
    return ranges, lost


def _flat(values: Sequence[Sequence[int]], dtype: Any) -> NDArray[Any]:
    return np.array([value for part in values for value in part], dtype)
